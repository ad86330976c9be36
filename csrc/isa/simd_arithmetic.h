// SPDX-License-Identifier: MIT
// Lane-wise arithmetic, logic, comparison and selection. Masked-off lanes become zero.
//
// Integers wrap. f32 is IEEE; 16-bit floats compute in fp32 and round to nearest even (DK-ACC). max and min propagate
// NaN and order +0 above -0. exp, ln, sqrt and div take and give no f32 subnormals. Only vmula, vmadd, axpy and madd fuse.
#pragma once

#include "isa/simd_float.h"

namespace ascend::isa {
inline namespace ASCEND_SIM_VEC {

// +0 > -0: where the operands compare equal, `and` of the bits gives +0 unless both are -0, `or` the reverse.
struct Max {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        if constexpr (std::is_same_v<V, VecF>) {
            const VecF ordered = pick(a > b, a, pick(a < b, b, as_float(as_bits(a) & as_bits(b))));
            return pick(a != a, a, pick(b != b, b, ordered));
        } else {
            return choose(a > b, a, b);
        }
    }
};
struct Min {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        if constexpr (std::is_same_v<V, VecF>) {
            const VecF ordered = pick(a < b, a, pick(a > b, b, as_float(as_bits(a) | as_bits(b))));
            return pick(a != a, a, pick(b != b, b, ordered));
        } else {
            return choose(a < b, a, b);
        }
    }
};
struct Add {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        return a + b;
    }
};
struct Sub {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        return a - b;
    }
};
struct Mul {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        return a * b;
    }
};
struct Div {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        if constexpr (std::is_same_v<V, VecF>) {
            return div_f32(a, b);
        } else {  // the host traps on integer division by zero, which the chip does not: all ones, as RISC cores give
            for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(a[0])); ++i) {
                using L = std::remove_reference_t<decltype(a[0])>;
                if (b[i] == 0) a[i] = static_cast<L>(-1);
                else if (b[i] == static_cast<L>(-1) && std::is_signed_v<L>) a[i] = static_cast<L>(-a[i]);
                else a[i] /= b[i];
            }
            return a;
        }
    }
};
struct FusedMulAdd {
    template <typename V>
    ASC_INLINE V operator()(V a, V b, V c) const {
        if constexpr (std::is_same_v<V, VecF>) return host::fma(a, b, c);
        else return a * b + c;
    }
};
struct Abs {
    template <typename V>
    ASC_INLINE V operator()(V a) const {
        if constexpr (std::is_same_v<V, VecF>) return as_float(as_bits(a) & 0x7fffffffu);
        else return choose(a < 0, -a, a);
    }
};
// |a - b|: of integers modulo the lane, so that unsigned differences and those of far apart signed values are right.
struct AbsSub {
    template <typename V>
    ASC_INLINE V operator()(V a, V b) const {
        if constexpr (std::is_same_v<V, VecF>) return Abs{}(a - b);
        else return choose(a > b, a - b, b - a);
    }
};
struct Neg {
    template <typename V>
    ASC_INLINE V operator()(V a) const {
        if constexpr (std::is_same_v<V, VecF>) return as_float(as_bits(a) ^ kSignBit);
        else return -a;
    }
};

// 32-bit integers take two slots of 32 elements.
template <typename T>
ASC_INLINE void count_arithmetic() {
    if constexpr (std::is_integral_v<T> && sizeof(T) == 4) vf_count(VfClass::alu_int32, 2);
    else vf_count(VfClass::alu);
}
template <typename T>
constexpr uint32_t kSpecialSlots = sizeof(T) == 2 ? 8 : 4;  // 16 elements a slot

// A scalar operand, spread the way lanewise hands out chunks.
template <typename T>
ASC_INLINE auto spread(T value) {
    if constexpr (kIsFloat16<T>) return splat(static_cast<float>(value));
    else return splat(__builtin_bit_cast(lane_t<T>, value));
}

template <typename T>
using Relation = bool (*)(T, T);

