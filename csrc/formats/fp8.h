// SPDX-License-Identifier: MIT
// e4m3 (1-4-3, no inf) and e5m2 (1-5-2, IEEE specials): decode and encode.
//
// The chip casts f32 to these with round-to-nearest-even only (DK-CAST). Non-saturating: overflow and inf
// give NaN in e4m3, inf in e5m2. Saturating: overflow and inf give the largest finite value, NaN gives 0
// unless CTRL[50] keeps it.
#pragma once

#include "formats/rounding.h"

namespace ascend {

static constexpr uint8_t kE4m3Max = 0x7e;  // 448
static constexpr uint8_t kE4m3NaN = 0x7f;
static constexpr uint8_t kE5m2Max = 0x7b;  // 57344
static constexpr uint8_t kE5m2Inf = 0x7c;
static constexpr uint8_t kE5m2NaN = 0x7e;

static constexpr float e4m3_to_f32(uint8_t code) {
    const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
    const uint32_t magnitude = code & 0x7fu;
    if (magnitude == kE4m3NaN) return f32_from_bits(sign | 0x7fc00000u);
    return f32_from_bits(sign | f32_bits(magnitude_value<3, 7>(magnitude)));
}

static constexpr float e5m2_to_f32(uint8_t code) {
    const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
    const uint32_t magnitude = code & 0x7fu;
    if (magnitude == kE5m2Inf) return f32_from_bits(sign | 0x7f800000u);
    if (magnitude > kE5m2Inf) return f32_from_bits(sign | 0x7fc00000u);
    return f32_from_bits(sign | f32_bits(magnitude_value<2, 15>(magnitude)));
}

static constexpr uint8_t f32_to_e4m3(float value, Saturation saturation = Saturation::on) {
    const uint32_t bits = f32_bits(value);
    const uint32_t sign = bits >> 24 & 0x80u;
    if (is_nan_bits(bits)) return static_cast<uint8_t>(saturation == Saturation::on ? 0 : sign | kE4m3NaN);
    const uint32_t code = is_inf_bits(bits) ? kE4m3NaN : magnitude_code<3, 7>(bits, Rounding::nearest_even);
    if (code <= kE4m3Max) return static_cast<uint8_t>(sign | code);
    return static_cast<uint8_t>(sign | (saturation == Saturation::off ? kE4m3NaN : kE4m3Max));
}

static constexpr uint8_t f32_to_e5m2(float value, Saturation saturation = Saturation::on) {
    const uint32_t bits = f32_bits(value);
    const uint32_t sign = bits >> 24 & 0x80u;
    if (is_nan_bits(bits)) return static_cast<uint8_t>(saturation == Saturation::on ? 0 : sign | kE5m2NaN);
    const uint32_t code = is_inf_bits(bits) ? kE5m2Inf : magnitude_code<2, 15>(bits, Rounding::nearest_even);
    if (code <= kE5m2Max) return static_cast<uint8_t>(sign | code);
    return static_cast<uint8_t>(sign | (saturation == Saturation::off ? kE5m2Inf : kE5m2Max));
}

}  // namespace ascend
