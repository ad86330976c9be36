// SPDX-License-Identifier: MIT
// ASCEND_SIM_CHECK=memory: does kernel code touch only bytes that are there, and let only bytes that hold data leave UB?
//
// Compiled in where ASCEND_SIM_CHECK_MEMORY is defined, together with the compiler's instrumentation for a kernel's address
// sanitizer, whose calls are answered here. Note "Memory check":
// * UB, addresses: beyond its end is an error, of any access, and so is what lies beyond the bytes that the launch allocates, if it
//   says how many (LaunchOptions::ub_bytes). Global memory: plain accesses must lie in one live tensor, to the
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
//
// Note "Races". Threads run one after another here, so that another order is possible on the chip cannot be seen in values. Each byte
// of UB knows the warp that wrote it last and the one that read it, and between which two barriers. Another warp's access before the
// next barrier is an error, if one of the two changes the byte. Threads of a warp run in step; a byte to which several warps write the
// same value is fine; atomics are left out. Loads behind stores in a vector function are not looked at: kernels of the tile-kernels
// wheel (mhc_post_bwd) add up in UB from one round of a loop to the next, without the barrier that the vendor asks for.
#pragma once

#include <cstdint>

#if defined(ASCEND_SIM_CHECK_MEMORY) || defined(ASCEND_SIM_MEMORY_CHECK_ITSELF)
#include "chip/memory.h"
#include "isa/sync.h"