// Comparison results as predicates: every bit of a lane set.
template <typename T, typename F, typename B>
ASC_INLINE void compare(Predicate& dst, const Register<T>& a, B b, const Predicate& mask, F f) {
    require_number<T>();
    vf_count(VfClass::alu);
    each_chunk([&](auto i) __attribute__((always_inline)) {
        Vec<bits_t<T>> result;
        if constexpr (kIsFloat16<T>) {
            const VecU even = (VecU)f(even_lanes<T>(a.v[i]), b(i, 0)),
                       odd = (VecU)f(odd_lanes<T>(a.v[i]), b(i, 1));
            result = (Vec<bits_t<T>>)((even & 0xffffu) | odd << 16);
        } else {
            result = (Vec<bits_t<T>>)f(a.v[i], b(i, 0));
        }
        dst.v[i] = (Vec<uint8_t>)(result & active<T>(mask, i));
    });
}
template <typename T, typename F>
ASC_INLINE void compare_registers(Predicate& dst, const Register<T>& a, const Register<T>& b,
                                  const Predicate& mask, F f) {
    compare(
        dst, a,
        [&](auto i, int odd) __attribute__((always_inline)) {
            if constexpr (kIsFloat16<T>) return odd ? odd_lanes<T>(b.v[i]) : even_lanes<T>(b.v[i]);
            else return b.v[i];
        },
        mask, f);
}
template <typename T, typename F>
ASC_INLINE void compare_scalar(Predicate& dst, const Register<T>& a, T b, const Predicate& mask, F f) {
    const auto spread_b = spread(b);
    compare(dst, a, [&](auto, int) __attribute__((always_inline)) { return spread_b; }, mask, f);
}

template <typename T, typename F>
ASC_INLINE void bitwise(Register<T>& dst, const Predicate& mask, F f, const Register<T>& a,
                        const Register<T>& b) {
    vf_count(VfClass::alu);
    each_chunk([&](auto i) __attribute__((always_inline)) {
        dst.v[i] = keep<T>(f((Vec<bits_t<T>>)a.v[i], (Vec<bits_t<T>>)b.v[i]), mask, i);
    });
}

// Shifts by the lane's width or more give 0 (arithmetic right: the sign); the chip's behaviour there is not published.
// A scalar count may be of a wider type than the lanes: 256 is no 0.
template <typename T, typename C>
ASC_INLINE T shift_count(C count) {
    constexpr int kBits = sizeof(T) * 8;
    const auto wide = static_cast<int64_t>(count);
    return static_cast<T>(wide < 0 || wide > kBits ? kBits : wide);
}
template <typename V>
ASC_INLINE V shift_left(V a, V count) {
    using L = std::remove_cvref_t<decltype(a[0])>;
    using U = Vec<std::make_unsigned_t<L>>;
    constexpr int kBits = sizeof(L) * 8;
    const U by = (U)count, shifted = (U)a << (by & (kBits - 1));
    return (V)(shifted & (U)(by < static_cast<std::make_unsigned_t<L>>(kBits)));
}
template <typename V>
ASC_INLINE V shift_right(V a, V count) {
    using L = std::remove_cvref_t<decltype(a[0])>;
    using U = Vec<std::make_unsigned_t<L>>;
    constexpr int kBits = sizeof(L) * 8;
    const U by = (U)count;
    const U limit = (U)(by < static_cast<std::make_unsigned_t<L>>(kBits));
    if constexpr (std::is_signed_v<L>)
        return a >> (V)blend(limit, by, splat(static_cast<std::make_unsigned_t<L>>(kBits - 1)));
    else return (V)((a >> (V)(by & (kBits - 1))) & (V)limit);
}

}  // namespace ASCEND_SIM_VEC
}  // namespace ascend::isa

