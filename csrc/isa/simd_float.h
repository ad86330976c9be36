// SPDX-License-Identifier: MIT
// How are the codes of 16- and 8-bit floats converted in vectors of binary32? Bit for bit as csrc/formats does.
#pragma once

#include "formats/hif8.h"
#include "isa/simd_register.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

constexpr uint32_t kSignBit = 0x80000000u;
constexpr uint32_t kInfBits = 0x7f800000u;

ASC_INLINE VecU magnitude(VecU bits) { return bits & ~kSignBit; }
ASC_INLINE VecS is_nan(VecU bits) { return (VecS)magnitude(bits) > (int)kInfBits; }

// The chip's special function unit has no subnormals: they count, and come out, as zero of their sign (DK-ACC).
ASC_INLINE VecF flush_subnormal(VecF value) {
    const VecU bits = as_bits(value);
    return as_float(pick((VecS)magnitude(bits) < 0x00800000, bits & kSignBit, bits));
}

// Round to nearest even into a format with kMantissa bits and exponent bias kBias, without sign; the ladder of codes is
// continued above the format's largest one, as formats/rounding.h does. Normal results: carry into the kept bits.
// Subnormal results: adding 2^(23 - kMantissa + 1 - kBias) leaves the code in the low bits, rounded by the host's adder.
template <int kMantissa, int kBias>
ASC_INLINE VecU magnitude_codes(VecU value) {
    constexpr int kCut = 23 - kMantissa;
    constexpr uint32_t kAdded = (1u << (kCut - 1)) - 1 - (uint32_t(127 - kBias) << 23);
    const VecU normal = (value + kAdded + (value >> kCut & 1)) >> kCut;
    constexpr uint32_t kMagic = uint32_t(127 + kCut + 1 - kBias) << 23;
    const VecU subnormal = as_bits(as_float(value) + __builtin_bit_cast(float, kMagic)) - kMagic;
    return pick((VecS)value < (int)(uint32_t(128 - kBias) << 23), subnormal, normal);
}

template <int kBits>
ASC_INLINE VecU sign_codes(VecU bits) {
    return bits >> (32 - kBits) & (1u << (kBits - 1));
}
// Overflow (and inf) gives `over`, NaN gives `nan`, both with the sign.
template <int kBits>
ASC_INLINE VecU finish_codes(VecU bits, VecU code, uint32_t largest, uint32_t over, uint32_t nan) {
    const VecS overflows = ((VecS)code > (int)largest) | ((VecS)magnitude(bits) >= (int)kInfBits);
    const VecU result = pick(overflows, splat(over), code);
    return pick(is_nan(bits), splat(nan), result) | sign_codes<kBits>(bits);
}
// With saturation: whatever is larger is the largest before it is rounded; NaN gives +0.
template <int kBits, typename F>
ASC_INLINE VecU saturated_codes(VecU bits, float largest, F codes) {
    const VecU bounded = (VecU)host::extreme<false>((VecS)magnitude(bits), splat(__builtin_bit_cast(int32_t, largest)));
    return pick(is_nan(bits), splat(0u), codes(bounded) | sign_codes<kBits>(bits));
}

// Decode (code in the low bits of each lane) and encode with round to nearest even.
template <typename T>
struct FloatCodes;

template <>
struct FloatCodes<bfloat16_t> {
    static ASC_INLINE VecF decode(VecU code) { return as_float(code << 16); }  // whatever is above the code
    static ASC_INLINE VecU encode(VecF value) {  // without saturation
        const VecU bits = as_bits(value);
        const VecU rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
        return pick(is_nan(bits), (bits >> 16 & 0x8000u) | uint32_t(kBf16NaN), rounded);
    }
    static ASC_INLINE VecU encode_saturating(VecF value) {
        return saturated_codes<16>(as_bits(value), 0x1.fep127f, [](VecU size) __attribute__((always_inline)) {
            return (size + 0x7fffu + (size >> 16 & 1)) >> 16;
        });
    }
};

template <>
struct FloatCodes<half> {
    static ASC_INLINE VecF decode(VecU code) {
        const VecU sign = (code & 0x8000u) << 16;
        const VecU value = (code & 0x7fffu) << 13;
        const VecU finite = as_bits(as_float(value) * __builtin_bit_cast(float, (112u + 127u) << 23));
        const VecU quiet = (VecU)((VecS)value > (0x7c00 << 13)) & 0x400000u;
        return as_float(sign | pick((VecS)value >= (0x7c00 << 13), value | kInfBits | quiet, finite));
    }
    static ASC_INLINE VecU encode(VecF value) {
        const VecU bits = as_bits(value);
        return finish_codes<16>(bits, magnitude_codes<10, 15>(magnitude(bits)), kF16Max, kF16Inf, kF16NaN);
    }
    static ASC_INLINE VecU encode_saturating(VecF value) {
        return saturated_codes<16>(as_bits(value), 65504.0f, magnitude_codes<10, 15>);
    }
};

template <>
struct FloatCodes<float8_e4m3_t> {
    static ASC_INLINE VecF decode(VecU code) {
        const VecU sign = (code & 0x80u) << 24;
        const VecU value = (code & 0x7fu) << 20;
        const VecU finite = as_bits(as_float(value) * __builtin_bit_cast(float, (120u + 127u) << 23));
        return as_float(sign | pick((VecS)value == (0x7f << 20), splat(0x7fc00000u), finite));
    }
    static ASC_INLINE VecU encode(VecF value) {
        const VecU bits = as_bits(value);
        return finish_codes<8>(bits, magnitude_codes<3, 7>(magnitude(bits)), kE4m3Max, kE4m3NaN, kE4m3NaN);
    }
    static ASC_INLINE VecU encode_saturating(VecF value) {
        return saturated_codes<8>(as_bits(value), 448.0f, magnitude_codes<3, 7>);
    }
};

