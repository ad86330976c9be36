// SPDX-License-Identifier: MIT
// Which types, qualifiers and constants does kernel code name? Public spellings; kernels of our own use the same.
// Source: tilelang_ascend.md 4-6.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "formats/bf16.h"
#include "formats/e8m0.h"
#include "formats/f16.h"
#include "formats/fp8.h"
#include "formats/hif8.h"

#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 3510
#endif

// Address spaces carry no information on the host: global and UB pointers are host pointers, pointers into L1 and L0
// are byte offsets in their memories. No source overloads on the address space.
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __grid_constant__

#define __aicore__
#define __global__
#define __cube__
#define __vector__
#define __mix__(cube_cores, vector_cores)
#if defined(ASCEND_SIM_CHECK_MEMORY)  // vector instructions check by themselves: isa/memory_check.h
#define __simd_vf__ __attribute__((noinline, no_sanitize("address"), no_sanitize("kernel-address")))
#else
#define __simd_vf__
#endif
#define __simd_callee__ __attribute__((always_inline))
#define __simt_vf__
#define __simt_callee__
#define ASC_SIMT_END (++ascend::isa::simt_completed)
#define __launch_bounds__(threads)
#define __SIMT_DEVICE_FUNCTIONS_DECL__

namespace ascend {
enum class Pipe : uint8_t;
}

// In the order of ascend::Pipe.
enum pipe_t : uint8_t { PIPE_S, PIPE_M, PIPE_V, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };

namespace ascend::isa {
constexpr Pipe pipe_of(pipe_t pipe) { return static_cast<Pipe>(pipe); }
// Threads that have come to the end of their SIMT function: simt_launch.h, note "Barriers".
extern __thread uint32_t simt_completed __attribute__((tls_model("initial-exec"), visibility("default")));
}  // namespace ascend::isa

enum event_t : int { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
enum asc_lock_mode : int { ASC_LOCK_BLOCK, ASC_LOCK_NON_BLOCK };

// Named by number in generated code: the underlying type is fixed so that any number may be cast.
enum asc_load_l2_cache_mode : uint8_t {};   // 0 normal .. 3 prefetch, 4-6 no allocation
enum asc_store_l2_cache_mode : uint8_t {};  // 0-3 normal, 4-7 no allocation
enum asc_dual_dst_mode : uint8_t {};        // 0 one vector core, 1 rows split over both, 2 columns split
enum asc_unit_flag_mode : uint8_t {};       // 0 off, 2 wait and leave, 3 wait and flip
// What FIX does to an accumulator on its way out. Q: times a scale, V: times a scale of each column. Public are the
// modes and the numbers 0, 1 and 16; the names and the other numbers are this project's.
enum asc_quant_mode : uint8_t {
    ASC_QUANT_NONE = 0,
    ASC_QUANT_F322F16 = 1,
    ASC_QUANT_VQF322HIF8 = 2,         // half away from zero
    ASC_QUANT_QF322HIF8 = 3,
    ASC_QUANT_VQF322HIF8_HYBRID = 4,
    ASC_QUANT_QF322HIF8_HYBRID = 5,
    ASC_QUANT_VREQ8 = 8,              // int32 -> int8 or uint8
    ASC_QUANT_REQ8 = 9,
    ASC_QUANT_VDEQF16 = 10,           // int32 -> fp16
    ASC_QUANT_DEQF16 = 11,
    ASC_QUANT_VQF322FP8 = 12,         // e4m3
    ASC_QUANT_QF322FP8 = 13,
    ASC_QUANT_VQF322F32 = 14,
    ASC_QUANT_QF322F32 = 15,
    ASC_QUANT_F322BF16 = 16,
    ASC_QUANT_VQF322B8 = 23,          // fp32 -> int8 or uint8
    ASC_QUANT_QF322B8 = 24,
    ASC_QUANT_VQF322F16 = 32,
    ASC_QUANT_QF322F16 = 33,
    ASC_QUANT_VQF322BF16 = 34,
    ASC_QUANT_QF322BF16 = 35,
    ASC_QUANT_VQS322BF16 = 36,        // int32 -> bf16
    ASC_QUANT_QS322BF16 = 37,
};
// Public are 0 and 1; the names and the other numbers are this project's.
enum asc_relu_pre_mode : uint8_t {
    ASC_RELU_PRE_NONE = 0,
    ASC_RELU_PRE_NORMAL = 1,
    ASC_RELU_PRE_LEAKY = 2,           // negative values times one slope
    ASC_RELU_PRE_VECTOR = 3,          // PReLU: times a slope of each column
};
enum asc_hf32_round_mode : uint8_t { NEAREST_EVEN, NEAREST_AWAY };

// asc_fill_l1: `repeat` times `blk_num` blocks of 32 bytes, `dst_gap` blocks skipped in between.
struct asc_fill_value_config {
    uint64_t repeat = 1, blk_num = 0, dst_gap = 0;
};

// Floats of 16 and 8 bits convert to float, and back rounding to nearest even. Each operation on two half or two bfloat16_t rounds, as where
// TileLang joins neighbours and stores what lies between: what a program computes does not depend on that. Mixed with float they are float.
struct half {
    uint16_t bits;
    half() = default;
    constexpr half(float value) : bits(ascend::f32_to_f16(value)) {}
    constexpr operator float() const { return ascend::f16_to_f32(bits); }
};
struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    constexpr bfloat16_t(float value) : bits(ascend::f32_to_bf16(value)) {}
    constexpr operator float() const { return ascend::bf16_to_f32(bits); }
};
struct float8_e4m3_t {
    uint8_t bits;
    float8_e4m3_t() = default;
    constexpr float8_e4m3_t(float value) : bits(ascend::f32_to_e4m3(value)) {}
    constexpr operator float() const { return ascend::e4m3_to_f32(bits); }
};
struct float8_e5m2_t {
    uint8_t bits;
    float8_e5m2_t() = default;
    constexpr float8_e5m2_t(float value) : bits(ascend::f32_to_e5m2(value)) {}
    constexpr operator float() const { return ascend::e5m2_to_f32(bits); }
};
struct hifloat8_t {
    uint8_t bits;
    hifloat8_t() = default;
    constexpr hifloat8_t(float value) : bits(ascend::f32_to_hif8(value)) {}
    constexpr operator float() const { return ascend::hif8_to_f32(bits); }
};
struct float8_e8m0_t {
    uint8_t bits;
    float8_e8m0_t() = default;
    constexpr operator float() const { return ascend::e8m0_to_f32(bits); }
};
using fp8_e8m0_t = float8_e8m0_t;
// Two elements a byte, the even one in the low nibble.
struct float4_e2m1x2_t {
    uint8_t bits;
};
struct float4_e1m2x2_t {
    uint8_t bits;
};