inline namespace ASCEND_SIM_VEC {

#define ASC_BINARY(name, Op, cost)                                                         \
    template <typename T>                                                                  \
    ASC_INLINE void name(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, \
                         const ascend::isa::Register<T>& b, const vector_bool& mask) {     \
        using namespace ascend::isa;                                                       \
        cost;                                                                              \
        lanewise(dst, mask, Op{}, a, b);                                                   \
    }
#define ASC_BINARY_SCALAR(name, Op, cost)                                                            \
    template <typename T, typename U>                                                                \
    ASC_INLINE void name(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, U scalar, \
                         const vector_bool& mask) {                                                  \
        using namespace ascend::isa;                                                                 \
        cost;                                                                                        \
        const auto b = spread(scalar_as<T>(scalar));                                                 \
        lanewise(dst, mask, [&](auto x) __attribute__((always_inline)) { return Op{}(x, b); }, a);   \
    }
ASC_BINARY(asc_add, Add, count_arithmetic<T>())
ASC_BINARY(asc_sub, Sub, count_arithmetic<T>())
ASC_BINARY(asc_mul, Mul, count_arithmetic<T>())
ASC_BINARY(asc_div, Div, vf_count(VfClass::special, kSpecialSlots<T>))
ASC_BINARY(asc_max, Max, vf_count(VfClass::alu))
ASC_BINARY(asc_min, Min, vf_count(VfClass::alu))
ASC_BINARY_SCALAR(asc_add_scalar, Add, count_arithmetic<T>())
ASC_BINARY_SCALAR(asc_mul_scalar, Mul, count_arithmetic<T>())
ASC_BINARY_SCALAR(asc_max_scalar, Max, vf_count(VfClass::alu))
ASC_BINARY_SCALAR(asc_min_scalar, Min, vf_count(VfClass::alu))
#undef ASC_BINARY
#undef ASC_BINARY_SCALAR

#define ASC_UNARY(name, cost, expression)                                                         \
    template <typename T>                                                                         \
    ASC_INLINE void name(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,        \
                         const vector_bool& mask) {                                               \
        using namespace ascend::isa;                                                              \
        cost;                                                                                     \
        lanewise(dst, mask, [](auto x) __attribute__((always_inline)) { return expression; }, a); \
    }
ASC_UNARY(asc_abs, count_arithmetic<T>(), Abs{}(x))
ASC_UNARY(asc_neg, count_arithmetic<T>(), Neg{}(x))
ASC_UNARY(asc_relu, vf_count(VfClass::alu), Max{}(x, decltype(x){}))
ASC_UNARY(asc_exp, vf_count(VfClass::special, kSpecialSlots<T>), exp_f32(x))
ASC_UNARY(asc_ln, vf_count(VfClass::special, kSpecialSlots<T>), ln_f32(x))
ASC_UNARY(asc_sqrt, vf_count(VfClass::special, kSpecialSlots<T>), sqrt_f32(x))
#undef ASC_UNARY

// e^(a - b), the difference rounded to f32.
template <typename T>
ASC_INLINE void asc_exp_sub(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                            const ascend::isa::Register<T>& b, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::special, kSpecialSlots<T>);
    lanewise(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return exp_f32(x - y); }, a, b);
}
// |a - b|
template <typename T>
ASC_INLINE void asc_abs_sub(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                            const ascend::isa::Register<T>& b, const vector_bool& mask) {
    using namespace ascend::isa;
    count_arithmetic<T>();
    lanewise(dst, mask, AbsSub{}, a, b);
}
// x where positive, x * alpha elsewhere; alpha a scalar or a register.
template <typename T, typename U>
ASC_INLINE void asc_leakyrelu(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, U alpha,
                              const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    const auto slope = spread(scalar_as<T>(alpha));
    lanewise(dst, mask, [&](auto x) __attribute__((always_inline)) { return choose(x > 0, x, x * slope); }, a);
}
template <typename T>
ASC_INLINE void asc_prelu(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                          const ascend::isa::Register<T>& b, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    lanewise(
        dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return choose(x > 0, x, x * y); }, a,
        b);
}

// Fused: dst += a * scalar, dst = dst * a + b. Zero where masked off.
template <typename T, typename U>
ASC_INLINE void asc_axpy(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a, U scalar,
                         const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    const auto b = spread(scalar_as<T>(scalar));
    lanewise(
        dst, mask, [&](auto x, auto sum) __attribute__((always_inline)) { return FusedMulAdd{}(x, b, sum); },
        a, dst);
}
template <typename T>
ASC_INLINE void asc_madd(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                         const ascend::isa::Register<T>& b, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    lanewise(
        dst, mask,
        [](auto old, auto x, auto y) __attribute__((always_inline)) { return FusedMulAdd{}(old, x, y); }, dst,
        a, b);
}

