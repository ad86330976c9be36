// SPDX-License-Identifier: MIT
// fp16 (IEEE binary16, 1-5-10): decode and encode. Signs of zero and NaN are kept; NaN comes out quiet.
#pragma once

#include "formats/rounding.h"

namespace ascend {

static constexpr uint16_t kF16Max = 0x7bff;
static constexpr uint16_t kF16Inf = 0x7c00;
static constexpr uint16_t kF16NaN = 0x7e00;

static constexpr float f16_to_f32(uint16_t code) {
    const uint32_t sign = static_cast<uint32_t>(code & 0x8000u) << 16;
    const uint32_t magnitude = code & 0x7fffu;
    if (magnitude >= kF16Inf) {
        const uint32_t quiet = magnitude > kF16Inf ? 0x400000u : 0u;
        return f32_from_bits(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
    }
    // As binary32 bits the code is the value times 2^-112, subnormals included.
    const float value = f32_from_bits(magnitude << 13) * f32_from_bits((112u + 127u) << 23);
    return f32_from_bits(f32_bits(value) | sign);
}

static constexpr uint16_t f32_to_f16(float value, Rounding rounding = Rounding::nearest_even,
                                     Saturation saturation = Saturation::off) {
    const uint32_t bits = f32_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    if (is_nan_bits(bits)) return static_cast<uint16_t>(saturation == Saturation::on ? 0 : sign | kF16NaN);
    const uint32_t code = is_inf_bits(bits) ? kF16Inf : magnitude_code<10, 15>(bits, rounding);
    if (code <= kF16Max) return static_cast<uint16_t>(sign | code);
    if (saturation != Saturation::off) return static_cast<uint16_t>(sign | kF16Max);
    const bool to_inf = is_inf_bits(bits) || overflows_to_inf(sign != 0, rounding);
    return static_cast<uint16_t>(sign | (to_inf ? kF16Inf : kF16Max));
}

}  // namespace ascend