template <typename T>
concept asc_wrapped_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> ||
                            std::is_same_v<T, float8_e4m3_t> || std::is_same_v<T, float8_e5m2_t> ||
                            std::is_same_v<T, hifloat8_t>;
template <asc_wrapped_float T, typename U>
constexpr T& operator+=(T& a, U b) { return a = T(float(a) + float(b)); }
template <asc_wrapped_float T, typename U>
constexpr T& operator-=(T& a, U b) { return a = T(float(a) - float(b)); }
template <asc_wrapped_float T, typename U>
constexpr T& operator*=(T& a, U b) { return a = T(float(a) * float(b)); }
template <asc_wrapped_float T, typename U>
constexpr T& operator/=(T& a, U b) { return a = T(float(a) / float(b)); }
template <typename T>
concept asc_half_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;
template <asc_half_float T>
constexpr T operator+(T a, T b) { return T(float(a) + float(b)); }
template <asc_half_float T>
constexpr T operator-(T a, T b) { return T(float(a) - float(b)); }
template <asc_half_float T>
constexpr T operator*(T a, T b) { return T(float(a) * float(b)); }
template <asc_half_float T>
constexpr T operator/(T a, T b) { return T(float(a) / float(b)); }
template <asc_half_float T>
constexpr T operator-(T a) { return T(-float(a)); }

// Scalar min and max of mixed types: result of the common arithmetic type, or of the operands' own.
template <typename A, typename B>
struct asc_common {
    using type = decltype(A{} + B{});
};
template <typename A>
struct asc_common<A, A> {
    using type = A;
};
template <typename A, typename B>
constexpr typename asc_common<A, B>::type min(A a, B b) {
    using C = typename asc_common<A, B>::type;
    return C(b) < C(a) ? C(b) : C(a);
}
template <typename A, typename B>
constexpr typename asc_common<A, B>::type max(A a, B b) {
    using C = typename asc_common<A, B>::type;
    return C(a) < C(b) ? C(b) : C(a);
}

// Controls of vector instructions. Empty types: templates test them with `if constexpr` although they arrive as
// function parameters, which an enumerator would not survive.
template <typename Family, int kValue>
struct asc_tag {
    using family = Family;
    static constexpr int value = kValue;
    template <int kOther>
    constexpr bool operator==(asc_tag<Family, kOther>) const {
        return kValue == kOther;
    }
};