// Bitwise, on the lanes' bits.
template <typename T>
ASC_INLINE void asc_and(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                        const ascend::isa::Register<T>& b, const vector_bool& mask) {
    ascend::isa::bitwise(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return x & y; }, a, b);
}
template <typename T>
ASC_INLINE void asc_or(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                       const ascend::isa::Register<T>& b, const vector_bool& mask) {
    ascend::isa::bitwise(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return x | y; }, a, b);
}
template <typename T>
ASC_INLINE void asc_xor(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                        const ascend::isa::Register<T>& b, const vector_bool& mask) {
    ascend::isa::bitwise(dst, mask, [](auto x, auto y) __attribute__((always_inline)) { return x ^ y; }, a, b);
}
template <typename T>
ASC_INLINE void asc_not(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                        const vector_bool& mask) {
    ascend::isa::bitwise(dst, mask, [](auto x, auto) { return ~x; }, a, a);
}

// Shifts; right is arithmetic for signed lanes. The counts have the lanes' width, whatever their signedness.
template <typename T, typename C>
    requires(sizeof(T) == sizeof(C))
ASC_INLINE void asc_shiftleft(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                              const ascend::isa::Register<C>& count, const vector_bool& mask) {
    using namespace ascend::isa;
    require_number<T>();
    vf_count(VfClass::alu);
    each_chunk([&](auto i) __attribute__((always_inline)) {
        dst.v[i] = keep<T>(shift_left(a.v[i], (decltype(a.v[i] + a.v[i]))count.v[i]), mask, i);
    });
}
template <typename T, typename C>
    requires(sizeof(T) == sizeof(C))
ASC_INLINE void asc_shiftright(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                               const ascend::isa::Register<C>& count, const vector_bool& mask) {
    using namespace ascend::isa;
    require_number<T>();
    vf_count(VfClass::alu);
    each_chunk([&](auto i) __attribute__((always_inline)) {
        dst.v[i] = keep<T>(shift_right(a.v[i], (decltype(a.v[i] + a.v[i]))count.v[i]), mask, i);
    });
}
template <typename T, typename U>
ASC_INLINE void asc_shiftleft_scalar(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                                     U count, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    const auto by = splat(shift_count<T>(count));
    lanewise(dst, mask, [&](auto x) __attribute__((always_inline)) { return shift_left(x, by); }, a);
}
template <typename T, typename U>
ASC_INLINE void asc_shiftright_scalar(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                                      U count, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    const auto by = splat(shift_count<T>(count));
    lanewise(dst, mask, [&](auto x) __attribute__((always_inline)) { return shift_right(x, by); }, a);
}

// a where on, b where off.
template <typename T>
ASC_INLINE void asc_select(ascend::isa::Register<T>& dst, const ascend::isa::Register<T>& a,
                           const ascend::isa::Register<T>& b, const vector_bool& mask) {
    using namespace ascend::isa;
    vf_count(VfClass::alu);
    each_chunk([&](auto i)
                   __attribute__((always_inline)) { dst.v[i] = blend(active<T>(mask, i), a.v[i], b.v[i]); });
}

#define ASC_COMPARE(name, op)                                                                              \
    template <typename T>                                                                                  \
    ASC_INLINE void asc_##name(vector_bool& dst, const ascend::isa::Register<T>& a,                        \
                               const ascend::isa::Register<T>& b, const vector_bool& mask) {               \
        ascend::isa::compare_registers(                                                                    \
            dst, a, b, mask, [](auto x, auto y) __attribute__((always_inline)) { return x op y; });        \
    }                                                                                                      \
    template <typename T, typename U>                                                                      \
    ASC_INLINE void asc_##name##_scalar(vector_bool& dst, const ascend::isa::Register<T>& a, U scalar,     \
                                        const vector_bool& mask) {                                         \
        ascend::isa::compare_scalar(dst, a, ascend::isa::scalar_as<T>(scalar), mask,                       \
                                    [](auto x, auto y) __attribute__((always_inline)) { return x op y; }); \
    }
