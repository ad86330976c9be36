// SPDX-License-Identifier: MIT
// e8m0 (UE8M0): a power of two 2^(code - 127), code 255 is NaN; decode, encode, and the scale rule of
// DeepGEMM.
#pragma once

#include "formats/bf16.h"

namespace ascend {

static constexpr uint8_t kE8m0NaN = 0xff;
static constexpr uint8_t kE8m0Max = 0xfe;

static constexpr float e8m0_to_f32(uint8_t code) {
    if (code == kE8m0NaN) return f32_from_bits(0x7fc00000u);
    return f32_from_bits(code ? static_cast<uint32_t>(code) << 23
                              : 0x400000u);  // 2^-127 is a binary32 subnormal
}

static constexpr uint16_t e8m0_to_bf16(uint8_t code) {
    if (code == kE8m0NaN) return kBf16NaN;
    return static_cast<uint16_t>(code ? code << 7 : 0x40);
}

// The code is the exponent byte of the value; the sign is dropped, 0 gives 0. Overflow and inf give 0xfe, NaN
// 0xff (DK-CAST). Rounding acts on the mantissa: trunc and floor keep the exponent, ceil takes the next power
// of two unless the value is one, the nearest modes round half way between two powers (1.5 times the lower
// one), to the even code or away from zero.
static constexpr uint8_t f32_to_e8m0(float value, Rounding rounding = Rounding::trunc) {
    const uint32_t magnitude = f32_bits(value) & 0x7fffffffu;
    if (is_nan_bits(magnitude)) return kE8m0NaN;
    if (is_inf_bits(magnitude)) return kE8m0Max;
    uint32_t code = magnitude >> 23;
    uint32_t rest = magnitude & 0x7fffffu;
    // Below 2^-126 the neighbours are 2^-127 (code 0, also the floor of everything smaller) and 2^-126.
    if (code == 0) rest = rest <= 0x400000u ? 0 : (rest - 0x400000u) << 1;
    code += rounds_up(code, rest, 0x400000u, false, rounding) ? 1u : 0u;
    return static_cast<uint8_t>(code > kE8m0Max ? kE8m0Max : code);
}

static constexpr uint8_t bf16_to_e8m0(uint16_t code, Rounding rounding = Rounding::trunc) {
    return f32_to_e8m0(bf16_to_f32(code), rounding);
}

// DeepGEMM's ceil_to_ue8m0: the next power of two, its code clamped to [1, 254].
static constexpr uint8_t f32_to_e8m0_scale(float value) {
    const uint32_t bits = f32_bits(value);
    const uint32_t code = (bits >> 23 & 0xff) + ((bits & 0x7fffffu) ? 1u : 0u);
    return static_cast<uint8_t>(code < 1 ? 1 : code > 254 ? 254 : code);
}

}  // namespace ascend
