// SPDX-License-Identifier: MIT
// bf16 (1-8-7): decode and encode. Signs of zero and NaN are kept; NaN comes out quiet.
#pragma once

#include "formats/rounding.h"

namespace ascend {

static constexpr uint16_t kBf16Max = 0x7f7f;
static constexpr uint16_t kBf16Inf = 0x7f80;
static constexpr uint16_t kBf16NaN = 0x7fc0;

static constexpr float bf16_to_f32(uint16_t code) { return f32_from_bits(static_cast<uint32_t>(code) << 16); }

// Round to nearest even without branches on the value, so that loops over it vectorise.
static constexpr uint16_t f32_to_bf16(float value) {
    const uint32_t bits = f32_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    const uint32_t quiet = bits >> 16 & 0x8000u;
    return static_cast<uint16_t>(is_nan_bits(bits) ? quiet | kBf16NaN : rounded);
}

static constexpr uint16_t f32_to_bf16(float value, Rounding rounding,
                                      Saturation saturation = Saturation::off) {
    const uint32_t bits = f32_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    if (is_nan_bits(bits)) return static_cast<uint16_t>(saturation == Saturation::on ? 0 : sign | kBf16NaN);
    const uint32_t code = is_inf_bits(bits) ? kBf16Inf : magnitude_code<7, 127>(bits, rounding);
    if (code <= kBf16Max) return static_cast<uint16_t>(sign | code);
    if (saturation != Saturation::off) return static_cast<uint16_t>(sign | kBf16Max);
    const bool to_inf = is_inf_bits(bits) || overflows_to_inf(sign != 0, rounding);
    return static_cast<uint16_t>(sign | (to_inf ? kBf16Inf : kBf16Max));
}

}  // namespace ascend
