// SPDX-License-Identifier: MIT
// The raw forms with a mode argument (::vadds and so on): the asc_ instruction, but masked-off lanes keep their old value
// under MODE_MERGING. One instruction on the chip, so the blend costs nothing.
#pragma once

#include "isa/simd_arithmetic.h"
#include "isa/simd_convert.h"
#include "isa/simd_mask.h"
#include "isa/simd_reduce.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

template <typename T, typename Mode>
ASC_INLINE void write_back(Register<T>& dst, const Register<T>& result, const Predicate& mask, Mode) {
    if constexpr (Mode::value == decltype(MODE_MERGING)::value) {
        each_chunk([&](auto i) __attribute__((always_inline)) {
            dst.v[i] = blend(active<T>(mask, i), result.v[i], dst.v[i]);
        });
    } else {
        dst = result;
    }
}

template <typename Mode>
concept ModeTag = std::is_same_v<typename Mode::family, ModeControl>;

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

#define ASC_RAW_BINARY(name, instruction)                                                       \
    template <typename T, typename B, ascend::isa::ModeTag Mode>                                \
    ASC_INLINE void name(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, B b, \
                         const vector_bool& mask, Mode mode) {                                  \
        ascend::isa::Register<T> result;                                                        \
        instruction(result, a, b, mask);                                                        \
        ascend::isa::write_back(dst, result, mask, mode);                                       \
    }
ASC_RAW_BINARY(vadd, asc_add)
ASC_RAW_BINARY(vsub, asc_sub)
ASC_RAW_BINARY(vmul, asc_mul)
ASC_RAW_BINARY(vdiv, asc_div)
ASC_RAW_BINARY(vmax, asc_max)
ASC_RAW_BINARY(vmin, asc_min)
ASC_RAW_BINARY(vand, asc_and)
ASC_RAW_BINARY(vor, asc_or)
ASC_RAW_BINARY(vxor, asc_xor)
ASC_RAW_BINARY(vshl, asc_shiftleft)
ASC_RAW_BINARY(vshr, asc_shiftright)
ASC_RAW_BINARY(vabsdif, asc_abs_sub)
ASC_RAW_BINARY(vadds, asc_add_scalar)
ASC_RAW_BINARY(vmuls, asc_mul_scalar)
ASC_RAW_BINARY(vmaxs, asc_max_scalar)
ASC_RAW_BINARY(vmins, asc_min_scalar)
ASC_RAW_BINARY(vshls, asc_shiftleft_scalar)
ASC_RAW_BINARY(vshrs, asc_shiftright_scalar)
#undef ASC_RAW_BINARY

#define ASC_RAW_UNARY(name, instruction)                                                   \
    template <typename T, ascend::isa::ModeTag Mode>                                       \
    ASC_INLINE void name(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, \
                         const vector_bool& mask, Mode mode) {                             \
        ascend::isa::Register<T> result;                                                   \
        instruction(result, a, mask);                                                      \
        ascend::isa::write_back(dst, result, mask, mode);                                  \
    }
ASC_RAW_UNARY(vln, asc_ln)
ASC_RAW_UNARY(vsqrt, asc_sqrt)
ASC_RAW_UNARY(vabs, asc_abs)
ASC_RAW_UNARY(vneg, asc_neg)
ASC_RAW_UNARY(vrelu, asc_relu)
ASC_RAW_UNARY(vnot, asc_not)
ASC_RAW_UNARY(vexp, asc_exp)
#undef ASC_RAW_UNARY

// Broadcast of a scalar, and of lane 0 or the last lane.
template <typename T, typename U, ascend::isa::ModeTag Mode>
    requires(!requires { typename U::element; })
ASC_INLINE void vdup(ascend::isa::Register<T>& dst, U scalar, const vector_bool& mask, Mode mode) {
    ascend::isa::Register<T> result;
    asc_duplicate_scalar(result, scalar, mask);
    ascend::isa::write_back(dst, result, mask, mode);
}
template <typename T, int kPosition, ascend::isa::ModeTag Mode>
ASC_INLINE void vdup(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& source,
                     const vector_bool& mask, asc_tag<ascend::isa::PositionControl, kPosition>, Mode mode) {
    ascend::isa::Register<T> result;
    if constexpr (kPosition == decltype(POS_LOWEST)::value) asc_duplicate(result, source, mask);
    else asc_duplicate_highest(result, source, mask);
    ascend::isa::write_back(dst, result, mask, mode);
}

// Reductions write lane 0 (and 1); under merging the lanes above keep their old value.
#define ASC_RAW_REDUCTION(name, instruction, lanes)                                              \
    template <typename D, typename T, ascend::isa::ModeTag Mode>                                 \
    ASC_INLINE void name(ascend::isa::Register<D>& dst, const ascend::isa::Register<T>& a,       \
                         const vector_bool& mask, Mode mode) {                                   \
        ascend::isa::Register<D> result;                                                         \
        instruction(result, a, mask);                                                            \
        uint32_t count = lanes;                                                                  \
        ascend::isa::write_back(dst, result, ascend::isa::counted_mask<sizeof(D)>(count), mode); \
    }
ASC_RAW_REDUCTION(vcadd, asc_reduce_sum, 1)
ASC_RAW_REDUCTION(vcmax, asc_reduce_max, 2)
ASC_RAW_REDUCTION(vcmin, asc_reduce_min, 2)
#undef ASC_RAW_REDUCTION

// Fused: dst = a * b + dst, dst = dst * a + b, dst = a * scalar + dst.
template <typename T, ascend::isa::ModeTag Mode>
ASC_INLINE void vmula(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                      const ascend::isa::Register<T>& b, const vector_bool& mask, Mode mode) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    Register<T> result;
    lanewise(
        result, mask,
        [](auto x, auto y, auto sum) __attribute__((always_inline)) { return FusedMulAdd{}(x, y, sum); }, a,
        b, dst);
    write_back(dst, result, mask, mode);
}
template <typename T, ascend::isa::ModeTag Mode>
ASC_INLINE void vmadd(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                      const ascend::isa::Register<T>& b, const vector_bool& mask, Mode mode) {
    using namespace ascend::isa;
    Register<T> result = dst;
    asc_madd(result, a, b, mask);
    write_back(dst, result, mask, mode);
}
template <typename T, typename U, ascend::isa::ModeTag Mode>
ASC_INLINE void vaxpy(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, U scalar,
                      const vector_bool& mask, Mode mode) {
    using namespace ascend::isa;
    Register<T> result = dst;
    asc_axpy(result, a, scalar, mask);
    write_back(dst, result, mask, mode);
}

}  // namespace ASCEND_SIM_VEC
