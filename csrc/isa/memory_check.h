// SPDX-License-Identifier: MIT
// ASCEND_SIM_CHECK=memory: does kernel code touch only bytes that are there, and let only bytes that hold data leave UB?
//
// Compiled in where ASCEND_SIM_CHECK_MEMORY is defined, together with the compiler's instrumentation for a kernel's address
// sanitizer, whose calls are answered here. Note "Memory check":
// * UB, addresses: beyond its end is an error, of any access. Global memory: plain accesses must lie in one live tensor, to the
//   byte; transfers must anyway. Of the host's memory a kernel may touch its stacks, and constants and variables of its own object
//   and of this library (own); all the rest is an error, too.
// * UB, data: a bit per byte says which bytes were written since the block began, by transfers, FIX, vector stores and plain
//   code (Validity, chip/memory.h). Undefined bytes may be read: the last tile of a tensor is often short, and what is computed
//   of the rest is never used. They must not leave UB: a transfer of them is an error, and names the line that read some last.
// * To know what was computed from them, undefined UB holds a NaN of its own, 0x7fe5 in every 16 bits. After a block has
//   read undefined bytes, a store whose result is that NaN (vector stores of floats: any NaN) leaves its bytes undefined; into
//   global memory it is an error. Integers computed from undefined ones are not followed; as an index they lead out of UB.
// * Calls come before what they announce. A plain store is announced before the load of its own source where a structure is copied
//   (a 16-bit float is one), so that the store has surely happened at the next call but one, or the next that is no plain load.
// * Vector functions are not instrumented: their loads and stores ask by themselves.
#pragma once

#include <cstdint>

#if defined(ASCEND_SIM_CHECK_MEMORY) || defined(ASCEND_SIM_MEMORY_CHECK_ITSELF)
#include "chip/memory.h"
#include "isa/sync.h"

namespace ascend::isa {

struct MemoryCheck {
    uint64_t ub_begin;                 // of the core that asked last: another one's addresses take the slow way, which updates
    uint8_t* defined;                  // a bit per byte of it, with 8 spare bytes behind; null: nothing is checked
    struct Range { uint64_t begin, bytes; } tensor[2];  // seen last
    Range own[3];                      // of the host: the core's stack, those of SIMT threads, variables or constants touched last
    uint64_t arena_begin, arena_bytes; // global memory and the empty addresses around it
    const void* undefined_read_at;     // where the block has read undefined bytes last; null: nowhere
    uint64_t pending, pending_bytes;   // a plain store that has been announced and is to be looked at
    const void* pending_pc;
    bool pending_saw_load;             // one plain load has been announced since
    uint64_t last_store, last_store_bytes;  // a structure is stored before its source is loaded
};
extern __thread MemoryCheck memory_check __attribute__((tls_model("initial-exec"), visibility("default")));

enum class Access : uint8_t { plain_load, plain_store, vector_load, store };

// At the beginning of a kernel, on each core.
[[gnu::visibility("default")]] void begin_memory_check();
// What the fast ways below did not settle: returns if it is right after all, else ends the launch.
[[gnu::visibility("default")]] void check_access(const char* name, const void* address, uint64_t bytes, Access access, const void* pc);
// Of a store that has happened: elements that are undefined's NaN (any NaN, if they are floats) leave their bytes undefined.
[[gnu::visibility("default")]] void look_at_stored(const void* address, uint64_t bytes, int element_bytes, bool is_float);
[[gnu::visibility("default")]] void settle_pending_store();
// Before anything else at a call for a plain access.
[[gnu::always_inline]] inline void see_to_pending_store(Access access) {
    MemoryCheck& m = memory_check;
    if (!m.pending_bytes) [[likely]] return;
    if (access == Access::plain_load && !m.pending_saw_load) m.pending_saw_load = true;
    else settle_pending_store();
}

}  // namespace ascend::isa
#endif

