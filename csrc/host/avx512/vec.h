// SPDX-License-Identifier: MIT
// Vector primitives on AVX-512 (F, BW, VL, DQ): 64-byte chunks.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12's own "undefined" vectors, PR 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

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

__attribute__((always_inline)) inline bool all_ones(Vec<uint8_t> mask) { return _mm512_movepi8_mask((__m512i)mask) == ~uint64_t{0}; }

// Stores the bytes whose mask byte is 0xff; touches no others, so that a masked store may end at the end of UB.
__attribute__((always_inline)) inline void masked_store(uint8_t* to, Vec<uint8_t> value, Vec<uint8_t> mask) {
    const __mmask64 bits = _mm512_movepi8_mask((__m512i)mask);
    if (bits == ~uint64_t{0}) {  // a plain store can forward to a later load, a masked one cannot
        std::memcpy(to, &value, kVecBytes);
    } else {
        _mm512_mask_storeu_epi8(to, bits, (__m512i)value);
    }
}

}  // namespace level_avx512
}  // namespace ascend::host
