// SPDX-License-Identifier: MIT
// Vector primitives on AVX-512 (F, BW, VL, DQ): 64-byte chunks.
#pragma once

#include "host/avx512/intrinsics.h"

namespace ascend::host {
inline namespace level_avx512 {

constexpr int kVecBytes = 64;
template <typename T, int kBytes>
struct VecOf {
    typedef T type __attribute__((vector_size(kBytes)));
};
template <typename T, int kBytes = kVecBytes>
using Vec = typename VecOf<T, kBytes>::type;
using VecF = Vec<float>;

__attribute__((always_inline)) inline VecF fma(VecF a, VecF b, VecF c) { return (VecF)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
__attribute__((always_inline)) inline VecF sqrt(VecF a) { return (VecF)_mm512_sqrt_ps((__m512)a); }
__attribute__((always_inline)) inline VecF round_even(VecF a) {
    return (VecF)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
__attribute__((always_inline)) inline VecF floor(VecF a) {
    return (VecF)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
__attribute__((always_inline)) inline VecF ceil(VecF a) {
    return (VecF)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
__attribute__((always_inline)) inline VecF trunc(VecF a) {
    return (VecF)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

// Each element with zeros above it, and each without its upper bytes: GCC 12 takes apart and rejoins halves.
template <typename Wide, typename Narrow>
__attribute__((always_inline)) inline Vec<Wide> zero_extended(Narrow part) {
    constexpr int kBytes = static_cast<int>(sizeof(part[0]));
    if constexpr (sizeof(Wide) == 2) return (Vec<Wide>)_mm512_cvtepu8_epi16((__m256i)part);
    else if constexpr (sizeof(Wide) == 4 && kBytes == 2) return (Vec<Wide>)_mm512_cvtepu16_epi32((__m256i)part);
    else if constexpr (sizeof(Wide) == 4) return (Vec<Wide>)_mm512_cvtepu8_epi32((__m128i)part);
    else return (Vec<Wide>)_mm512_cvtepu32_epi64((__m256i)part);
}
template <typename Narrow, typename Wide>
__attribute__((always_inline)) inline Narrow truncated(Wide wide) {
    constexpr int kBytes = static_cast<int>(sizeof(wide[0]));
    if constexpr (kBytes == 2) return (Narrow)_mm512_cvtepi16_epi8((__m512i)wide);
    else if constexpr (kBytes == 4 && sizeof(Narrow) == 32) return (Narrow)_mm512_cvtepi32_epi16((__m512i)wide);
    else if constexpr (kBytes == 4) return (Narrow)_mm512_cvtepi32_epi8((__m512i)wide);
    else return (Narrow)_mm512_cvtepi64_epi32((__m512i)wide);
}

// The larger or smaller of two signed integers: GCC 12 compares and blends.
template <bool kMax, typename V>
__attribute__((always_inline)) inline V extreme(V a, V b) {
    const __m512i x = (__m512i)a, y = (__m512i)b;
    if constexpr (sizeof(a[0]) == 1) return (V)(kMax ? _mm512_max_epi8(x, y) : _mm512_min_epi8(x, y));
    else if constexpr (sizeof(a[0]) == 2) return (V)(kMax ? _mm512_max_epi16(x, y) : _mm512_min_epi16(x, y));
    else if constexpr (sizeof(a[0]) == 4) return (V)(kMax ? _mm512_max_epi32(x, y) : _mm512_min_epi32(x, y));
    else return (V)(kMax ? _mm512_max_epi64(x, y) : _mm512_min_epi64(x, y));
}

// Lanes of the sequence a, b, chosen by the low bits of `at`: clang has no generic shuffle by variables.
template <typename V>
__attribute__((always_inline)) inline V lanes_of_two(V a, V b, V at) {
    const __m512i x = (__m512i)a, y = (__m512i)b, index = (__m512i)at;
    if constexpr (sizeof(a[0]) == 2) return (V)_mm512_permutex2var_epi16(x, index, y);
    else if constexpr (sizeof(a[0]) == 4) return (V)_mm512_permutex2var_epi32(x, index, y);
    else if constexpr (sizeof(a[0]) == 8) return (V)_mm512_permutex2var_epi64(x, index, y);
#if defined(__AVX512VBMI__)
    else return (V)_mm512_permutex2var_epi8(x, index, y);
#else
    V chosen = {};
    for (int i = 0; i < kVecBytes; ++i) chosen[i] = at[i] & kVecBytes ? b[at[i] & (kVecBytes - 1)] : a[at[i] & (kVecBytes - 1)];
    return chosen;
#endif
}

// Of a mask that the compiler knows, it knows this too: what the other case needs is then not compiled.
__attribute__((always_inline)) inline bool all_ones(Vec<uint8_t> mask) {
    const auto w = (Vec<uint64_t>)mask;
    const uint64_t every = w[0] & w[1] & w[2] & w[3] & w[4] & w[5] & w[6] & w[7];
    return __builtin_constant_p(every) ? every == ~uint64_t{0} : _mm512_movepi8_mask((__m512i)mask) == ~uint64_t{0};
}

// Stores the bytes whose mask byte is 0xff; touches no others, so that a masked store may end at the end of UB.
__attribute__((always_inline)) inline void masked_store(uint8_t* to, Vec<uint8_t> value, Vec<uint8_t> mask) {
    if (all_ones(mask)) {  // a plain store can forward to a later load, a masked one cannot
        std::memcpy(to, &value, kVecBytes);
    } else {
        _mm512_mask_storeu_epi8(to, _mm512_movepi8_mask((__m512i)mask), (__m512i)value);
    }
}

}  // namespace level_avx512
}  // namespace ascend::host
