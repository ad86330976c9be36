// SPDX-License-Identifier: MIT
// vcvt: lane conversion between element types, with rounding, saturation, part and mode controls in any order.
//
// Note "Parts". Lanes of the wider type and of the narrower one share a register: wide lane i and the narrow lanes
// i * ratio + part, part = 0 .. ratio - 1. Narrowing writes the chosen part of each wide lane and zeroes the others;
// widening reads it. So neither moves data across lanes. The predicate is read at the wide lane (note "Predicate").
// Two fp4 elements share a byte and convert with two bf16: ratio 4 over 32-bit words, the even element in the low nibble.
#pragma once

#include <utility>

#include "formats/fp4.h"
#include "isa/simd_float.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

// The value of a control among the arguments, or `otherwise`.
template <typename Family, int otherwise, typename... Controls>
constexpr int control() {
    int value = otherwise;
    ((std::is_same_v<typename Controls::family, Family> ? (value = Controls::value, 0) : 0), ...);
    return value;
}

template <typename T>
constexpr bool kIsFp4 = std::is_same_v<T, float4_e2m1x2_t> || std::is_same_v<T, float4_e1m2x2_t>;

// Integer of up to 64 bits (I: int64_t or uint64_t) to binary32, with any rounding.
template <typename I>
static inline float int_to_f32(I value, Rounding rounding) {
    if (rounding == Rounding::nearest_even) return static_cast<float>(value);
    const bool negative = std::is_signed_v<I> && value < 0;
    const uint64_t size =
        negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (size < (1u << 24)) return static_cast<float>(value);
    int shift = 40 - __builtin_clzll(size);  // 24 bits stay
    const uint64_t rest = size & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
    uint64_t kept = size >> shift;
    const uint32_t rest_class = rest == 0 ? 0 : rest < half ? 1 : rest == half ? 2 : 3;
    kept += rounds_up(static_cast<uint32_t>(kept), rest_class, 2, negative, rounding) ? 1 : 0;
    const double magnitude = static_cast<double>(kept) * static_cast<double>(uint64_t{1} << shift);
    return static_cast<float>(negative ? -magnitude : magnitude);
}

static inline double round_to_integer(double value, Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest_away: return __builtin_round(value);
        case Rounding::floor: return __builtin_floor(value);
        case Rounding::ceil: return __builtin_ceil(value);
        case Rounding::trunc: return __builtin_trunc(value);
        default: return __builtin_nearbyint(value);
    }
}

template <typename D>
static inline D f32_to_int(float value, Rounding rounding, bool saturate) {
    if (value != value) return 0;
    const double rounded = round_to_integer(value, rounding);
    constexpr int kValueBits = sizeof(D) * 8 - (std::is_signed_v<D> ? 1 : 0);
    constexpr double kEnd = 2.0 * static_cast<double>(uint64_t{1} << (kValueBits - 1));
    constexpr double kLow = std::is_signed_v<D> ? -kEnd : 0.0;
    if (saturate) {
        if (rounded < kLow)
            return std::is_signed_v<D> ? static_cast<D>(uint64_t{1} << (sizeof(D) * 8 - 1)) : D{0};
        if (rounded >= kEnd)
            return static_cast<D>(~uint64_t{0} >> (64 - sizeof(D) * 8 + (std::is_signed_v<D> ? 1 : 0)));
    }
    const double rest = __builtin_fmod(rounded, 0x1p64);  // exact; of inf NaN
    if (rest != rest) return 0;
    return static_cast<D>(rest < 0 ? uint64_t{0} - static_cast<uint64_t>(-rest) : static_cast<uint64_t>(rest));
}

template <typename D, typename S>
static inline D int_to_int(S value, bool saturate) {
    constexpr D kHigh = static_cast<D>(~uint64_t{0} >> (64 - sizeof(D) * 8 + (std::is_signed_v<D> ? 1 : 0)));
    constexpr D kLow = static_cast<D>(std::is_signed_v<D> ? ~static_cast<uint64_t>(kHigh) : 0);
    if (saturate && std::cmp_less(value, kLow)) return kLow;
    if (saturate && std::cmp_greater(value, kHigh)) return kHigh;
    return static_cast<D>(value);
}

