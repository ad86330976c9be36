// SPDX-License-Identifier: MIT
// Which vector primitives does the compiler translate well by itself? On levels that have no better way, these.
#pragma once

namespace ascend::host {
inline namespace ASCEND_SIM_VEC {

// Each element with zeros above it, and each without its upper bytes.
template <typename Wide, typename Narrow>
__attribute__((always_inline)) inline Vec<Wide> zero_extended(Narrow part) {
    return __builtin_convertvector(part, Vec<Wide>);
}
template <typename Narrow, typename Wide>
__attribute__((always_inline)) inline Narrow truncated(Wide wide) {
    return __builtin_convertvector(wide, Narrow);
}

// The larger or smaller of two signed integers.
template <bool kMax, typename V>
__attribute__((always_inline)) inline V extreme(V a, V b) {
    if constexpr (kMax) return a > b ? a : b;
    else return a < b ? a : b;
}

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::host
