// SPDX-License-Identifier: MIT
// e2m1 (0 .. 6) and e1m2 (0 .. 1.75 in steps of 0.25): decode and encode; neither has inf or NaN.
//
// Two elements share a byte, the even one in the low nibble. Encoding rounds in the five modes R A F C Z;
// overflow and inf give the largest magnitude, NaN gives code 0, and a value that rounds to zero keeps its
// sign (DK-CAST). The chip casts from bf16; any f32 is accepted here. f32 -> bf16 with Rounding::odd -> fp4
// equals f32 -> fp4.
#pragma once

#include "formats/rounding.h"

namespace ascend {

static constexpr uint8_t kFp4Max = 0x7;

static constexpr float e2m1_to_f32(uint8_t code) {
    return f32_from_bits(static_cast<uint32_t>(code & 8u) << 28 | f32_bits(magnitude_value<1, 1>(code & 7u)));
}

static constexpr float e1m2_to_f32(uint8_t code) {
    return f32_from_bits(static_cast<uint32_t>(code & 8u) << 28 | f32_bits(magnitude_value<2, 1>(code & 7u)));
}

template <int kMantissaBits>
static constexpr uint8_t f32_to_fp4(float value, Rounding rounding) {
    const uint32_t bits = f32_bits(value);
    if (is_nan_bits(bits)) return 0;
    const uint32_t sign = bits >> 28 & 8u;
    const uint32_t code = is_inf_bits(bits) ? kFp4Max : magnitude_code<kMantissaBits, 1>(bits, rounding);
    return static_cast<uint8_t>(sign | (code < kFp4Max ? code : kFp4Max));
}

static constexpr uint8_t f32_to_e2m1(float value, Rounding rounding = Rounding::nearest_even) {
    return f32_to_fp4<1>(value, rounding);
}

static constexpr uint8_t f32_to_e1m2(float value, Rounding rounding = Rounding::nearest_even) {
    return f32_to_fp4<2>(value, rounding);
}

// The two elements of a byte: index 0 is the low nibble.
static constexpr uint8_t fp4_element(uint8_t byte, int index) { return byte >> (index & 1) * 4 & 0xf; }
static constexpr uint8_t fp4_pair(uint8_t even, uint8_t odd) {
    return static_cast<uint8_t>((even & 0xf) | odd << 4);
}

}  // namespace ascend
