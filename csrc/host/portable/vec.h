// SPDX-License-Identifier: MIT
// Vector primitives on any host: 16-byte chunks (SSE2, NEON), lane loops where generic vectors have no operation.
#pragma once

namespace ascend::host {
inline namespace level_portable {

constexpr int kVecBytes = 16;
template <typename T, int kBytes>
struct VecOf {
    typedef T type __attribute__((vector_size(kBytes)));
};
template <typename T, int kBytes = kVecBytes>
using Vec = typename VecOf<T, kBytes>::type;
using VecF = Vec<float>;

#define ASCEND_SIM_LANES(result, expression) \
    VecF result;                             \
    for (int i = 0; i < kVecBytes / 4; ++i)  \
        result[i] = expression;              \
    return result

__attribute__((always_inline)) inline VecF fma(VecF a, VecF b, VecF c) { ASCEND_SIM_LANES(r, __builtin_fmaf(a[i], b[i], c[i])); }
__attribute__((always_inline)) inline VecF sqrt(VecF a) { ASCEND_SIM_LANES(r, __builtin_sqrtf(a[i])); }
__attribute__((always_inline)) inline VecF round_even(VecF a) { ASCEND_SIM_LANES(r, __builtin_nearbyintf(a[i])); }
__attribute__((always_inline)) inline VecF floor(VecF a) { ASCEND_SIM_LANES(r, __builtin_floorf(a[i])); }
__attribute__((always_inline)) inline VecF ceil(VecF a) { ASCEND_SIM_LANES(r, __builtin_ceilf(a[i])); }
__attribute__((always_inline)) inline VecF trunc(VecF a) { ASCEND_SIM_LANES(r, __builtin_truncf(a[i])); }
#undef ASCEND_SIM_LANES

__attribute__((always_inline)) inline bool all_ones(Vec<uint8_t> mask) {
    uint64_t words[kVecBytes / 8];
    std::memcpy(words, &mask, kVecBytes);
    return (words[0] & words[1]) == ~uint64_t{0};
}

// Stores the bytes whose mask byte is 0xff; touches no others, so that a masked store may end at the end of UB.
__attribute__((always_inline)) inline void masked_store(uint8_t* to, Vec<uint8_t> value, Vec<uint8_t> mask) {
    if (all_ones(mask)) {
        std::memcpy(to, &value, kVecBytes);
        return;
    }
    for (int i = 0; i < kVecBytes; ++i) {
        if (mask[i]) to[i] = value[i];
    }
}

}  // namespace level_portable
}  // namespace ascend::host
