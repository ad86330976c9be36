// SPDX-License-Identifier: MIT
// How does a narrowing cast round and saturate, and which code does a binary32 value round to?
//
// Everything in csrc/formats has internal linkage on purpose: the same header is compiled for several host
// instruction sets, and one shared inline copy could contain instructions that the running CPU lacks.
#pragma once

#include <cstdint>

namespace ascend {

// The rounding controls of the chip's casts, in the order R A F C Z O H.
enum class Rounding : uint8_t {
    nearest_even,  // R
    nearest_away,  // A: ties away from zero
    floor,         // F: towards -inf
    ceil,          // C: towards +inf
    trunc,         // Z: towards zero
    odd,     // O: truncate, then set the last bit if anything was lost; makes a following rounding exact
    hybrid,  // H: HiF8 only, see hif8.h; elsewhere it acts as nearest_even
};

// off: overflow and inf become inf (NaN where the format has no inf), NaN stays NaN.
// on: overflow and inf become the largest finite value, NaN becomes 0. on_keep_nan: CTRL[50] = 1, NaN stays
// NaN.
enum class Saturation : uint8_t { off, on, on_keep_nan };

static constexpr uint32_t f32_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
static constexpr float f32_from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }

static constexpr bool is_nan_bits(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
static constexpr bool is_inf_bits(uint32_t bits) { return (bits & 0x7fffffffu) == 0x7f800000u; }

// Whether a magnitude whose kept part is `kept` and whose cut-off part is `rest` (half = half a unit) moves
// up by one unit.
static constexpr bool rounds_up(uint32_t kept, uint32_t rest, uint32_t half, bool negative,
                                Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest_away: return rest >= half;
        case Rounding::floor: return negative && rest != 0;
        case Rounding::ceil: return !negative && rest != 0;
        case Rounding::trunc: return false;
        case Rounding::odd: return rest != 0 && (kept & 1) == 0;
        case Rounding::nearest_even:
        case Rounding::hybrid: break;
    }
    return rest > half || (rest == half && (kept & 1));
}

// Magnitude code (exponent field, then mantissa field) of a finite binary32 value in the format with
// kMantissaBits and kBias. The ladder of codes is continued above the format's largest one, so that the
// caller compares with its own maximum: codes above it are an overflow, whatever the format does there.
// Subnormals on both sides are handled.
template <int kMantissaBits, int kBias>
static constexpr uint32_t magnitude_code(uint32_t bits, Rounding rounding) {
    const bool negative = bits >> 31;
    const int exponent_field = static_cast<int>(bits >> 23 & 0xff);
    const uint32_t significand = (bits & 0x7fffffu) | (exponent_field ? 0x800000u : 0u);
    const int exponent = (exponent_field ? exponent_field : 1) - 127;
    const int kept_exponent = exponent > 1 - kBias ? exponent : 1 - kBias;
    int shift = kept_exponent - exponent + 23 - kMantissaBits;
    if (shift > 25) shift = 25;  // below a quarter of the smallest unit: only "something was lost" matters
    const uint32_t kept = significand >> shift;
    const uint32_t rest = significand & ((1u << shift) - 1);
    const uint32_t half = shift ? 1u << (shift - 1) : 1u;
    const uint32_t base = static_cast<uint32_t>(kept_exponent + kBias - 1) << kMantissaBits;
    return base + kept + (rounds_up(kept, rest, half, negative, rounding) ? 1u : 0u);
}

// Value of a magnitude code, exact; no code is special here.
template <int kMantissaBits, int kBias>
static constexpr float magnitude_value(uint32_t code) {
    const uint32_t mantissa = code & ((1u << kMantissaBits) - 1);
    const int exponent_field = static_cast<int>(code >> kMantissaBits);
    float value =
        exponent_field ? static_cast<float>(mantissa | 1u << kMantissaBits) : static_cast<float>(mantissa);
    int scale = (exponent_field ? exponent_field : 1) - kBias - kMantissaBits;
    for (; scale < -126; ++scale) value *= 0.5f;
    for (; scale > 127; --scale) value *= 2.0f;
    return value * f32_from_bits(static_cast<uint32_t>(scale + 127) << 23);
}

// IEEE 754: which overflows give inf and which the largest finite value.
static constexpr bool overflows_to_inf(bool negative, Rounding rounding) {
    switch (rounding) {
        case Rounding::floor: return negative;
        case Rounding::ceil: return !negative;
        case Rounding::trunc:
        case Rounding::odd: return false;
        default: return true;
    }
}

}  // namespace ascend