ASC_COMPARE(eq, ==)
ASC_COMPARE(ne, !=)
ASC_COMPARE(lt, <)
ASC_COMPARE(le, <=)
ASC_COMPARE(gt, >)
ASC_COMPARE(ge, >=)
#undef ASC_COMPARE

// 32-bit add and subtract with carry predicates: out, and for addc/subc in. A subtraction's carry is 1 without borrow.
namespace ascend_carry {
template <typename F>
ASC_INLINE void lanes(vector_bool& carry, vector_u32& dst, const vector_u32& a, const vector_u32& b,
                      const vector_bool& mask, F f) {
    using namespace ascend::isa;
    vf_count(VfClass::alu_int32, 2);
    vector_bool on;
    vector_u32 sum;
    each_chunk([&](auto i) __attribute__((always_inline)) {
        VecU carries;
        sum.v[i] = keep<uint32_t>(f(a.v[i], b.v[i], i, carries), mask, i);
        on.v[i] = (Vec<uint8_t>)(carries & active<uint32_t>(mask, i));
    });
    dst = sum;
    carry = on;
}
}  // namespace ascend_carry
ASC_INLINE void asc_add(vector_bool& carry, vector_u32& dst, const vector_u32& a, const vector_u32& b,
                        const vector_bool& mask) {
    ascend_carry::lanes(carry, dst, a, b, mask,
                        [](auto x, auto y, auto, auto& out) __attribute__((always_inline)) {
                            out = (ascend::isa::VecU)(x + y < x);
                            return x + y;
                        });
}
ASC_INLINE void asc_sub(vector_bool& carry, vector_u32& dst, const vector_u32& a, const vector_u32& b,
                        const vector_bool& mask) {
    ascend_carry::lanes(carry, dst, a, b, mask,
                        [](auto x, auto y, auto, auto& out) __attribute__((always_inline)) {
                            out = (ascend::isa::VecU)(x >= y);
                            return x - y;
                        });
}
ASC_INLINE void asc_addc(vector_bool& carry, vector_u32& dst, const vector_u32& a, const vector_u32& b,
                         const vector_bool& carry_in, const vector_bool& mask) {
    ascend_carry::lanes(
        carry, dst, a, b, mask, [&](auto x, auto y, auto i, auto& out) __attribute__((always_inline)) {
            const ascend::isa::VecU in = ascend::isa::active<uint32_t>(carry_in, i) & 1, sum = x + y;
            out = (ascend::isa::VecU)(sum < x) | (ascend::isa::VecU)(sum + in < sum);
            return sum + in;
        });
}
ASC_INLINE void asc_subc(vector_bool& carry, vector_u32& dst, const vector_u32& a, const vector_u32& b,
                         const vector_bool& carry_in, const vector_bool& mask) {
    ascend_carry::lanes(
        carry, dst, a, b, mask, [&](auto x, auto y, auto i, auto& out) __attribute__((always_inline)) {
            const ascend::isa::VecU borrow = 1 - (ascend::isa::active<uint32_t>(carry_in, i) & 1),
                                    difference = x - y;
            out = (ascend::isa::VecU)(x >= y) & (ascend::isa::VecU)(difference >= borrow);
            return difference - borrow;
        });
}
// The low and the high half of 32 x 32 -> 64.
template <typename T>
    requires(sizeof(T) == 4 && std::is_integral_v<T>)
ASC_INLINE void asc_mull(ascend::isa::Register<T>& low, ascend::isa::Register<T>& high,
                         const ascend::isa::Register<T>& a, const ascend::isa::Register<T>& b,
                         const vector_bool& mask) {
    using namespace ascend::isa;
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    vf_count(VfClass::alu_int32, 4);
    const Lanes<T> x = lanes_of(a), y = lanes_of(b);
    Lanes<T> l{}, h{};
    for (int i = 0; i < kLanes<T>; ++i) {
        if (!is_active<T>(mask, i)) continue;
        const Wide product = Wide{static_cast<T>(x.at[i])} * Wide{static_cast<T>(y.at[i])};
        l.at[i] = static_cast<uint32_t>(product);
        h.at[i] = static_cast<uint32_t>(product >> 32);
    }
    set_lanes(low, l);
    set_lanes(high, h);
}

}  // namespace ASCEND_SIM_VEC
