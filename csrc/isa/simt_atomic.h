// SPDX-License-Identifier: MIT
// What do SIMT atomics do? old = *address; *address = f(old, value); return old. Of UB or of global memory.
//
// UB belongs to one vector core, which one host thread runs; global memory is shared, so it needs host atomics. Threads of a
// core update in the order in which they run; cores update global memory in the order of the host, so floating-point sums over
// several cores may differ in their last bits from run to run, as on the chip.
#pragma once


#include "chip/memory.h"
#include "isa/simt_launch.h"
#include "isa/types.h"

namespace ascend::isa {

// NaN propagates, -0 orders below +0.
template <class T>
T simt_maximum(T a, T b) {
    if constexpr (std::is_integral_v<T>) return a > b ? a : b;
    else {
        const float x = a, y = b;
        if (x != x || y != y) return x != x ? a : b;
        return x > y || (x == y && !__builtin_signbit(x)) ? a : b;
    }
}
template <class T>
T simt_minimum(T a, T b) {
    if constexpr (std::is_integral_v<T>) return a < b ? a : b;
    else {
        const float x = a, y = b;
        if (x != x || y != y) return x != x ? a : b;
        return x < y || (x == y && __builtin_signbit(x)) ? a : b;
    }
}

template <class T>
concept simt_atomic = std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> ||
                      (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
template <class T>
concept simt_atomic_integer = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

template <int kBytes>
using AtomicBits = std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>;

#if defined(ASCEND_SIM_CHECK_MEMORY)
// Atomics do not race; what was read before is no longer there.
struct Unordered {
    const uint32_t tag = memory_check.simt_tag;
    Unordered(uint64_t offset, uint64_t bytes) {
        memory_check.simt_tag = 0;
        if (tag && offset < kUbBytes) forget_simt_reads(offset, bytes);
    }
    ~Unordered() { memory_check.simt_tag = tag; }
};
#endif

template <class T, class F>
[[gnu::always_inline]] inline T atomic_update(const char* name, T* address, F f) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at % sizeof(T)) [[unlikely]] vector_fault(name, "the address is not aligned to its element", address);
    ASC_CHECKED(const Unordered unordered(at - simt.ub_begin, sizeof(T));)
    if (at - simt.ub_begin < kUbBytes) {
        ++simt.counts.ub_atomics;
        const T old = *address;
        *address = f(old);
        return old;
    }
    ++simt.counts.gm_atomics;
    simt.counts.gm_atomics_again += simt.last_atomic == at;
    simt.last_atomic = at;
    using Bits = AtomicBits<sizeof(T)>;
    auto* bits = reinterpret_cast<Bits*>(address);
    Bits seen = __atomic_load_n(bits, __ATOMIC_RELAXED);
    for (;;) {
        const auto next = static_cast<Bits>(simt_bits(f(simt_value<T>(seen))));
        if (__atomic_compare_exchange_n(bits, &seen, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return simt_value<T>(seen);
    }
}

}  // namespace ascend::isa

#define ASC_SIMT_ATOMIC(name, concept_of, expression)                                                  \
    template <ascend::isa::concept_of T, class U>                                                      \
    ASCEND_SIM_INSTRUCTION T name(T* address, U operand) {                                                             \
        const T value = static_cast<T>(operand);                                                       \
        return ascend::isa::atomic_update(#name, address, [value](T old) -> T { return expression; }); \
    }
ASC_SIMT_ATOMIC(asc_atomic_add, simt_atomic, static_cast<T>(old + value))
ASC_SIMT_ATOMIC(asc_atomic_sub, simt_atomic, static_cast<T>(old - value))
ASC_SIMT_ATOMIC(asc_atomic_max, simt_atomic, ascend::isa::simt_maximum(old, value))
ASC_SIMT_ATOMIC(asc_atomic_min, simt_atomic, ascend::isa::simt_minimum(old, value))
ASC_SIMT_ATOMIC(asc_atomic_exch, simt_atomic, (static_cast<void>(old), value))
ASC_SIMT_ATOMIC(asc_atomic_and, simt_atomic_integer, old & value)
ASC_SIMT_ATOMIC(asc_atomic_or, simt_atomic_integer, old | value)
ASC_SIMT_ATOMIC(asc_atomic_xor, simt_atomic_integer, old ^ value)
ASC_SIMT_ATOMIC(asc_atomic_inc, simt_atomic_integer, old >= value ? T(0) : T(old + 1))
ASC_SIMT_ATOMIC(asc_atomic_dec, simt_atomic_integer, old == 0 || old > value ? value : T(old - 1))
#undef ASC_SIMT_ATOMIC

template <ascend::isa::simt_atomic_integer T, class U, class V>
ASCEND_SIM_INSTRUCTION T asc_atomic_cas(T* address, U compare, V operand) {
    const T expected = static_cast<T>(compare), value = static_cast<T>(operand);
    return ascend::isa::atomic_update("asc_atomic_cas", address, [=](T old) -> T { return old == expected ? value : old; });
}