namespace ascend::isa {
struct RoundControl {};
struct SaturateControl {};
struct PartControl {};
struct ModeControl {};
struct HalfControl {};
struct OrderControl {};
struct PositionControl {};
struct PostControl {};
struct BinControl {};
struct DistControl {};
struct PatternControl {};
struct BarrierControl {};
}  // namespace ascend::isa

#define ASC_TAG(name, family, value) inline constexpr asc_tag<ascend::isa::family, value> name {}
ASC_TAG(ROUND_R, RoundControl, 0);  // in the order of ascend::Rounding
ASC_TAG(ROUND_A, RoundControl, 1);
ASC_TAG(ROUND_F, RoundControl, 2);
ASC_TAG(ROUND_C, RoundControl, 3);
ASC_TAG(ROUND_Z, RoundControl, 4);
ASC_TAG(ROUND_O, RoundControl, 5);
ASC_TAG(ROUND_H, RoundControl, 6);
ASC_TAG(RS_DISABLE, SaturateControl, 0);
ASC_TAG(RS_ENABLE, SaturateControl, 1);
ASC_TAG(PART_EVEN, PartControl, 0);
ASC_TAG(PART_ODD, PartControl, 1);
ASC_TAG(PART_P0, PartControl, 0);
ASC_TAG(PART_P1, PartControl, 1);
ASC_TAG(PART_P2, PartControl, 2);
ASC_TAG(PART_P3, PartControl, 3);
ASC_TAG(MODE_ZEROING, ModeControl, 0);
ASC_TAG(MODE_MERGING, ModeControl, 1);
ASC_TAG(MODE_STORED, ModeControl, 2);  // of a squeeze: what it always does here
ASC_TAG(LOWER, HalfControl, 0);
ASC_TAG(HIGHER, HalfControl, 1);
ASC_TAG(INC_ORDER, OrderControl, 0);
ASC_TAG(DEC_ORDER, OrderControl, 1);
ASC_TAG(POS_LOWEST, PositionControl, 0);
ASC_TAG(POS_HIGHEST, PositionControl, 1);
ASC_TAG(NO_POST_UPDATE, PostControl, 0);
ASC_TAG(POST_UPDATE, PostControl, 1);
ASC_TAG(Bin_N0, BinControl, 0);
ASC_TAG(Bin_N1, BinControl, 1);
ASC_TAG(DINTLV_B8, DistControl, 8);
ASC_TAG(DINTLV_B16, DistControl, 16);
ASC_TAG(DINTLV_B32, DistControl, 32);
ASC_TAG(VST_VLD, BarrierControl, 0);
ASC_TAG(VLD_VST, BarrierControl, 1);
ASC_TAG(VST_VST, BarrierControl, 2);
ASC_TAG(VV_ALL, BarrierControl, 3);
ASC_TAG(VST_LD, BarrierControl, 4);
ASC_TAG(VST_ST, BarrierControl, 5);
ASC_TAG(VLD_ST, BarrierControl, 6);
ASC_TAG(ST_VLD, BarrierControl, 7);
ASC_TAG(ST_VST, BarrierControl, 8);
ASC_TAG(LD_VST, BarrierControl, 9);
ASC_TAG(VS_ALL, BarrierControl, 10);
ASC_TAG(SV_ALL, BarrierControl, 11);

// Predicate patterns: VLn the first n lanes; M3, M4 every third, fourth; H, Q the first half, quarter.
ASC_TAG(PAT_ALL, PatternControl, -1);
ASC_TAG(PAT_ALLF, PatternControl, 0);
ASC_TAG(PAT_VL1, PatternControl, 1);
ASC_TAG(PAT_VL2, PatternControl, 2);
ASC_TAG(PAT_VL3, PatternControl, 3);
ASC_TAG(PAT_VL4, PatternControl, 4);
ASC_TAG(PAT_VL8, PatternControl, 8);
ASC_TAG(PAT_VL16, PatternControl, 16);
ASC_TAG(PAT_VL32, PatternControl, 32);
ASC_TAG(PAT_VL64, PatternControl, 64);
ASC_TAG(PAT_VL128, PatternControl, 128);
ASC_TAG(PAT_M3, PatternControl, -2);
ASC_TAG(PAT_M4, PatternControl, -3);
ASC_TAG(PAT_H, PatternControl, -4);
ASC_TAG(PAT_Q, PatternControl, -5);
#undef ASC_TAG