// One element, bits in, bits out.
template <typename D, typename S, int kRound, bool kSaturate>
static inline bits_t<D> convert_bits(bits_t<S> bits) {
    constexpr Rounding rounding = static_cast<Rounding>(kRound);
    constexpr Saturation saturation = kSaturate ? Saturation::on : Saturation::off;
    if constexpr (std::is_integral_v<S>) {
        const std::conditional_t<std::is_same_v<S, uint64_t>, uint64_t, int64_t> value = static_cast<S>(bits);
        if constexpr (std::is_integral_v<D>) return static_cast<bits_t<D>>(int_to_int<D>(static_cast<S>(bits), kSaturate));
        else if constexpr (std::is_same_v<D, float>) return f32_bits(int_to_f32(value, rounding));
        else if constexpr (std::is_same_v<D, half>)
            return f32_to_f16(int_to_f32(value, Rounding::odd), rounding, saturation);
        else return f32_to_bf16(int_to_f32(value, Rounding::odd), rounding, saturation);
    } else {
        float value;
        if constexpr (std::is_same_v<S, float>) value = f32_from_bits(bits);
        else value = static_cast<float>(__builtin_bit_cast(S, bits));
        if constexpr (std::is_integral_v<D>)
            return static_cast<bits_t<D>>(f32_to_int<D>(value, rounding, kSaturate));
        else if constexpr (std::is_same_v<D, float>) return f32_bits(value);
        else if constexpr (std::is_same_v<D, half>) return f32_to_f16(value, rounding, saturation);
        else if constexpr (std::is_same_v<D, bfloat16_t>) return f32_to_bf16(value, rounding, saturation);
        else if constexpr (std::is_same_v<D, float8_e4m3_t>) return f32_to_e4m3(value, saturation);
        else if constexpr (std::is_same_v<D, float8_e5m2_t>) return f32_to_e5m2(value, saturation);
        else return f32_to_e8m0(value, rounding);
    }
}

template <typename T>
constexpr bool kHasFloatCodes =
    kIsFloat16<T> || std::is_same_v<T, float8_e4m3_t> || std::is_same_v<T, float8_e5m2_t>;

// A chunk of wide lanes W, codes in the low bits of each lane: the common conversions on all lanes at once.
template <typename D, typename S, int kRound, bool kSaturate, typename W>
ASC_INLINE Vec<W> convert_chunk(Vec<W> in) {
    constexpr bool kNearest = kRound == decltype(ROUND_R)::value;
    if constexpr (std::is_same_v<D, float> && kHasFloatCodes<S>) {
        return as_bits(FloatCodes<S>::decode(in));
    } else if constexpr (std::is_same_v<S, float> && kHasFloatCodes<D> && (kNearest || sizeof(D) == 1)) {
        if constexpr (kSaturate) return FloatCodes<D>::encode_saturating(as_float(in));
        else return FloatCodes<D>::encode(as_float(in));
    } else if constexpr (std::is_same_v<D, float> && std::is_same_v<S, int32_t> && kNearest) {
        return as_bits(__builtin_convertvector((VecS)in, VecF));
    } else if constexpr (std::is_same_v<S, float> && std::is_same_v<D, int32_t> && kSaturate &&
                         kRound <= decltype(ROUND_Z)::value && kRound != decltype(ROUND_A)::value) {
        const VecF value = as_float(in);
        VecF rounded;
        if constexpr (kNearest) rounded = host::round_even(value);
        else if constexpr (kRound == decltype(ROUND_F)::value) rounded = host::floor(value);
        else if constexpr (kRound == decltype(ROUND_C)::value) rounded = host::ceil(value);
        else rounded = host::trunc(value);
        const VecS fits = (rounded >= -0x1p31f) & (rounded < 0x1p31f);
        const VecU exact = (VecU)__builtin_convertvector(pick(fits, rounded, VecF{}), VecS);
        const VecU limit =
            pick(value != value, splat(0u), pick(value > 0.0f, splat(0x7fffffffu), splat(0x80000000u)));
        return pick(fits, exact, limit);
    } else if constexpr (std::is_integral_v<S> && std::is_integral_v<D> && sizeof(S) < sizeof(D) &&
                         !(kSaturate && std::is_signed_v<S> && !std::is_signed_v<D>)) {
        constexpr int kUp = (sizeof(W) - sizeof(S)) * 8;
        if constexpr (std::is_signed_v<S>) return (Vec<W>)((Vec<std::make_signed_t<W>>)(in << kUp) >> kUp);
        else return in;
    } else {
        W lanes[kChunkLanes<W>];
        std::memcpy(lanes, &in, kVecBytes);
        for (W& lane : lanes)
            lane = static_cast<W>(convert_bits<D, S, kRound, kSaturate>(static_cast<bits_t<S>>(lane)));
        std::memcpy(&in, lanes, kVecBytes);
        return in;
    }
}

template <typename D, int kRound>
ASC_INLINE VecU fp4_from_bf16(VecU pairs) {
    uint32_t lanes[kChunkLanes<uint32_t>];
    std::memcpy(lanes, &pairs, kVecBytes);
    constexpr int kMantissa = std::is_same_v<D, float4_e2m1x2_t> ? 1 : 2;
    for (uint32_t& lane : lanes) {
        const uint32_t even =
            f32_to_fp4<kMantissa>(bf16_to_f32(static_cast<uint16_t>(lane)), static_cast<Rounding>(kRound));
        const uint32_t odd = f32_to_fp4<kMantissa>(bf16_to_f32(static_cast<uint16_t>(lane >> 16)),
                                                   static_cast<Rounding>(kRound));
        lane = even | odd << 4;
    }
    std::memcpy(&pairs, lanes, kVecBytes);
    return pairs;
}

