// SPDX-License-Identifier: MIT
// Vector primitives on AVX2 + FMA: 32-byte chunks.
#pragma once

#include <immintrin.h>

namespace ascend::host {
inline namespace level_avx2 {

constexpr int kVecBytes = 32;
template <typename T, int kBytes>
struct VecOf {
    typedef T type __attribute__((vector_size(kBytes)));
};
template <typename T, int kBytes = kVecBytes>
using Vec = typename VecOf<T, kBytes>::type;
using VecF = Vec<float>;

__attribute__((always_inline)) inline VecF fma(VecF a, VecF b, VecF c) { return (VecF)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
__attribute__((always_inline)) inline VecF sqrt(VecF a) { return (VecF)_mm256_sqrt_ps((__m256)a); }
__attribute__((always_inline)) inline VecF round_even(VecF a) {
    return (VecF)_mm256_round_ps((__m256)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
__attribute__((always_inline)) inline VecF floor(VecF a) {
    return (VecF)_mm256_round_ps((__m256)a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
__attribute__((always_inline)) inline VecF ceil(VecF a) {
    return (VecF)_mm256_round_ps((__m256)a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
__attribute__((always_inline)) inline VecF trunc(VecF a) { return (VecF)_mm256_round_ps((__m256)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }

// Of a mask that the compiler knows, it knows this too: what the other case needs is then not compiled.
__attribute__((always_inline)) inline bool all_ones(Vec<uint8_t> mask) {
    const auto w = (Vec<uint64_t>)mask;
    const uint64_t every = w[0] & w[1] & w[2] & w[3];
    return __builtin_constant_p(every) ? every == ~uint64_t{0} : _mm256_movemask_epi8((__m256i)mask) == -1;
}

// Stores the bytes whose mask byte is 0xff; touches no others, so that a masked store may end at the end of UB.
__attribute__((always_inline)) inline void masked_store(uint8_t* to, Vec<uint8_t> value, Vec<uint8_t> mask) {
    if (all_ones(mask)) {
        std::memcpy(to, &value, kVecBytes);
    } else {
        for (auto rest = static_cast<uint32_t>(_mm256_movemask_epi8((__m256i)mask)); rest; rest &= rest - 1) {
            const int i = __builtin_ctz(rest);
            to[i] = value[i];
        }
    }
}

}  // namespace level_avx2
}  // namespace ascend::host
