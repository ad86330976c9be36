// SPDX-License-Identifier: MIT
// HF32: binary32 storage whose cube operands are rounded to 10 mantissa bits (1-8-10, 19 bits).
#pragma once

#include "formats/rounding.h"

namespace ascend {

// Rounds to nearest even, or to nearest with ties away from zero, as asc_set_hf32_round_mode selects; the low
// 13 bits of the result are zero. NaN comes out quiet, overflow gives inf. Which mode is the chip's default
// is not published; nearest even is ours.
static constexpr float f32_to_hf32(float value, Rounding rounding = Rounding::nearest_even) {
    const uint32_t bits = f32_bits(value);
    if (is_nan_bits(bits)) return f32_from_bits((bits & 0x80000000u) | 0x7fc00000u);
    const uint32_t half_less_one = rounding == Rounding::nearest_away ? 0x1000u : 0xfffu + (bits >> 13 & 1);
    return f32_from_bits((bits + half_less_one) & ~0x1fffu);
}

}  // namespace ascend