// Nibble s e e m (e2m1) or s e m m (e1m2): the magnitude as binary32 bits times a power of two, subnormals included.
template <typename S>
ASC_INLINE VecU bf16_from_fp4(VecU code) {
    constexpr int kMantissa = std::is_same_v<S, float4_e2m1x2_t> ? 1 : 2;
    const VecU value = (code & 7u) << (23 - kMantissa);
    const VecF scaled = as_float(value) * __builtin_bit_cast(float, (126u + 127u) << 23);  // bias 1
    return as_bits(scaled) >> 16 | (code & 8u) << 12;
}

template <typename D, typename S>
constexpr uint32_t kCastSlots = [] {
    constexpr bool kToFp8 = std::is_same_v<S, float> && sizeof(D) == 1;
    constexpr bool kInt32 = (std::is_same_v<S, float> && std::is_same_v<D, int32_t>) ||
                            (std::is_same_v<S, int32_t> && std::is_same_v<D, float>);
    return sizeof(D) == 8 || sizeof(S) == 8 ? 4u : kToFp8 || kInt32 ? 2u : 1u;
}();

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

template <typename D, typename S, typename... Controls>
ASC_INLINE void vcvt(ascend::isa::Register<D>& dst, const ascend::isa::Register<S>& source,
                     const vector_bool& mask, Controls...) {
    using namespace ascend::isa;
    [[maybe_unused]] constexpr int kRound = control<RoundControl, 0, Controls...>();
    [[maybe_unused]] constexpr bool kSaturate = control<SaturateControl, 0, Controls...>();
    [[maybe_unused]] constexpr int kPart = control<PartControl, 0, Controls...>();
    constexpr bool kMerge = control<ModeControl, 0, Controls...>();
    vf_count(VfClass::cast, kCastSlots<D, S>);
    using W = std::conditional_t<kIsFp4<D> || kIsFp4<S>, uint32_t,
                                 typename UnsignedOf<(sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S))>::type>;
    static_assert(!kIsFp4<D> || std::is_same_v<S, bfloat16_t>, "fp4 is cast from bf16 only");
    static_assert(!kIsFp4<S> || std::is_same_v<D, bfloat16_t>, "fp4 is cast to bf16 only");
    static_assert(kPart < static_cast<int>(sizeof(W) / (sizeof(D) < sizeof(S) ? sizeof(D) : sizeof(S))),
                  "no such part");
    each_chunk([&](auto i) __attribute__((always_inline)) {
        const Vec<W> in = (Vec<W>)source.v[i], on = active<W>(mask, i);
        Vec<W> out, written = on;
        if constexpr (kIsFp4<D>) {
            const VecU lanes_on = (VecU)active<S>(mask, i);  // each of the two elements has its own lane
            out = fp4_from_bf16<D, kRound>(in) << (8 * kPart);
            written = ((lanes_on & 0xfu) | (lanes_on >> 16 & 0xfu) << 4) << (8 * kPart);
        } else if constexpr (kIsFp4<S>) {
            const VecU pair = in >> (8 * kPart) & 0xffu;
            out = bf16_from_fp4<S>(pair & 0xfu) | bf16_from_fp4<S>(pair >> 4) << 16;
            written = (VecU)active<D>(mask, i);
        } else if constexpr (sizeof(D) < sizeof(S)) {
            constexpr W kLow = static_cast<bits_t<D>>(~bits_t<D>{0});
            out = convert_chunk<D, S, kRound, kSaturate, W>(in) << (8 * int(sizeof(D)) * kPart);
            constexpr W kPlace = static_cast<W>(kLow << (8 * int(sizeof(D)) * kPart));
            written = on & kPlace;
        } else if constexpr (sizeof(D) > sizeof(S)) {
            constexpr W kLow = static_cast<bits_t<S>>(~bits_t<S>{0});
            const Vec<W> code = in >> (8 * int(sizeof(S)) * kPart);
            if constexpr (std::is_same_v<S, bfloat16_t>) out = convert_chunk<D, S, kRound, kSaturate, W>(code);
            else out = convert_chunk<D, S, kRound, kSaturate, W>(code & kLow);
        } else {
            out = convert_chunk<D, S, kRound, kSaturate, W>(in);
        }
        out &= written;
        if constexpr (kMerge) out |= (Vec<W>)dst.v[i] & ~written;
        dst.v[i] = (Vec<lane_t<D>>)out;
    });
}

}  // namespace ASCEND_SIM_VEC
