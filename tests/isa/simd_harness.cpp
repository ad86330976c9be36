// SPDX-License-Identifier: MIT
// Every vector instruction as a C function over 256-byte registers in memory; test_simd*.py compile it per host level.
// Arguments: destinations, then sources, each a whole register (predicates: 256 bytes of 0x00 / 0xff), then scalars.
#include <cstring>
#include <stdexcept>

#include "isa/simd.h"

namespace ascend::isa {
const char* last_fault = nullptr;
void vector_fault(const char* instruction, const char*, const void*) {
    last_fault = instruction;
    throw std::runtime_error(instruction);
}
void enter_vf_phase(uint32_t phase) { vf_counts.phase = phase; }   // no core that keeps phases
}  // namespace ascend::isa

using ascend::isa::Predicate;
using ascend::isa::Register;

template <typename T>
static Register<T> reg(const void* from) {
    Register<T> r;
    std::memcpy(&r, from, 256);
    return r;
}
static Predicate pred(const void* from) {
    Predicate p;
    std::memcpy(&p, from, 256);
    return p;
}
template <typename R>
static void put(void* to, const R& r) {
    std::memcpy(to, &r, 256);
}

// The destination starts as it is in memory: an instruction that leaves lanes untouched is seen.
#define BINARY(op, s, T)                                                             \
    extern "C" void op##_##s(void* d, const void* a, const void* b, const void* m) { \
        Register<T> r = reg<T>(d);                                                   \
        op(r, reg<T>(a), reg<T>(b), pred(m));                                        \
        put(d, r);                                                                   \
    }
#define UNARY(op, s, T)                                               \
    extern "C" void op##_##s(void* d, const void* a, const void* m) { \
        Register<T> r = reg<T>(d);                                    \
        op(r, reg<T>(a), pred(m));                                    \
        put(d, r);                                                    \
    }
// The scalar operand stands in lane 0 of b.
#define SCALAR(op, s, T)                                                             \
    extern "C" void op##_##s(void* d, const void* a, const void* b, const void* m) { \
        Register<T> r = reg<T>(d);                                                   \
        T scalar;                                                                    \
        std::memcpy(&scalar, b, sizeof scalar);                                      \
        op(r, reg<T>(a), scalar, pred(m));                                           \
        put(d, r);                                                                   \
    }
#define COMPARE(op, s, T)                                                                         \
    extern "C" void asc_##op##_##s(void* d, const void* a, const void* b, const void* m) {        \
        Predicate r;                                                                              \
        asc_##op(r, reg<T>(a), reg<T>(b), pred(m));                                               \
        put(d, r);                                                                                \
    }                                                                                             \
    extern "C" void asc_##op##_scalar_##s(void* d, const void* a, const void* b, const void* m) { \
        Predicate r;                                                                              \
        T scalar;                                                                                 \
        std::memcpy(&scalar, b, sizeof scalar);                                                   \
        asc_##op##_scalar(r, reg<T>(a), scalar, pred(m));                                         \
        put(d, r);                                                                                \
    }

#define FOR_FLOATS(M, op) M(op, f32, float) M(op, f16, half) M(op, bf16, bfloat16_t)
#define FOR_INTS(M, op) \
    M(op, s32, int32_t) \
    M(op, u32, uint32_t) M(op, s16, int16_t) M(op, u16, uint16_t) M(op, s8, int8_t) M(op, u8, uint8_t)
#define FOR_ALL(M, op) FOR_FLOATS(M, op) FOR_INTS(M, op)

FOR_ALL(BINARY, asc_add)
FOR_ALL(BINARY, asc_sub)
FOR_ALL(BINARY, asc_mul)
FOR_ALL(BINARY, asc_max)
FOR_ALL(BINARY, asc_min)
FOR_FLOATS(BINARY, asc_div)
FOR_INTS(BINARY, asc_div)
FOR_ALL(SCALAR, asc_add_scalar)
FOR_ALL(SCALAR, asc_mul_scalar)
FOR_ALL(SCALAR, asc_max_scalar)
FOR_ALL(SCALAR, asc_min_scalar)
FOR_FLOATS(UNARY, asc_abs)
UNARY(asc_abs, s32, int32_t)
UNARY(asc_abs, s16, int16_t)
UNARY(asc_abs, s8, int8_t)
FOR_FLOATS(UNARY, asc_neg)
UNARY(asc_neg, s32, int32_t)
UNARY(asc_neg, s16, int16_t)
UNARY(asc_neg, s8, int8_t)
FOR_FLOATS(UNARY, asc_relu)
UNARY(asc_relu, s32, int32_t)
FOR_FLOATS(UNARY, asc_exp)
FOR_FLOATS(UNARY, asc_ln)
FOR_FLOATS(UNARY, asc_sqrt)
FOR_FLOATS(BINARY, asc_exp_sub)
FOR_ALL(BINARY, asc_abs_sub)
FOR_FLOATS(SCALAR, asc_leakyrelu)
FOR_FLOATS(BINARY, asc_prelu)
FOR_FLOATS(SCALAR, asc_axpy)
FOR_FLOATS(BINARY, asc_madd)
FOR_INTS(BINARY, asc_and)
FOR_INTS(BINARY, asc_or)
FOR_INTS(BINARY, asc_xor)
FOR_INTS(UNARY, asc_not)
FOR_INTS(BINARY, asc_shiftleft)
FOR_INTS(BINARY, asc_shiftright)
FOR_INTS(SCALAR, asc_shiftleft_scalar)
FOR_INTS(SCALAR, asc_shiftright_scalar)
// A count of its own type, as kernels write it.
#define SHIFT_BY_INT(op, s, T)                                                           \
    extern "C" void op##_by_int_##s(void* d, const void* a, const void* m, int count) { \
        Register<T> r = reg<T>(d);                                                       \
        op(r, reg<T>(a), count, pred(m));                                                \
        put(d, r);                                                                       \
    }
FOR_INTS(SHIFT_BY_INT, asc_shiftleft_scalar)
FOR_INTS(SHIFT_BY_INT, asc_shiftright_scalar)
FOR_ALL(BINARY, asc_select)
FOR_ALL(COMPARE, eq)
FOR_ALL(COMPARE, ne)
FOR_ALL(COMPARE, lt)
FOR_ALL(COMPARE, le)
FOR_ALL(COMPARE, gt)
FOR_ALL(COMPARE, ge)

// Raw forms, merging and zeroing.
#define FUSED(op, s, T)                                                                      \
    extern "C" void op##_##s(void* d, const void* a, const void* b, const void* m) {         \
        Register<T> r = reg<T>(d);                                                           \
        op(r, reg<T>(a), reg<T>(b), pred(m), MODE_ZEROING);                                  \
        put(d, r);                                                                           \
    }                                                                                        \
    extern "C" void op##_merging_##s(void* d, const void* a, const void* b, const void* m) { \
        Register<T> r = reg<T>(d);                                                           \
        op(r, reg<T>(a), reg<T>(b), pred(m), MODE_MERGING);                                  \
        put(d, r);                                                                           \
    }
FOR_FLOATS(FUSED, vmula)
FOR_FLOATS(FUSED, vmadd)
FUSED(vadd, f32, float)
FUSED(vadd, s16, int16_t)
#define RAW_UNARY(op, s, T)                                                   \
    extern "C" void op##_merging_##s(void* d, const void* a, const void* m) { \
        Register<T> r = reg<T>(d);                                            \
        op(r, reg<T>(a), pred(m), MODE_MERGING);                              \
        put(d, r);                                                            \
    }
RAW_UNARY(vabs, f32, float)
RAW_UNARY(vcmax, f32, float)
RAW_UNARY(vcadd, f32, float)
extern "C" void vadds_merging_f32(void* d, const void* a, const void* m, float scalar) {
    Register<float> r = reg<float>(d);
    vadds(r, reg<float>(a), scalar, pred(m), MODE_MERGING);
    put(d, r);
}
extern "C" void vdup_merging_f32(void* d, const void* m, float scalar) {
    Register<float> r = reg<float>(d);
    vdup(r, scalar, pred(m), MODE_MERGING);
    put(d, r);
}

// Carry arithmetic: dst, carry out, a, b, carry in, mask.
extern "C" void carry_add(void* d, void* c, const void* a, const void* b, const void* m) {
    Register<uint32_t> r;
    Predicate out;
    asc_add(out, r, reg<uint32_t>(a), reg<uint32_t>(b), pred(m));
    put(d, r), put(c, out);
}
extern "C" void carry_sub(void* d, void* c, const void* a, const void* b, const void* m) {
    Register<uint32_t> r;
    Predicate out;
    asc_sub(out, r, reg<uint32_t>(a), reg<uint32_t>(b), pred(m));
    put(d, r), put(c, out);
}
extern "C" void carry_addc(void* d, void* c, const void* a, const void* b, const void* in, const void* m) {
    Register<uint32_t> r;
    Predicate out;
    asc_addc(out, r, reg<uint32_t>(a), reg<uint32_t>(b), pred(in), pred(m));
    put(d, r), put(c, out);
}
extern "C" void carry_subc(void* d, void* c, const void* a, const void* b, const void* in, const void* m) {
    Register<uint32_t> r;
    Predicate out;
    asc_subc(out, r, reg<uint32_t>(a), reg<uint32_t>(b), pred(in), pred(m));
    put(d, r), put(c, out);
}
#define MULL(s, T)                                                                                \
    extern "C" void asc_mull_##s(void* l, void* h, const void* a, const void* b, const void* m) { \
        Register<T> low, high;                                                                    \
        asc_mull(low, high, reg<T>(a), reg<T>(b), pred(m));                                       \
        put(l, low), put(h, high);                                                                \
    }
MULL(s32, int32_t)
MULL(u32, uint32_t)

// Conversions: rounding and part by number.
template <typename D, typename S, int kRound, int kSaturate, int kPart, int kMode>
static void convert(void* d, const void* a, const void* m) {
    Register<D> r = reg<D>(d);
    vcvt(r, reg<S>(a), pred(m), asc_tag<ascend::isa::RoundControl, kRound>{},
         asc_tag<ascend::isa::SaturateControl, kSaturate>{}, asc_tag<ascend::isa::PartControl, kPart>{},
         asc_tag<ascend::isa::ModeControl, kMode>{});
    put(d, r);
}
#define CONVERT(d, D, s, S, round, sat, part, mode)                                                \
    extern "C" void vcvt_##s##_##d##_r##round##_s##sat##_p##part##_m##mode(void* x, const void* a, \
                                                                           const void* m) {        \
        convert<D, S, round, sat, part, mode>(x, a, m);                                            \
    }
#define NARROW2(d, D, s, S, round)                                          \
    CONVERT(d, D, s, S, round, 0, 0, 0)                                     \
    CONVERT(d, D, s, S, round, 1, 0, 0) CONVERT(d, D, s, S, round, 1, 1, 0) \
        CONVERT(d, D, s, S, round, 1, 1, 1)
NARROW2(bf16, bfloat16_t, f32, float, 0)
NARROW2(f16, half, f32, float, 0)
#define ROUNDED(d, D, s, S, part)      \
    CONVERT(d, D, s, S, 1, 0, part, 0) \
    CONVERT(d, D, s, S, 2, 0, part, 0) CONVERT(d, D, s, S, 3, 0, part, 0) CONVERT(d, D, s, S, 4, 0, part, 0)
ROUNDED(bf16, bfloat16_t, f32, float, 0)
ROUNDED(f16, half, f32, float, 0)
CONVERT(f16, half, f32, float, 5, 0, 0, 0)
#define NARROW4(d, D, s, S)                                                                         \
    CONVERT(d, D, s, S, 0, 0, 0, 0)                                                                 \
    CONVERT(d, D, s, S, 0, 1, 0, 0) CONVERT(d, D, s, S, 0, 1, 1, 0) CONVERT(d, D, s, S, 0, 1, 2, 0) \
        CONVERT(d, D, s, S, 0, 1, 3, 0) CONVERT(d, D, s, S, 0, 1, 2, 1)
NARROW4(e4m3, float8_e4m3_t, f32, float)
NARROW4(e5m2, float8_e5m2_t, f32, float)
CONVERT(e4m3, float8_e4m3_t, bf16, bfloat16_t, 0, 1, 0, 0)
CONVERT(e4m3, float8_e4m3_t, bf16, bfloat16_t, 0, 1, 1, 0)
CONVERT(e4m3, float8_e4m3_t, f16, half, 0, 0, 0, 0)
CONVERT(e5m2, float8_e5m2_t, f16, half, 0, 0, 1, 0)
#define WIDEN2(d, D, s, S) \
    CONVERT(d, D, s, S, 0, 0, 0, 0) CONVERT(d, D, s, S, 0, 0, 1, 0) CONVERT(d, D, s, S, 0, 0, 1, 1)
#define WIDEN4(d, D, s, S)          \
    CONVERT(d, D, s, S, 0, 0, 0, 0) \
    CONVERT(d, D, s, S, 0, 0, 1, 0) CONVERT(d, D, s, S, 0, 0, 2, 0) CONVERT(d, D, s, S, 0, 0, 3, 0)
WIDEN2(f32, float, bf16, bfloat16_t)
WIDEN2(f32, float, f16, half)
WIDEN4(f32, float, e4m3, float8_e4m3_t)
WIDEN4(f32, float, e5m2, float8_e5m2_t)
CONVERT(bf16, bfloat16_t, f16, half, 0, 0, 0, 0)
CONVERT(f16, half, bf16, bfloat16_t, 0, 0, 0, 0)
CONVERT(f16, half, bf16, bfloat16_t, 0, 1, 0, 0)
#define FP4(d, D)                                                                                   \
    CONVERT(d, D, bf16, bfloat16_t, 0, 0, 0, 0)                                                     \
    CONVERT(d, D, bf16, bfloat16_t, 0, 0, 3, 0) CONVERT(d, D, bf16, bfloat16_t, 1, 0, 0, 0)         \
        CONVERT(d, D, bf16, bfloat16_t, 2, 0, 0, 0) CONVERT(d, D, bf16, bfloat16_t, 3, 0, 0, 0)     \
            CONVERT(d, D, bf16, bfloat16_t, 4, 0, 0, 0) CONVERT(bf16, bfloat16_t, d, D, 0, 0, 0, 0) \
                CONVERT(bf16, bfloat16_t, d, D, 0, 0, 2, 0)
FP4(e2m1, float4_e2m1x2_t)
FP4(e1m2, float4_e1m2x2_t)
#define TO_INT(d, D, s, S, part)                                                                             \
    CONVERT(d, D, s, S, 0, 1, part, 0)                                                                       \
    CONVERT(d, D, s, S, 1, 1, part, 0) CONVERT(d, D, s, S, 2, 1, part, 0) CONVERT(d, D, s, S, 3, 1, part, 0) \
        CONVERT(d, D, s, S, 4, 1, part, 0) CONVERT(d, D, s, S, 4, 0, part, 0)
TO_INT(s32, int32_t, f32, float, 0)
TO_INT(s16, int16_t, f32, float, 1)
TO_INT(s64, int64_t, f32, float, 0)
TO_INT(s16, int16_t, f16, half, 0)
TO_INT(s8, int8_t, f16, half, 0)
TO_INT(u8, uint8_t, f16, half, 1)
TO_INT(s32, int32_t, bf16, bfloat16_t, 0)
ROUNDED(f32, float, s32, int32_t, 0)
CONVERT(f32, float, s32, int32_t, 0, 0, 0, 0)
CONVERT(f32, float, s16, int16_t, 0, 0, 1, 0)
CONVERT(f16, half, s16, int16_t, 0, 0, 0, 0)
CONVERT(f16, half, u8, uint8_t, 0, 0, 1, 0)
CONVERT(f32, float, s64, int64_t, 0, 0, 0, 0)
#define INTS(d, D, s, S, part) CONVERT(d, D, s, S, 0, 0, part, 0) CONVERT(d, D, s, S, 0, 1, part, 0)
INTS(s16, int16_t, s32, int32_t, 1)
INTS(u16, uint16_t, s32, int32_t, 0)
INTS(u8, uint8_t, s32, int32_t, 3)
INTS(u16, uint16_t, u32, uint32_t, 1)
INTS(u8, uint8_t, u32, uint32_t, 0)
INTS(u8, uint8_t, s16, int16_t, 1)
INTS(u8, uint8_t, u16, uint16_t, 0)
INTS(s32, int32_t, s16, int16_t, 1)
INTS(u32, uint32_t, u16, uint16_t, 1)
INTS(s16, int16_t, s8, int8_t, 1)
INTS(s32, int32_t, s8, int8_t, 3)
INTS(u32, uint32_t, u8, uint8_t, 2)
INTS(s64, int64_t, s32, int32_t, 1)
INTS(s32, int32_t, s64, int64_t, 0)
INTS(u16, uint16_t, s8, int8_t, 1)
INTS(u32, uint32_t, s8, int8_t, 0)
INTS(u32, uint32_t, s16, int16_t, 0)
INTS(s16, int16_t, u8, uint8_t, 0)
INTS(u64, uint64_t, s32, int32_t, 0)
INTS(u64, uint64_t, u32, uint32_t, 1)
INTS(s32, int32_t, u64, uint64_t, 1)
INTS(u32, uint32_t, u64, uint64_t, 0)
INTS(u32, uint32_t, s64, int64_t, 1)
INTS(u32, uint32_t, s32, int32_t, 0)
INTS(s32, int32_t, u32, uint32_t, 0)
INTS(s16, int16_t, u16, uint16_t, 0)
INTS(u8, uint8_t, s8, int8_t, 0)
INTS(u64, uint64_t, s64, int64_t, 0)
INTS(s64, int64_t, u64, uint64_t, 0)
INTS(s8, int8_t, s32, int32_t, 2)
INTS(s8, int8_t, s16, int16_t, 0)
// Between floats and integers, further pairs; floats of 16 bits in every direction; e8m0.
TO_INT(u8, uint8_t, f32, float, 3)
TO_INT(u16, uint16_t, f32, float, 0)
TO_INT(u32, uint32_t, f32, float, 0)
TO_INT(u64, uint64_t, f32, float, 1)
TO_INT(s32, int32_t, f16, half, 1)
TO_INT(s8, int8_t, bf16, bfloat16_t, 1)
#define EVERY_ROUNDING(d, D, s, S, part) CONVERT(d, D, s, S, 0, 0, part, 0) ROUNDED(d, D, s, S, part)
ROUNDED(f32, float, s64, int64_t, 0)
EVERY_ROUNDING(f32, float, u32, uint32_t, 0)
EVERY_ROUNDING(f32, float, u64, uint64_t, 1)
EVERY_ROUNDING(f16, half, s32, int32_t, 1)
EVERY_ROUNDING(f16, half, u16, uint16_t, 0)
EVERY_ROUNDING(bf16, bfloat16_t, s32, int32_t, 0)
EVERY_ROUNDING(bf16, bfloat16_t, s16, int16_t, 0)
ROUNDED(bf16, bfloat16_t, f16, half, 0)
ROUNDED(f16, half, bf16, bfloat16_t, 0)
CONVERT(bf16, bfloat16_t, f32, float, 5, 0, 0, 0)
#define SATURATED(d, D, s, S) CONVERT(d, D, s, S, 1, 1, 0, 0) CONVERT(d, D, s, S, 2, 1, 0, 0) CONVERT(d, D, s, S, 3, 1, 0, 0) CONVERT(d, D, s, S, 4, 1, 0, 0)
SATURATED(f16, half, f32, float)
SATURATED(bf16, bfloat16_t, f32, float)
EVERY_ROUNDING(e8m0, float8_e8m0_t, bf16, bfloat16_t, 1)
EVERY_ROUNDING(e8m0, float8_e8m0_t, f32, float, 2)
WIDEN2(bf16, bfloat16_t, e8m0, float8_e8m0_t)
WIDEN4(f32, float, e8m0, float8_e8m0_t)

// Reductions, broadcasts, permutations.
FOR_FLOATS(UNARY, asc_reduce_sum)
UNARY(asc_reduce_sum, s32, int32_t)
UNARY(asc_reduce_sum, u32, uint32_t)
#define WIDE_SUM(s, T, W)                                                       \
    extern "C" void asc_reduce_sum_##s(void* d, const void* a, const void* m) { \
        Register<W> r;                                                          \
        asc_reduce_sum(r, reg<T>(a), pred(m));                                  \
        put(d, r);                                                              \
    }
WIDE_SUM(s16, int16_t, int32_t)
WIDE_SUM(u16, uint16_t, uint32_t)
WIDE_SUM(s8, int8_t, int16_t)
WIDE_SUM(u8, uint8_t, uint16_t)
FOR_ALL(UNARY, asc_reduce_max)
FOR_ALL(UNARY, asc_reduce_min)
FOR_ALL(UNARY, asc_reduce_max_datablock)
FOR_ALL(UNARY, asc_reduce_min_datablock)
FOR_FLOATS(UNARY, asc_reduce_sum_datablock)
FOR_INTS(UNARY, asc_reduce_sum_datablock)
FOR_FLOATS(UNARY, asc_pair_reduce_sum)
FOR_ALL(UNARY, asc_squeeze)
FOR_ALL(UNARY, asc_duplicate)
FOR_ALL(UNARY, asc_duplicate_highest)
#define UNSQUEEZE(op, s, T)                            \
    extern "C" void op##_##s(void* d, const void* m) { \
        Register<T> r;                                 \
        op(r, pred(m));                                \
        put(d, r);                                     \
    }
FOR_INTS(UNSQUEEZE, asc_unsqueeze)
#define DUPLICATE(op, s, T)                                           \
    extern "C" void op##_##s(void* d, const void* b, const void* m) { \
        Register<T> r = reg<T>(d);                                    \
        T scalar;                                                     \
        std::memcpy(&scalar, b, sizeof scalar);                       \
        op(r, scalar, pred(m));                                       \
        put(d, r);                                                    \
    }
FOR_ALL(DUPLICATE, asc_duplicate_scalar)
#define RAMP(op, s, T)                                 \
    extern "C" void op##_##s(void* d, const void* b) { \
        Register<T> r;                                 \
        T scalar;                                      \
        std::memcpy(&scalar, b, sizeof scalar);        \
        op(r, scalar);                                 \
        put(d, r);                                     \
    }
FOR_ALL(RAMP, asc_arange)
FOR_ALL(RAMP, asc_arange_descend)
#define PAIR(op, s, T)                                                         \
    extern "C" void op##_##s(void* d, void* e, const void* a, const void* b) { \
        Register<T> x = reg<T>(a), y = reg<T>(b);                              \
        op(x, y, x, y);                                                        \
        put(d, x), put(e, y);                                                  \
    }
FOR_ALL(PAIR, asc_intlv)
FOR_ALL(PAIR, asc_deintlv)
#define REPACK(op, n, N, w, W)                               \
    extern "C" void op##_##w##_##n(void* d, const void* a) { \
        Register<N> r;                                       \
        op(r, reg<W>(a));                                    \
        put(d, r);                                           \
    }
REPACK(asc_pack_to_low, u16, uint16_t, u32, uint32_t)
REPACK(asc_pack_to_high, u16, uint16_t, u32, uint32_t)
REPACK(asc_pack_to_low, u8, uint8_t, u16, uint16_t)
REPACK(asc_pack_to_high, u8, uint8_t, u16, uint16_t)
REPACK(asc_unpack_lower, u32, uint32_t, u16, uint16_t)
REPACK(asc_unpack_upper, u32, uint32_t, u16, uint16_t)
REPACK(asc_unpack_lower, s16, int16_t, s8, int8_t)
REPACK(asc_unpack_upper, s32, int32_t, s16, int16_t)
#define LANE_GATHER(s, T, I)                                                      \
    extern "C" void asc_gather_lanes_##s(void* d, const void* a, const void* i) { \
        Register<T> r;                                                            \
        asc_gather(r, reg<T>(a), reg<I>(i));                                      \
        put(d, r);                                                                \
    }
LANE_GATHER(f32, float, uint32_t)
LANE_GATHER(bf16, bfloat16_t, uint16_t)
LANE_GATHER(u8, uint8_t, uint8_t)
extern "C" void histogram(void* d, const void* a, const void* m, int cumulative, int bin) {
    Register<uint16_t> r = reg<uint16_t>(d);
    const Register<uint8_t> x = reg<uint8_t>(a);
    if (cumulative)
        bin ? asc_cumulative_histogram_bin1(r, x, pred(m)) : asc_cumulative_histogram_bin0(r, x, pred(m));
    else bin ? asc_frequency_histogram_bin1(r, x, pred(m)) : asc_frequency_histogram_bin0(r, x, pred(m));
    put(d, r);
}

// Loads and stores; `ub` is any memory. 1: a fault.
template <typename F>
static long faults(F f) {
    try {
        f();
        return 0;
    } catch (const std::runtime_error&) {
        return 1;
    }
}
#define LOAD(op, s, T)                                              \
    extern "C" long op##_##s(void* d, const void* ub, int offset) { \
        return faults([&] {                                         \
            Register<T> r;                                          \
            op(r, static_cast<const T*>(ub), offset);               \
            put(d, r);                                              \
        });                                                         \
    }
#define FOR_WIDTHS(M, op) M(op, f32, float) M(op, bf16, bfloat16_t) M(op, u8, uint8_t)
FOR_WIDTHS(LOAD, asc_loadalign)
FOR_WIDTHS(LOAD, asc_loadalign_brc_elem)
FOR_WIDTHS(LOAD, asc_loadalign_unpack)
LOAD(asc_loadalign_unpack4, u8, uint8_t)
FOR_WIDTHS(LOAD, asc_loadalign_upsample)
FOR_WIDTHS(LOAD, asc_loadalign_downsample)
FOR_WIDTHS(LOAD, asc_loadalign_brc_datablock)
FOR_WIDTHS(LOAD, asc_loadalign_brc_elem2datablock)
#define LOAD2(op, s, T)                                                      \
    extern "C" long op##_##s(void* d, void* e, const void* ub, int offset) { \
        return faults([&] {                                                  \
            Register<T> r, q;                                                \
            op(r, q, static_cast<const T*>(ub), offset);                     \
            put(d, r), put(e, q);                                            \
        });                                                                  \
    }
FOR_WIDTHS(LOAD2, asc_loadalign_deintlv)
#define POST_UPDATE_LOAD(op, s, T)                                                \
    extern "C" long op##_postupdate_##s(void* d, const void* ub, int step) {     \
        Register<T> r;                                                           \
        const T* p = static_cast<const T*>(ub);                                  \
        op##_postupdate(r, p, step);                                             \
        put(d, r);                                                               \
        return p - static_cast<const T*>(ub);                                    \
    }
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign)
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign_brc_elem)
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign_unpack)
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign_upsample)
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign_downsample)
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign_brc_datablock)
FOR_WIDTHS(POST_UPDATE_LOAD, asc_loadalign_brc_elem2datablock)
POST_UPDATE_LOAD(asc_loadalign_unpack4, u8, uint8_t)
// An address register counts elements; a barrier orders what is in order here.
extern "C" void load_by_address_register(void* d, const void* memory, int start_bytes, int offset) {
    const void* ub = static_cast<const uint8_t*>(memory) + start_bytes;
    Register<uint8_t> x;
    Register<uint16_t> y;
    Register<float> z;
    asc_loadalign(x, static_cast<const uint8_t*>(ub), asc_update_addr_reg_b8(offset));
    asc_mem_bar(VST_VLD);
    asc_loadalign(y, static_cast<const uint16_t*>(ub), asc_update_addr_reg_b16(offset));
    asc_mem_bar(VV_ALL);
    asc_loadalign(z, static_cast<const float*>(ub), asc_update_addr_reg_b32(offset));
    put(d, x), put(static_cast<char*>(d) + 256, y), put(static_cast<char*>(d) + 512, z);
}
// What reductions keep of the lanes above their result.
#define RAW_REDUCTION(op, asc, s, D, T)                                         \
    extern "C" void op##_modes_##s(void* d, const void* a, const void* m) {     \
        Register<D> merged = reg<D>(d), zeroed = reg<D>(d), plain;              \
        op(merged, reg<T>(a), pred(m), MODE_MERGING);                           \
        op(zeroed, reg<T>(a), pred(m), MODE_ZEROING);                           \
        asc(plain, reg<T>(a), pred(m));                                         \
        put(d, merged), put(static_cast<char*>(d) + 256, zeroed), put(static_cast<char*>(d) + 512, plain); \
    }
RAW_REDUCTION(vcadd, asc_reduce_sum, f32, float, float)
RAW_REDUCTION(vcmax, asc_reduce_max, f32, float, float)
RAW_REDUCTION(vcmin, asc_reduce_min, f32, float, float)
// Raw forms: merging, zeroing, and the instruction without a mode.
#define RAW_FORM(op, asc, s, T, B)                                                                   \
    extern "C" void op##_modes_##s(void* d, const void* a, const void* b, const void* m) {           \
        Register<T> merged = reg<T>(d), zeroed = reg<T>(d), plain;                                   \
        op(merged, reg<T>(a), B, pred(m), MODE_MERGING);                                             \
        op(zeroed, reg<T>(a), B, pred(m), MODE_ZEROING);                                             \
        asc(plain, reg<T>(a), B, pred(m));                                                           \
        put(d, merged), put(static_cast<char*>(d) + 256, zeroed), put(static_cast<char*>(d) + 512, plain); \
    }
template <typename T>
static T scalar_of(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
#define RAW_VECTOR(op, asc, s, T) RAW_FORM(op, asc, s, T, reg<T>(b))
#define RAW_SCALAR(op, asc, s, T) RAW_FORM(op, asc, s, T, scalar_of<T>(b))
RAW_VECTOR(vadd, asc_add, f16, half)
RAW_VECTOR(vsub, asc_sub, f32, float)
RAW_VECTOR(vmul, asc_mul, bf16, bfloat16_t)
RAW_VECTOR(vdiv, asc_div, f32, float)
RAW_VECTOR(vmax, asc_max, f32, float)
RAW_VECTOR(vmin, asc_min, s16, int16_t)
RAW_VECTOR(vand, asc_and, u32, uint32_t)
RAW_VECTOR(vor, asc_or, u16, uint16_t)
RAW_VECTOR(vxor, asc_xor, u8, uint8_t)
RAW_VECTOR(vshl, asc_shiftleft, s32, int32_t)
RAW_VECTOR(vshr, asc_shiftright, s16, int16_t)
RAW_VECTOR(vabsdif, asc_abs_sub, f32, float)
RAW_SCALAR(vadds, asc_add_scalar, s32, int32_t)
RAW_SCALAR(vmuls, asc_mul_scalar, f32, float)
RAW_SCALAR(vmaxs, asc_max_scalar, bf16, bfloat16_t)
RAW_SCALAR(vmins, asc_min_scalar, u16, uint16_t)
RAW_SCALAR(vshls, asc_shiftleft_scalar, u32, uint32_t)
RAW_SCALAR(vshrs, asc_shiftright_scalar, s32, int32_t)
#define RAW_ONE(op, asc, s, T)                                                                       \
    extern "C" void op##_modes_##s(void* d, const void* a, const void*, const void* m) {             \
        Register<T> merged = reg<T>(d), zeroed = reg<T>(d), plain;                                   \
        op(merged, reg<T>(a), pred(m), MODE_MERGING);                                                \
        op(zeroed, reg<T>(a), pred(m), MODE_ZEROING);                                                \
        asc(plain, reg<T>(a), pred(m));                                                              \
        put(d, merged), put(static_cast<char*>(d) + 256, zeroed), put(static_cast<char*>(d) + 512, plain); \
    }
RAW_ONE(vln, asc_ln, f32, float)
RAW_ONE(vsqrt, asc_sqrt, f32, float)
RAW_ONE(vabs, asc_abs, s16, int16_t)
RAW_ONE(vneg, asc_neg, f16, half)
RAW_ONE(vrelu, asc_relu, f32, float)
RAW_ONE(vnot, asc_not, u8, uint8_t)
RAW_ONE(vexp, asc_exp, f32, float)
extern "C" void vaxpy_modes_f32(void* d, const void* a, const void* b, const void* m) {
    Register<float> merged = reg<float>(d), zeroed = reg<float>(d), plain = reg<float>(d);
    vaxpy(merged, reg<float>(a), scalar_of<float>(b), pred(m), MODE_MERGING);
    vaxpy(zeroed, reg<float>(a), scalar_of<float>(b), pred(m), MODE_ZEROING);
    asc_axpy(plain, reg<float>(a), scalar_of<float>(b), pred(m));
    put(d, merged), put(static_cast<char*>(d) + 256, zeroed), put(static_cast<char*>(d) + 512, plain);
}
#define STORE(op, s, T)                                                            \
    extern "C" long op##_##s(void* ub, const void* a, int offset, const void* m) {       \
        return faults([&] { op(static_cast<T*>(ub), reg<T>(a), offset, pred(m)); });     \
    }
FOR_WIDTHS(STORE, asc_storealign)
#define POST_UPDATE_STORE(op, s, T)                                                       \
    extern "C" long op##_postupdate_##s(void* ub, const void* a, int step, const void* m) { \
        T* p = static_cast<T*>(ub);                                                       \
        op##_postupdate(p, reg<T>(a), int64_t{step}, pred(m));                            \
        return p - static_cast<T*>(ub);                                                   \
    }
FOR_WIDTHS(POST_UPDATE_STORE, asc_storealign)
STORE(asc_storealign_pack, u32, uint32_t)
STORE(asc_storealign_pack, u16, uint16_t)
STORE(asc_storealign_pack_quarter, u32, uint32_t)
#define STORE1(op, s, T)                                            \
    extern "C" long op##_##s(void* ub, const void* a, int offset) {             \
        return faults([&] { op(static_cast<T*>(ub), reg<T>(a), offset); });     \
    }
FOR_WIDTHS(STORE1, asc_storealign_1st)
extern "C" long storealign_blocks_bf16(void* ub, const void* a, int block_stride, int repeat_stride,
                                       const void* m) {
    bfloat16_t* p = static_cast<bfloat16_t*>(ub);
    asc_storealign_postupdate(p, reg<bfloat16_t>(a), static_cast<uint16_t>(block_stride),
                              static_cast<uint16_t>(repeat_stride), pred(m));
    return p - static_cast<bfloat16_t*>(ub);
}
extern "C" long storealign_intlv_u16(void* ub, const void* a, const void* b, int offset, const void* m) {
    return faults([&] { asc_storealign_intlv(static_cast<uint16_t*>(ub), reg<uint16_t>(a), reg<uint16_t>(b), offset, pred(m)); });
}
extern "C" long storealign_intlv_f32(void* ub, const void* a, const void* b, int offset, const void* m) {
    return faults([&] { asc_storealign_intlv(static_cast<float*>(ub), reg<float>(a), reg<float>(b), offset, pred(m)); });
}
extern "C" void gather_datablock_bf16(void* d, const void* ub, const void* i, const void* m) {
    Register<bfloat16_t> r;
    if (m) asc_gather_datablock(r, static_cast<const bfloat16_t*>(ub), reg<uint32_t>(i), pred(m));
    else asc_gather_datablock(r, static_cast<const bfloat16_t*>(ub), reg<uint32_t>(i));
    put(d, r);
}
extern "C" long gather_datablock_faults(const void* ub, const void* i) {
    return faults([&] {
        Register<float> r;
        asc_gather_datablock(r, static_cast<const float*>(ub), reg<uint32_t>(i));
    });
}
#define GATHER(s, T, I)                                                                                  \
    extern "C" long asc_gather_##s(void* d, const void* ub, const void* i, const void* m) {              \
        return faults([&] {                                                                              \
            Register<ascend::isa::gathered_t<T>> r;                                                      \
            asc_gather(r, static_cast<const T*>(ub), reg<I>(i), pred(m));                                \
            put(d, r);                                                                                   \
        });                                                                                              \
    }                                                                                                    \
    extern "C" long asc_scatter_##s(void* ub, const void* a, const void* i, const void* m) {             \
        return faults([&] { asc_scatter(static_cast<T*>(ub), reg<T>(a), reg<I>(i), pred(m)); });         \
    }
GATHER(f32, float, uint32_t)
GATHER(f16, half, uint16_t)
extern "C" void asc_gather_s8(void* d, const void* ub, const void* i, const void* m) {
    Register<int16_t> r;
    asc_gather(r, static_cast<const int8_t*>(ub), reg<uint16_t>(i), pred(m));
    put(d, r);
}
// Predicates.
#define PATTERN(w, name) \
    extern "C" void create_##w##_##name(void* d) { put(d, asc_create_mask_##w(PAT_##name)); }
#define PATTERNS(w)                                                                                    \
    PATTERN(w, ALL)                                                                                    \
    PATTERN(w, ALLF) PATTERN(w, VL1) PATTERN(w, VL2) PATTERN(w, VL3) PATTERN(w, VL4) PATTERN(w, VL8) PATTERN(w, VL16) PATTERN(w, VL32) \
        PATTERN(w, VL64) PATTERN(w, VL128) PATTERN(w, M3) PATTERN(w, M4) PATTERN(w, H) PATTERN(w, Q)
PATTERNS(b8)
PATTERNS(b16)
PATTERNS(b32)
PATTERNS(b64)
#define UPDATE(w)                                             \
    extern "C" uint32_t update_##w(void* d, uint32_t count) { \
        put(d, asc_update_mask_##w(count));                   \
        return count;                                         \
    }
UPDATE(b8)
UPDATE(b16)
UPDATE(b32)
#define PRED2(op)                                                                     \
    extern "C" void pred_##op(void* d, const void* a, const void* b, const void* m) { \
        Predicate r;                                                                  \
        asc_##op(r, pred(a), pred(b), pred(m));                                       \
        put(d, r);                                                                    \
    }
PRED2(and)
PRED2(or)
PRED2(xor)
PRED2(select)
#define PRED1(op)                                       \
    extern "C" void pred_##op(void* d, const void* a) { \
        Predicate r;                                    \
        asc_##op(r, pred(a));                           \
        put(d, r);                                      \
    }
PRED1(pack_to_low)
PRED1(pack_to_high)
PRED1(unpack_lower)
PRED1(unpack_upper)
extern "C" void pred_not(void* d, const void* a, const void* m) {
    Predicate r;
    asc_not(r, pred(a), pred(m));
    put(d, r);
}
#define PRED_PAIR(op)                                                           \
    extern "C" void pred_##op(void* d, void* e, const void* a, const void* b) { \
        Predicate x, y;                                                         \
        asc_##op(x, y, pred(a), pred(b));                                       \
        put(d, x), put(e, y);                                                   \
    }
PRED_PAIR(intlv_b8)
PRED_PAIR(intlv_b16)
PRED_PAIR(intlv_b32)
PRED_PAIR(deintlv_b8)
PRED_PAIR(deintlv_b16)
PRED_PAIR(deintlv_b32)
#define PRED_LOAD(op)                                                    \
    extern "C" long pred_##op(void* d, const uint32_t* ub, int offset) { \
        return faults([&] {                                              \
            Predicate r;                                                 \
            asc_##op(r, ub, offset);                                     \
            put(d, r);                                                   \
        });                                                              \
    }
PRED_LOAD(loadalign)
PRED_LOAD(loadalign_upsample)
PRED_LOAD(loadalign_downsample)
extern "C" long pred_storealign(uint32_t* ub, const void* a, int offset) {
    return faults([&] { asc_storealign(ub, pred(a), offset); });
}
extern "C" long pred_storealign_pack(uint32_t* ub, const void* a, int offset) {
    return faults([&] { asc_storealign_pack(ub, pred(a), offset); });
}

// Cost: slots of each class that a short function takes.
extern "C" void count_slots(uint32_t* counts) {
    using namespace ascend::isa;
    alignas(64) static float ub[128];
    take_vf_counts();
    ASC_VF;
    Predicate m = asc_create_mask_b32(PAT_ALL);
    Register<float> a, b;
    Register<int32_t> i;
    asc_loadalign(a, ub, 0);
    asc_add(b, a, a, m);
    asc_exp(b, b, m);
    vcvt(i, b, m, ROUND_R, RS_ENABLE, MODE_ZEROING);
    asc_add_scalar(i, i, 1, m);
    asc_reduce_sum(b, b, m);
    asc_intlv(a, b, a, b);
    asc_gather(a, a, (Register<uint32_t>&)i);
    asc_gather(a, ub, (Register<uint32_t>&)i, Predicate{});
    asc_storealign(ub, a, 64, m);
    const VfCounts taken = take_vf_counts();
    for (int k = 0; k < kVfClassCount; ++k)
        counts[k] = taken.counts[k];
    counts[kVfClassCount] = taken.calls;
}
