// SPDX-License-Identifier: MIT
// Sixteen fp32 lanes in four NEON registers: what the MMAD of csrc/host/generic needs from a level.
#pragma once

#include <arm_neon.h>

namespace ascend::host {
namespace {

struct F32x16 {
    static constexpr bool kIsFused = true;
    static constexpr int kTileRows = 4, kTileBlocks = 1;  // 16 accumulators of 32 registers

    float32x4_t part[4];

    static F32x16 load(const float* from) {
        return {{vld1q_f32(from), vld1q_f32(from + 4), vld1q_f32(from + 8), vld1q_f32(from + 12)}};
    }
    static F32x16 broadcast(const float* from) {
        const float32x4_t lanes = vld1q_dup_f32(from);
        return {{lanes, lanes, lanes, lanes}};
    }
    void store(float* to) const {
        for (int i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, part[i]);
    }
};

inline F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
    F32x16 result;
    for (int i = 0; i < 4; ++i) result.part[i] = vfmaq_f32(c.part[i], a.part[i], b.part[i]);
    return result;
}

}  // namespace
}  // namespace ascend::host