namespace ascend::isa {

struct MemoryCheck {
    uint64_t ub_begin, ub_bytes;       // of the core that asked last: another one's addresses take the slow way, which updates
    uint8_t* defined;                  // a bit per byte of it, with 8 spare bytes behind; null: nothing is checked
    struct Range { uint64_t begin, bytes; } tensor[2];  // seen last
    Range own[3];                      // of the host: the core's stack, those of SIMT threads, variables or constants touched last
    uint64_t arena_begin, arena_bytes; // global memory and the empty addresses around it
    const void* undefined_read_at;     // where the block has read undefined bytes last; null: nowhere
    uint64_t pending, pending_bytes;   // a plain store that has been announced and is to be looked at
    const void* pending_pc;
    bool pending_saw_load;             // one plain load has been announced since
    uint64_t last_store, last_store_bytes;  // a structure is stored before its source is loaded
    uint32_t simt_tag;                 // 25 bits: functions and barriers so far; 7: the running thread's warp. 0: no SIMT thread runs
    struct AccessTags* tags;           // not null where it is not 0
};
extern __thread MemoryCheck memory_check __attribute__((tls_model("initial-exec"), visibility("default")));

struct AccessTags {                    // of a host thread, of UB
    uint32_t written[kUbBytes + 16], read[kUbBytes + 16];  // simt_tag, of each byte; the warp is kSeveral where it was more than one
    uint32_t value[kUbBytes / 4 + 4];                      // of each word, when it was read last
    // The pending store, if another warp has used its bytes: it matters if the store changes them.
    struct Raced { uint64_t offset, bytes; uint8_t value[16]; uint32_t written[16], read[16]; } raced;
};
constexpr uint32_t kSeveral = 0x7f;

enum class Access : uint8_t { plain_load, plain_store, vector_load, store };

// At the beginning of a kernel, on each core.
[[gnu::visibility("default")]] void begin_memory_check();
// What the fast ways below did not settle: returns if it is right after all, else ends the launch.
[[gnu::visibility("default")]] void check_access(const char* name, const void* address, uint64_t bytes, Access access, const void* pc);
// ASCEND_SIM_CHECK=races, before the access (chip/races.h): whether it is ordered behind those of other pipes.
[[gnu::visibility("default")]] void check_order(const char* name, const void* address, uint64_t bytes, Access access, const void* pc);
#if defined(ASCEND_SIM_CHECK_RACES)
#define ASC_RACES(...) __VA_ARGS__
#else
#define ASC_RACES(...)
#endif
// Copies and fills of whole objects, as clang announces them: the calls do the work themselves.
[[gnu::visibility("default")]] void* checked_copy(void* to, const void* from, uint64_t bytes, const void* pc);
[[gnu::visibility("default")]] void* checked_fill(void* to, int byte, uint64_t bytes, const void* pc);
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
// Of the running SIMT thread: an access in UB that another warp's has met (the byte is at `offset` or behind).
[[gnu::visibility("default")]] void check_race(uint64_t offset, uint64_t bytes, bool is_store, const void* pc);
// Tags differ in the warp alone: 1 .. 127.
[[gnu::always_inline]] inline bool is_other_warp(uint32_t tag, uint32_t mine) { return (tag ^ mine) - 1 < kSeveral; }
[[gnu::always_inline]] inline void note_simt_access(uint64_t offset, uint64_t bytes, bool is_store, const void* pc) {
    const uint32_t mine = memory_check.simt_tag;
    uint32_t *written = memory_check.tags->written + offset, *read = memory_check.tags->read + offset;
    bool met = false;
    for (uint64_t i = 0; i < bytes; ++i) met |= is_other_warp(written[i], mine) || (is_store && is_other_warp(read[i], mine));
    // A store in a row with a load of the same place is not announced: the next one to load sees it.
    if (!is_store && (bytes | offset) % 4 == 0) {
        for (uint64_t i = 0; i < bytes; i += 4) {
            uint32_t now;
            __builtin_memcpy(&now, reinterpret_cast<const void*>(memory_check.ub_begin + offset + i), 4);
            met |= is_other_warp(read[i], mine) && (memory_check.tags->value[(offset + i) / 4] != now);
        }
    }
    if (met) [[unlikely]] check_race(offset, bytes, is_store, pc);
    if (!is_store && (bytes | offset) % 4 == 0)
        __builtin_memcpy(memory_check.tags->value + offset / 4, reinterpret_cast<const void*>(memory_check.ub_begin + offset), bytes);
    for (uint64_t i = 0; i < bytes; ++i) {
        if (is_store) written[i] = mine;
        else read[i] = is_other_warp(read[i], mine) ? mine | kSeveral : mine;
    }
}
// The same of 4, 8 or 16 bytes, four tags at a time.
template <int kBytes, bool kIsStore>
[[gnu::always_inline]] inline void note_simt_words(uint64_t offset, const void* pc) {
    typedef uint32_t Tags __attribute__((vector_size(16), aligned(4), may_alias));
    MemoryCheck& m = memory_check;
    const uint32_t mine = m.simt_tag;
    auto* written = reinterpret_cast<Tags*>(m.tags->written + offset);
    auto* read = reinterpret_cast<Tags*>(m.tags->read + offset);
    const bool has_values = !kIsStore && offset % 4 == 0;
    Tags met{}, others[kBytes / 4];
    bool changed = false;
    for (int i = 0; i < kBytes / 4; ++i) {
        others[i] = reinterpret_cast<Tags>((read[i] ^ mine) - 1 < kSeveral);
        met |= reinterpret_cast<Tags>((written[i] ^ mine) - 1 < kSeveral);
        if constexpr (kIsStore) met |= others[i];
        if (!has_values) continue;
        uint32_t now, &before = m.tags->value[offset / 4 + static_cast<uint64_t>(i)];
        __builtin_memcpy(&now, reinterpret_cast<const void*>(m.ub_begin + offset + static_cast<uint64_t>(4 * i)), 4);
        changed |= others[i][0] && before != now;
    }
    if (met[0] | met[1] | met[2] | met[3] | changed) [[unlikely]] check_race(offset, kBytes, kIsStore, pc);
    for (int i = 0; i < kBytes / 4; ++i) {
        if constexpr (kIsStore) written[i] = Tags{} + mine;
        else read[i] = (others[i] & kSeveral) | mine;
    }
    if (has_values) __builtin_memcpy(m.tags->value + offset / 4, reinterpret_cast<const void*>(m.ub_begin + offset), kBytes);
}
template <int kBytes, bool kIsStore>
[[gnu::always_inline]] inline void note_simt_access(uint64_t offset, const void* pc) {
    if constexpr (kBytes % 4 == 0) note_simt_words<kBytes, kIsStore>(offset, pc);
    else note_simt_access(offset, kBytes, kIsStore, pc);
}
void forget_simt_accesses();
[[gnu::visibility("default")]] void forget_simt_reads(uint64_t offset, uint64_t bytes);
// What a thread gets of one that did not take part; remembers that undefined data was read there.
uint64_t undefined_value(const void* pc);

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

template <int kBytes>
[[gnu::always_inline]] inline bool is_in_ub(uint64_t at) {
    return at < memory_check.ub_bytes && at + kBytes <= memory_check.ub_bytes;
}

// Of vector instructions. kBytes: what one takes.
template <int kBytes>
[[gnu::always_inline]] inline void check_vector_load(const char* name, const void* address) {
    // Whole registers are loaded, also where less is there to be used: the first 32 bytes stand for them.
    ASC_RACES(check_order(name, address, kBytes < 32 ? kBytes : 32, Access::vector_load, ASCEND_SIM_HERE);)
    const uint64_t at = reinterpret_cast<uint64_t>(address) - memory_check.ub_begin;
    if (is_in_ub<kBytes>(at)) [[likely]] {
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
    ASC_RACES(check_order(name, address, kBytes, Access::store, ASCEND_SIM_HERE);)
    const uint64_t at = reinterpret_cast<uint64_t>(address) - memory_check.ub_begin;
    if (is_in_ub<kBytes>(at)) [[likely]] {
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
    ASC_RACES(check_order(nullptr, address, kBytes, kAccess, pc);)
    if (kAccess == Access::plain_store && m.undefined_read_at) [[unlikely]] {
        check_access(nullptr, address, kBytes, kAccess, pc);
        return;
    }
    if (is_in_ub<kBytes>(in_ub)) {
        if constexpr (kAccess == Access::plain_store) {
            define_bits(m.defined, in_ub, kBytes);
            if (m.simt_tag) note_simt_access<kBytes, true>(in_ub, pc);
            memory_check.last_store = at, memory_check.last_store_bytes = kBytes;
            return;
        } else if (defined_bits(m.defined, in_ub, kBytes) == (uint64_t{1} << kBytes) - 1) {
            if (m.simt_tag) note_simt_access<kBytes, false>(in_ub, pc);
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
#define ASC_CALLBACK(name, symbol, parameters) ASC_CALLBACK_THAT_RETURNS(void, name, symbol, parameters)
#define ASC_CALLBACK_THAT_RETURNS(type, name, symbol, parameters) \
    extern "C" __attribute__((visibility("hidden"), used, noinline)) ASC_UNCHECKED type name parameters asm(symbol); \
    extern "C" type name parameters
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
    ASC_RACES(ascend::isa::check_order(nullptr, address, bytes, ascend::isa::Access::plain_load, __builtin_return_address(0));)
    ascend::isa::check_access(nullptr, address, bytes, ascend::isa::Access::plain_load, __builtin_return_address(0));
}
ASC_CALLBACK(asc_checked_storeN, "__asan_storeN_noabort", (const void* address, uint64_t bytes)) {
    ascend::isa::see_to_pending_store(ascend::isa::Access::plain_store);
    ASC_RACES(ascend::isa::check_order(nullptr, address, bytes, ascend::isa::Access::plain_store, __builtin_return_address(0));)
    ascend::isa::check_access(nullptr, address, bytes, ascend::isa::Access::plain_store, __builtin_return_address(0));
}
ASC_CALLBACK(asc_checked_no_return, "__asan_handle_no_return", ()) {}
#if defined(__clang__)
ASC_CALLBACK_THAT_RETURNS(void*, asc_checked_memcpy, "__asan_memcpy", (void* to, const void* from, uint64_t bytes)) {
    return ascend::isa::checked_copy(to, from, bytes, __builtin_return_address(0));
}
ASC_CALLBACK_THAT_RETURNS(void*, asc_checked_memmove, "__asan_memmove", (void* to, const void* from, uint64_t bytes)) {
    return ascend::isa::checked_copy(to, from, bytes, __builtin_return_address(0));
}
ASC_CALLBACK_THAT_RETURNS(void*, asc_checked_memset, "__asan_memset", (void* to, int byte, uint64_t bytes)) {
    return ascend::isa::checked_fill(to, byte, bytes, __builtin_return_address(0));
}
#endif
#undef ASC_SIZED_CALLBACKS
#undef ASC_CALLBACK_THAT_RETURNS
#undef ASC_CALLBACK
#define ASC_CHECKED(...) __VA_ARGS__
#else
#define ASC_CHECKED(...)
#endif
