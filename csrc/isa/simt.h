// SPDX-License-Identifier: MIT
// What may SIMT code call? Indices, barriers, warp exchanges, fences. Atomics: simt_atomic.h; scalar mathematics: simt_math.h.
// Note "SIMT threads" in simt_launch.h says which threads take part. Sources: ascend950.md 5.2, tilelang_ascend.md 5.
#pragma once

#include "isa/builtin.h"
#include "isa/simt_atomic.h"
#include "isa/simt_launch.h"
#include "isa/simt_math.h"
#include "isa/simt_types.h"

inline constexpr struct {
    ascend::isa::SimtThreadIndex<ascend::isa::SimtAxisX> x;
    ascend::isa::SimtThreadIndex<ascend::isa::SimtAxisY> y;
    ascend::isa::SimtThreadIndex<ascend::isa::SimtAxisZ> z;
} threadIdx{};
inline constexpr struct {
    ascend::isa::SimtExtent<ascend::isa::SimtAxisX> x;
    ascend::isa::SimtExtent<ascend::isa::SimtAxisY> y;
    ascend::isa::SimtExtent<ascend::isa::SimtAxisZ> z;
} blockDim{};
inline constexpr int warpSize = ascend::isa::kWarpThreads;
inline uint32_t laneid() { return ascend::isa::simt.at.linear % ascend::isa::kWarpThreads; }

// All threads that have not returned arrive before any goes on: note "Barriers" in simt_launch.h.
ASCEND_SIM_INSTRUCTION void asc_syncthreads(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    ascend::isa::simt_barrier(file, line);
}
// Memory operations are performed at once and in order here.
inline void asc_threadfence() {}
inline void asc_threadfence_block() {}

namespace ascend::isa {

#define ASC_SITE const char *file = __builtin_FILE(), uint32_t line = __builtin_LINE()

// The rules of the exchanges (simt_exchange.cpp). Shuffles: lane i reads the lane that value, argument and width say; its own value
// where that one lies outside its segment of `width` or takes no part.
void shuffle_index(WarpExchange& warp, uint32_t active);
void shuffle_up(WarpExchange& warp, uint32_t active);
void shuffle_down(WarpExchange& warp, uint32_t active);
void shuffle_xor(WarpExchange& warp, uint32_t active);
// Bits 0-31: the votes; bits 32-63: who takes part.
void ballot(WarpExchange& warp, uint32_t active);
void meet(WarpExchange& warp, uint32_t active);
// A balanced tree over the 32 lanes, neighbours first; lanes that take no part count as the identity. 16-bit floats are
// combined in fp32 and rounded once. Maximum and minimum as SIMD ones: NaN propagates, -0 orders below +0.
// T: float, half, bfloat16_t, or an integer of 32 or 64 bits from <cstdint>.
template <class T>
void add_lanes(WarpExchange& warp, uint32_t active);
template <class T>
void maximum_of_lanes(WarpExchange& warp, uint32_t active);
template <class T>
void minimum_of_lanes(WarpExchange& warp, uint32_t active);

[[noreturn, gnu::cold, gnu::visibility("default")]] void simt_width_fault(int width);

template <class T>
[[gnu::always_inline]] inline T exchange(ExchangeRule rule, T value, int argument, int width, const char* file, uint32_t line) {
    if (width < 1 || width > 32 || (width & (width - 1))) [[unlikely]] simt_width_fault(width);
    if (!simt.is_running) [[unlikely]] simt_exchange(rule, file, line);  // fails
    const uint32_t lane = laneid();
    WarpExchange& warp = *simt.exchange;
    warp.value[lane] = simt_bits(value);
    warp.argument[lane] = argument;
    warp.width[lane] = width;
    simt_exchange(rule, file, line);
    return simt_value<T>(warp.result[lane]);
}

template <class T>
concept simt_exchanged = std::is_trivially_copyable_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
concept simt_reduced = std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> ||
                       (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

// The same lane under the name of <cstdint>.
template <class T>
using Lane = std::conditional_t<!std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                                                              std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;

}  // namespace ascend::isa

// ---- warp exchanges: 32 threads, those that arrive together ----------------------------------------------------------------

template <ascend::isa::simt_exchanged T>
ASCEND_SIM_INSTRUCTION T asc_shfl(T value, int source_lane, int width = 32, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::shuffle_index, value, source_lane, width, file, line);
}
template <ascend::isa::simt_exchanged T>
ASCEND_SIM_INSTRUCTION T asc_shfl_up(T value, uint32_t delta, int width = 32, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::shuffle_up, value, static_cast<int>(delta), width, file, line);
}
template <ascend::isa::simt_exchanged T>
ASCEND_SIM_INSTRUCTION T asc_shfl_down(T value, uint32_t delta, int width = 32, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::shuffle_down, value, static_cast<int>(delta), width, file, line);
}
template <ascend::isa::simt_exchanged T>
ASCEND_SIM_INSTRUCTION T asc_shfl_xor(T value, int lane_mask, int width = 32, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::shuffle_xor, value, lane_mask, width, file, line);
}
template <ascend::isa::simt_reduced T>
ASCEND_SIM_INSTRUCTION T asc_reduce_add(T value, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::add_lanes<ascend::isa::Lane<T>>, value, 0, 32, file, line);
}
template <ascend::isa::simt_reduced T>
ASCEND_SIM_INSTRUCTION T asc_reduce_max(T value, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::maximum_of_lanes<ascend::isa::Lane<T>>, value, 0, 32, file, line);
}
template <ascend::isa::simt_reduced T>
ASCEND_SIM_INSTRUCTION T asc_reduce_min(T value, ASC_SITE) {
    return ascend::isa::exchange(ascend::isa::minimum_of_lanes<ascend::isa::Lane<T>>, value, 0, 32, file, line);
}
// Bit i: thread i takes part and its predicate is not zero.
ASCEND_SIM_INSTRUCTION uint32_t asc_ballot(int32_t predicate, ASC_SITE) {
    return static_cast<uint32_t>(ascend::isa::exchange(ascend::isa::ballot, uint64_t(predicate != 0), 0, 32, file, line));
}
ASCEND_SIM_INSTRUCTION int32_t asc_any(int32_t predicate, ASC_SITE) {
    return static_cast<uint32_t>(ascend::isa::exchange(ascend::isa::ballot, uint64_t(predicate != 0), 0, 32, file, line)) != 0;
}
ASCEND_SIM_INSTRUCTION int32_t asc_all(int32_t predicate, ASC_SITE) {
    return static_cast<uint32_t>(ascend::isa::exchange(ascend::isa::ballot, uint64_t(predicate == 0), 0, 32, file, line)) == 0;
}
// The threads of the warp that are here together.
ASCEND_SIM_INSTRUCTION uint32_t asc_activemask(ASC_SITE) {
    return static_cast<uint32_t>(ascend::isa::exchange(ascend::isa::ballot, uint64_t{0}, 0, 32, file, line) >> 32);
}
ASCEND_SIM_INSTRUCTION void asc_syncwarp(ASC_SITE) { ascend::isa::simt_exchange(ascend::isa::meet, file, line); }