template <>
struct FloatCodes<float8_e5m2_t> {
    static ASC_INLINE VecF decode(VecU code) {
        const VecU sign = (code & 0x80u) << 24;
        const VecU value = (code & 0x7fu) << 21;
        const VecU finite = as_bits(as_float(value) * __builtin_bit_cast(float, (112u + 127u) << 23));
        const VecU special = pick((VecS)value == (0x7c << 21), splat(kInfBits), splat(0x7fc00000u));
        return as_float(sign | pick((VecS)value >= (0x7c << 21), special, finite));
    }
    static ASC_INLINE VecU encode(VecF value) {
        const VecU bits = as_bits(value);
        return finish_codes<8>(bits, magnitude_codes<2, 15>(magnitude(bits)), kE5m2Max, kE5m2Inf, kE5m2NaN);
    }
    static ASC_INLINE VecU encode_saturating(VecF value) {
        return saturated_codes<8>(as_bits(value), 57344.0f, magnitude_codes<2, 15>);
    }
};

template <typename T>
ASC_INLINE VecF widen(VecU codes) {
    return FloatCodes<T>::decode(codes);
}
template <typename T>
ASC_INLINE VecU narrow(VecF values) {
    return FloatCodes<T>::encode(values);
}

// exp and ln in double, rounded once: the same bits on every host, off the nearest float only where the exact value lies
// within 1e-13 of a tie. No fused operations, and sums in one order.
using VecD = Vec<double>;
using VecF2 = Vec<float, kVecBytes / 2>;

template <typename F>
ASC_INLINE VecF in_double(VecF value, F f) {
    VecF2 low, high;
    std::memcpy(&low, &value, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&value) + sizeof low, sizeof high);
    low = __builtin_convertvector(f(__builtin_convertvector(low, VecD)), VecF2);
    high = __builtin_convertvector(f(__builtin_convertvector(high, VecD)), VecF2);
    std::memcpy(&value, &low, sizeof low);
    std::memcpy(reinterpret_cast<char*>(&value) + sizeof low, &high, sizeof high);
    return value;
}

// e^x for x in [-160, 130]: x = n ln 2 + r, |r| <= 0.35, and r^13/13! < 2e-16.
ASC_INLINE VecD exp_of(VecD x) {
    constexpr double kRound =
        0x1.8p52;  // adding and subtracting it rounds to an integer; the sum's low bits are n
    const VecD shifted = x * 0x1.71547652b82fep0 + kRound;
    const VecD n = shifted - kRound;
    const VecD r = (x - n * 0x1.62e42fefap-1) -
                   n * 0x1.cf79abc9e3b39p-38;  // ln 2: 37 bits (n times it is exact), and the rest
    VecD sum = r * (1.0 / 479001600.0) + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    return (VecD)((Vec<int64_t>)sum + ((Vec<int64_t>)shifted << 52));
}

ASC_INLINE VecF exp_f32(VecF x) {
    const VecF value = flush_subnormal(x);
    VecF bounded = pick(value > -160.0f, value, splat(-160.0f));
    bounded = pick(value < 130.0f, bounded, splat(130.0f));
    const VecF result =
        flush_subnormal(in_double(bounded, [](VecD d) __attribute__((always_inline)) { return exp_of(d); }));
    return pick(is_nan(as_bits(x)), as_float(as_bits(x) | 0x400000u), result);
}

// ln of a positive finite normal x = 2^e m, m in [0.7, 1.42): ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172.
ASC_INLINE VecD ln_of(VecD x) {
    const Vec<int64_t> bits = (Vec<int64_t>)x;
    const Vec<int64_t> e = (bits - 0x3fe6a09e667f3bcd) >> 52;  // 0x3fe6a09e667f3bcd: sqrt(1/2)
    const VecD m = (VecD)(bits - (e << 52));
    const VecD exponent = __builtin_convertvector(e, VecD);
    const VecD s = (m - 1.0) / (m + 1.0), z = s * s;
    VecD sum = z * (2.0 / 19.0) + 2.0 / 17.0;
    sum = sum * z + 2.0 / 15.0;
    sum = sum * z + 2.0 / 13.0;
    sum = sum * z + 2.0 / 11.0;
    sum = sum * z + 2.0 / 9.0;
    sum = sum * z + 2.0 / 7.0;
    sum = sum * z + 2.0 / 5.0;
    sum = sum * z + 2.0 / 3.0;
    return exponent * 0x1.62e42fefa39efp-1 + (s * 2.0 + s * (z * sum));
}

ASC_INLINE VecF ln_f32(VecF x) {
    const VecF value = flush_subnormal(x);
    const VecU bits = as_bits(value);
    VecF result = in_double(value, [](VecD d) __attribute__((always_inline)) { return ln_of(d); });
    result = pick((VecS)bits == (int)kInfBits, value, result);
    result = pick(value < 0.0f, as_float(splat(0x7fc00000u)), result);
    result = pick(value == 0.0f, as_float(splat(kSignBit | kInfBits)), result);
    return pick(is_nan(as_bits(x)), as_float(as_bits(x) | 0x400000u), result);
}

ASC_INLINE VecF sqrt_f32(VecF x) { return host::sqrt(flush_subnormal(x)); }
ASC_INLINE VecF div_f32(VecF a, VecF b) { return flush_subnormal(flush_subnormal(a) / flush_subnormal(b)); }

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa
