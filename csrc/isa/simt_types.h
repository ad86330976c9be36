// SPDX-License-Identifier: MIT
// Small vectors and pair conversions that SIMT code names. 16-bit pairs travel in 32-bit carriers by pointer casts.
#pragma once

#include "isa/types.h"

#define ASC_SMALL_VECTORS(name, type)                                                       \
    struct name##1 { type x; };                                                             \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                \
    struct name##3 { type x, y, z; };                                                       \
    struct alignas(4 * sizeof(type)) name##4 { type x, y, z, w; };                          \
    constexpr name##1 make_##name##1(type x) { return {x}; }                                \
    constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }                     \
    constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }          \
    constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
ASC_SMALL_VECTORS(float, float)
ASC_SMALL_VECTORS(int, int32_t)
ASC_SMALL_VECTORS(uint, uint32_t)
ASC_SMALL_VECTORS(short, int16_t)
ASC_SMALL_VECTORS(ushort, uint16_t)
ASC_SMALL_VECTORS(char, int8_t)
ASC_SMALL_VECTORS(uchar, uint8_t)
ASC_SMALL_VECTORS(longlong, int64_t)
ASC_SMALL_VECTORS(ulonglong, uint64_t)
#undef ASC_SMALL_VECTORS

// Element by element: what TileLang writes for two or four neighbouring elements of a T.Parallel loop.
#define ASC_ELEMENTWISE(name, type, op)                                                                              \
    constexpr name##2 operator op(name##2 a, name##2 b) { return {static_cast<type>(a.x op b.x), static_cast<type>(a.y op b.y)}; } \
    constexpr name##4 operator op(name##4 a, name##4 b) {                                                            \
        return {static_cast<type>(a.x op b.x), static_cast<type>(a.y op b.y), static_cast<type>(a.z op b.z),         \
                static_cast<type>(a.w op b.w)};                                                                      \
    }
#define ASC_ARITHMETIC(name, type) \
    ASC_ELEMENTWISE(name, type, +) \
    ASC_ELEMENTWISE(name, type, -) \
    ASC_ELEMENTWISE(name, type, *)
#define ASC_INTEGER(name, type)     \
    ASC_ARITHMETIC(name, type)      \
    ASC_ELEMENTWISE(name, type, &)  \
    ASC_ELEMENTWISE(name, type, |)  \
    ASC_ELEMENTWISE(name, type, ^)  \
    ASC_ELEMENTWISE(name, type, <<) \
    ASC_ELEMENTWISE(name, type, >>)
ASC_ARITHMETIC(float, float)
ASC_INTEGER(int, int32_t)
ASC_INTEGER(uint, uint32_t)
ASC_INTEGER(short, int16_t)
ASC_INTEGER(ushort, uint16_t)
ASC_INTEGER(char, int8_t)
ASC_INTEGER(uchar, uint8_t)
ASC_INTEGER(longlong, int64_t)
ASC_INTEGER(ulonglong, uint64_t)
#undef ASC_ELEMENTWISE
#undef ASC_ARITHMETIC
#undef ASC_INTEGER

struct alignas(4) half2 {
    half x, y;
};
struct alignas(4) bfloat16x2_t {
    bfloat16_t x, y;
};
struct alignas(2) float8_e4m3x2_t {
    float8_e4m3_t x, y;
};
struct alignas(2) float8_e5m2x2_t {
    float8_e5m2_t x, y;
};

inline float2 __half22float2(half2 a) { return {float(a.x), float(a.y)}; }
inline half2 __float22half2_rn(float2 a) { return {half(a.x), half(a.y)}; }
inline float2 __bfloat1622float2(bfloat16x2_t a) { return {float(a.x), float(a.y)}; }
inline bfloat16x2_t __float22bfloat162_rn(float2 a) { return {bfloat16_t(a.x), bfloat16_t(a.y)}; }
inline float __half2float(half a) { return a; }
inline half __float2half(float a) { return a; }
inline half __float2half_rn(float a) { return a; }
inline float __bfloat162float(bfloat16_t a) { return a; }
inline bfloat16_t __float2bfloat16_rn(float a) { return a; }
inline float2 __e4m3x22float2(float8_e4m3x2_t a) { return {float(a.x), float(a.y)}; }
inline float2 __e5m2x22float2(float8_e5m2x2_t a) { return {float(a.x), float(a.y)}; }

// SIMT casts to fp8 saturate to the largest finite value; NaN stays NaN (ascend950.md 5.2).
enum __asc_saturation_t { __ASC_NOSAT, __ASC_SATFINITE };
enum __asc_fp8_interpretation_t { __ASC_E4M3, __ASC_E5M2 };
using __asc_fp8_storage_t = uint8_t;
using __asc_fp8x2_storage_t = uint16_t;
inline __asc_fp8x2_storage_t __asc_cvt_float2_to_fp8x2(float2 a, __asc_saturation_t saturation,
                                                       __asc_fp8_interpretation_t kind) {
    const auto mode = saturation == __ASC_SATFINITE ? ascend::Saturation::on_keep_nan : ascend::Saturation::off;
    const auto code = [&](float value) -> uint32_t {
        return kind == __ASC_E4M3 ? ascend::f32_to_e4m3(value, mode) : ascend::f32_to_e5m2(value, mode);
    };
    return static_cast<__asc_fp8x2_storage_t>(code(a.x) | code(a.y) << 8);
}
