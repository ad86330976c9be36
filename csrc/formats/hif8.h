// SPDX-License-Identifier: MIT
// HiF8: sign, a "dot" field D of variable length, exponent, mantissa; decode and encode.
//
// After the sign bit (DK-TYPES):
//     0000 mmm   +-2^(m-23), m = 0 is zero (with the sign: NaN)        01 ee mmm   exponents +-2 .. 3
//     0001 mmm   +-(1 + m/8)                                          10 eee mm   exponents +-4 .. 7
//     001 e mmm  exponents +-1                                        11 eeee m   exponents +-8 .. 15
// The first bit of e is the sign of the exponent, an implicit leading 1 precedes the rest.
// Specials: 0x00 zero (there is no -0), 0x80 NaN, 0x6f +inf, 0xef -inf; the largest finite value is 0x6e =
// 2^15.
#pragma once

#include "formats/rounding.h"

namespace ascend {

static constexpr uint8_t kHif8NaN = 0x80;
static constexpr uint8_t kHif8Inf = 0x6f;
static constexpr uint8_t kHif8Max = 0x6e;

static constexpr float hif8_to_f32(uint8_t code) {
    if (code == 0) return 0.0f;
    if (code == kHif8NaN) return f32_from_bits(0x7fc00000u);
    const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
    const uint32_t body = code & 0x7fu;
    if (body == kHif8Inf) return f32_from_bits(sign | 0x7f800000u);
    int exponent_bits = 0, mantissa_bits = 3;  // exponent_bits counts the exponent's sign bit
    if (body >= 0x60) {
        exponent_bits = 4, mantissa_bits = 1;
    } else if (body >= 0x40) {
        exponent_bits = 3, mantissa_bits = 2;
    } else if (body >= 0x20) {
        exponent_bits = 2;
    } else if (body >= 0x10) {
        exponent_bits = 1;
    } else if (body < 0x08) {
        return f32_from_bits(sign | (body + 127u - 23u) << 23);
    }
    int exponent = 0;
    if (exponent_bits) {
        const uint32_t field = body >> mantissa_bits & ((1u << exponent_bits) - 1);
        const uint32_t rest = field & ((1u << (exponent_bits - 1)) - 1);
        exponent = static_cast<int>(rest | 1u << (exponent_bits - 1));
        if (field >> (exponent_bits - 1)) exponent = -exponent;
    }
    const uint32_t mantissa = body & ((1u << mantissa_bits) - 1);
    return f32_from_bits(sign | static_cast<uint32_t>(exponent + 127) << 23 |
                         mantissa << (23 - mantissa_bits));
}

// Code of the power-of-two exponent with a mantissa of that exponent's width; exponent in [-22, 15].
static constexpr uint32_t hif8_compose(int exponent, uint32_t mantissa) {
    if (exponent < -15) return static_cast<uint32_t>(exponent + 23);
    if (exponent == 0) return 0x08u | mantissa;
    const uint32_t size = static_cast<uint32_t>(exponent < 0 ? -exponent : exponent);
    const uint32_t negative = exponent < 0 ? 1u : 0u;
    if (size < 2) return 0x10u | negative << 3 | mantissa;
    if (size < 4) return 0x20u | negative << 4 | (size & 1u) << 3 | mantissa;
    if (size < 8) return 0x40u | negative << 4 | (size & 3u) << 2 | mantissa;
    return 0x60u | negative << 4 | (size & 7u) << 1 | mantissa;
}

static constexpr int hif8_mantissa_bits(int exponent) {
    const int size = exponent < 0 ? -exponent : exponent;
    return exponent < -15 ? 0 : size < 4 ? 3 : size < 8 ? 2 : 1;
}

// Rounding is nearest_away (the default) or hybrid; the other modes work as elsewhere. Hybrid is nearest_away
// for exponents -3 .. 3; outside, where the mantissa is short, the 14 bits after the cut are compared with
// the 14 lowest mantissa bits as a stand-in for a random threshold: at or above it rounds up. The vendor
// names the mode but does not publish the rule; this one follows the format's paper and is unconfirmed on a
// device.
static constexpr uint8_t f32_to_hif8(float value, Rounding rounding = Rounding::nearest_away,
                                     Saturation saturation = Saturation::on) {
    const uint32_t bits = f32_bits(value);
    const uint32_t sign = bits >> 24 & 0x80u;
    if (is_nan_bits(bits)) return saturation == Saturation::on ? 0 : kHif8NaN;
    const uint32_t overflow = sign | (saturation == Saturation::off ? kHif8Inf : kHif8Max);
    if (is_inf_bits(bits)) return static_cast<uint8_t>(overflow);
    int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
    if (exponent < -23) {
        // Below 2^-23, half of the smallest value 2^-22: only directed modes leave zero.
        const bool up = (bits & 0x7fffffffu) && rounds_up(0, 1, 2, sign != 0, rounding);
        return up ? static_cast<uint8_t>(sign | 1u) : 0;
    }
    const uint32_t significand = (bits & 0x7fffffu) | 0x800000u;
    // 2^-23 .. 2^-22 lies between 0 and the smallest value: keep nothing of the significand, its unit is
    // 2^-22.
    const int shift = exponent == -23 ? 24 : 23 - hif8_mantissa_bits(exponent);
    uint32_t kept = significand >> shift;
    const uint32_t rest = significand & ((1u << shift) - 1);
    bool up = rounds_up(kept, rest, 1u << (shift - 1), sign != 0,
                        rounding == Rounding::hybrid ? Rounding::nearest_away : rounding);
    if (rounding == Rounding::hybrid && hif8_mantissa_bits(exponent) < 3)
        up = (rest >> (shift - 14) & 0x3fffu) >= (bits & 0x3fffu) && rest != 0;
    kept += up ? 1u : 0u;
    if (exponent == -23) return static_cast<uint8_t>(kept ? sign | 1u : 0u);
    const int old_bits = hif8_mantissa_bits(exponent);
    if (kept >>
        (old_bits + 1)) {  // carried into the next power of two, whose mantissa is 0 whatever its width
        ++exponent;
        kept = 0;
    } else {
        kept &= (1u << old_bits) - 1;
    }
    if (exponent > 15 || (exponent == 15 && kept)) {
        const bool to_max = saturation != Saturation::off || !overflows_to_inf(sign != 0, rounding);
        return static_cast<uint8_t>(to_max ? sign | kHif8Max : overflow);
    }
    return static_cast<uint8_t>(sign | hif8_compose(exponent, kept));
}

}  // namespace ascend
