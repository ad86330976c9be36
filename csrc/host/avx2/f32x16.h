// SPDX-License-Identifier: MIT
// Sixteen fp32 lanes in two AVX registers: what the MMAD of csrc/host/generic needs from a level.
#pragma once

#include <immintrin.h>

namespace ascend::host {
namespace {

struct F32x16 {
    static constexpr bool kIsFused = true;
    static constexpr int kTileRows = 4,
                         kTileBlocks = 1;  // 8 accumulators hide 4 cycles of latency on 2 ports

    __m256 low, high;

    static F32x16 load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
    static F32x16 broadcast(const float* from) {
        const __m256 lanes = _mm256_broadcast_ss(from);
        return {lanes, lanes};
    }
    void store(float* to) const {
        _mm256_storeu_ps(to, low);
        _mm256_storeu_ps(to + 8, high);
    }
};

inline F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

}  // namespace
}  // namespace ascend::host
