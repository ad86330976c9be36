// SPDX-License-Identifier: MIT
// Sixteen fp32 lanes without intrinsics: what the MMAD of csrc/host/generic needs from a level.
#pragma once

#include <cstring>

namespace ascend::host {
namespace {

struct F32x16 {
    static constexpr bool kIsFused = false;  // fma() rounds the product: exact anyway for all but fp32
    static constexpr int kTileRows = 2,
                         kTileBlocks = 1;  // accumulators: rows of A x strips of B, within 16 registers

    typedef float Lanes __attribute__((vector_size(16)));
    Lanes part[4];

    static F32x16 load(const float* from) {
        F32x16 result;
        std::memcpy(&result, from, sizeof result);
        return result;
    }
    static F32x16 broadcast(const float* from) {
        const Lanes lanes = {*from, *from, *from, *from};
        return {{lanes, lanes, lanes, lanes}};
    }
    void store(float* to) const { std::memcpy(to, this, sizeof *this); }
};

inline F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
    F32x16 result;
    for (int i = 0; i < 4; ++i) result.part[i] = a.part[i] * b.part[i] + c.part[i];
    return result;
}

}  // namespace
}  // namespace ascend::host
