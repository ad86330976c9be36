// SPDX-License-Identifier: MIT
// Sixteen fp32 lanes in one AVX-512 register: what the MMAD of csrc/host/generic needs from a level.
#pragma once

#include "host/avx512/intrinsics.h"

namespace ascend::host {
namespace {

struct F32x16 {
    static constexpr bool kIsFused = true;
    static constexpr int kTileRows = 8,
                         kTileBlocks = 2;  // 16 accumulators; 10 loads per 16 FMA, A from memory operands

    __m512 lanes;

    static F32x16 load(const float* from) { return {_mm512_loadu_ps(from)}; }
    static F32x16 broadcast(const float* from) { return {_mm512_set1_ps(*from)}; }
    void store(float* to) const { _mm512_storeu_ps(to, lanes); }
};

inline F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
    return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)};
}

}  // namespace
}  // namespace ascend::host