#if defined(ASCEND_SIM_CHECK_MEMORY)
namespace ascend::isa {

#define ASC_UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("kernel-address")))

// Up to 56 bits from bit `at` on.
[[gnu::always_inline]] inline uint64_t defined_bits(const uint8_t* bits, uint64_t at, uint32_t count) {
    uint64_t word;
    __builtin_memcpy(&word, bits + at / 8, 8);
    return word >> at % 8 & ((uint64_t{1} << count) - 1);
}
[[gnu::always_inline]] inline void define_bits(uint8_t* bits, uint64_t at, uint32_t count) {
    uint64_t word;
    __builtin_memcpy(&word, bits + at / 8, 8);
    word |= ((uint64_t{1} << count) - 1) << at % 8;
    __builtin_memcpy(bits + at / 8, &word, 8);
}

// Of vector instructions. kBytes: what one takes.
template <int kBytes>
[[gnu::always_inline]] inline void check_vector_load(const char* name, const void* address) {
    const uint64_t at = reinterpret_cast<uint64_t>(address) - memory_check.ub_begin;
    if (at <= kUbBytes - kBytes) [[likely]] {
        if constexpr (kBytes <= 32) {
            constexpr uint64_t kAll = (uint64_t{1} << kBytes) - 1;
            if (defined_bits(memory_check.defined, at, kBytes) == kAll) [[likely]] return;
        } else if (at % 8 == 0) {
            uint64_t words[kBytes / 64];
            __builtin_memcpy(words, memory_check.defined + at / 8, sizeof words);
            uint64_t all = ~uint64_t{0};
            for (const uint64_t word : words) all &= word;
            if (all == ~uint64_t{0}) [[likely]] return;
        }
    }
    check_access(name, address, kBytes, Access::vector_load, ASCEND_SIM_HERE);
}
template <int kBytes>
[[gnu::always_inline]] inline void check_store(const char* name, const void* address) {
    const uint64_t at = reinterpret_cast<uint64_t>(address) - memory_check.ub_begin;
    if (at <= kUbBytes - kBytes) [[likely]] {
        if constexpr (kBytes % 8 == 0) {
            if (at % 8 == 0) [[likely]] {
                __builtin_memset(memory_check.defined + at / 8, 0xff, kBytes / 8);
                return;
            }
        }
        for (int i = 0; i < kBytes; i += 32)
            define_bits(memory_check.defined, at + static_cast<uint64_t>(i), kBytes < 32 ? kBytes : 32);
        return;
    }
    check_access(name, address, kBytes, Access::store, ASCEND_SIM_HERE);
}
// Behind a store of elements of T.
template <class T, int kBytes>
[[gnu::always_inline]] inline void check_stored(const void* address) {
    if (memory_check.undefined_read_at) [[unlikely]]
        look_at_stored(address, kBytes, sizeof(T), !std::is_integral_v<T>);
}

template <int kBytes, Access kAccess>
[[gnu::always_inline]] inline void check_plain(const void* address, const void* pc) {
    const MemoryCheck& m = memory_check;
    const auto at = reinterpret_cast<uint64_t>(address);
    const uint64_t in_ub = at - m.ub_begin;
    see_to_pending_store(kAccess);
    if (kAccess == Access::plain_store && m.undefined_read_at) [[unlikely]] {
        check_access(nullptr, address, kBytes, kAccess, pc);
        return;
    }
    if (in_ub <= kUbBytes - kBytes) {
        if constexpr (kAccess == Access::plain_store) {
            define_bits(m.defined, in_ub, kBytes);
            memory_check.last_store = at, memory_check.last_store_bytes = kBytes;
            return;
        } else if (defined_bits(m.defined, in_ub, kBytes) == (uint64_t{1} << kBytes) - 1) {
            return;
        }
    } else {
        for (const auto& tensor : m.tensor)
            if (at - tensor.begin < tensor.bytes && tensor.bytes - (at - tensor.begin) >= kBytes) return;
        for (const auto& own : m.own)
            if (at - own.begin < own.bytes) return;
    }
    check_access(nullptr, address, kBytes, kAccess, pc);
}

}  // namespace ascend::isa

// What the instrumentation calls before plain loads and stores.
#define ASC_CALLBACK(name, symbol, parameters) \
    extern "C" __attribute__((visibility("hidden"), used, noinline)) ASC_UNCHECKED void name parameters asm(symbol); \
    extern "C" void name parameters
#define ASC_SIZED_CALLBACKS(bytes)                                                                                        \
    ASC_CALLBACK(asc_checked_load##bytes, "__asan_load" #bytes "_noabort", (const void* address)) {                       \
        ascend::isa::check_plain<bytes, ascend::isa::Access::plain_load>(address, __builtin_return_address(0));           \
    }                                                                                                                     \
    ASC_CALLBACK(asc_checked_store##bytes, "__asan_store" #bytes "_noabort", (const void* address)) {                     \
        ascend::isa::check_plain<bytes, ascend::isa::Access::plain_store>(address, __builtin_return_address(0));          \
    }
ASC_SIZED_CALLBACKS(1)
ASC_SIZED_CALLBACKS(2)
ASC_SIZED_CALLBACKS(4)
ASC_SIZED_CALLBACKS(8)
ASC_SIZED_CALLBACKS(16)
ASC_CALLBACK(asc_checked_loadN, "__asan_loadN_noabort", (const void* address, uint64_t bytes)) {
    ascend::isa::see_to_pending_store(ascend::isa::Access::plain_load);
    ascend::isa::check_access(nullptr, address, bytes, ascend::isa::Access::plain_load, __builtin_return_address(0));
}
ASC_CALLBACK(asc_checked_storeN, "__asan_storeN_noabort", (const void* address, uint64_t bytes)) {
    ascend::isa::see_to_pending_store(ascend::isa::Access::plain_store);
    ascend::isa::check_access(nullptr, address, bytes, ascend::isa::Access::plain_store, __builtin_return_address(0));
}
ASC_CALLBACK(asc_checked_no_return, "__asan_handle_no_return", ()) {}
#undef ASC_SIZED_CALLBACKS
#undef ASC_CALLBACK
#define ASC_CHECKED(...) __VA_ARGS__
#else
#define ASC_CHECKED(...)
#endif
