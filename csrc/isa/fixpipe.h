// SPDX-License-Identifier: MIT
// Fixpipe instructions under their public names. Sources: ascend950.md 2.2, 4.4; tilelang_ascend.md 5.
//
// A result of L0C is scaled, passes the activation and the upper limit, is narrowed and stored. Rounding is to nearest,
// ties to even (HiF8: away from zero, or hybrid). fp16 and bf16 overflow to inf; 8-bit results saturate and NaN gives 0.
// Layouts: NZ unless nz2nd (row-major) or nz2dn (column-major). NZ blocks are 16 columns wide; 8-bit results merge two
// into 32 columns, `split` makes two of 8 out of one of 4-byte results. Only live elements are written.
#pragma once

#include "isa/sync.h"

namespace ascend::isa {
enum class FixTo : uint8_t { ub, gm, l1 };
struct Fix {
    FixTo to;
    const void* destination;
    int64_t l0c;
    bool int32;  // what the accumulator holds, else fp32
    int64_t n, m, dst_stride, src_stride;  // dst_stride: elements (nz2nd, nz2dn) or 32-byte units (NZ); src_stride: rows
    int64_t sub_block = 0;
    int dual = 0, l2_mode = 0, unit_flag = 0, quant = 0, relu = 0;
    bool split = false, nz2nd = false, nz2dn = false, clip = false;
};
void copy_l0c(const Fix& fix, const void* pc);
void set_l0c_copy_nz_para(int64_t count, int64_t src_stride, int64_t dst_stride, const void* pc);
// Parameters that FIX reads: Core::fix_registers.
enum FixRegister : uint8_t { fix_quant_word, fix_quant_vector, fix_slope, fix_slope_vector, fix_limit, fix_c0_stride };
void set_fix_parameter(const char* name, FixRegister which, uint64_t value, const void* pc);
template <class C>
constexpr bool is_int32_accumulator = std::is_same_v<C, int32_t>;
}  // namespace ascend::isa

// The next copies with nz2nd or nz2dn move `count` matrices: src_stride rows of L0C (16 elements) and dst_stride elements
// apart. 0 and 1 are one matrix.
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_nz_para(int64_t count, int64_t src_stride, int64_t dst_stride) {
    ascend::isa::set_l0c_copy_nz_para(count, src_stride, dst_stride, ASCEND_SIM_HERE);
}

// Parameters of conversions. Public is what they hold, the names are this project's. They take effect between FIX
// instructions, in program order.
//
// The word of a scaled mode: scale, a 1-8-10 float, in bits 13-31; for 8-bit integers an offset of 9 bits at 37-45, added
// after rounding, and in bit 46 whether they are signed.
constexpr uint64_t asc_l0c_quant_word(float scale, int offset = 0, bool is_signed = true) {
    return (ascend::f32_bits(scale) & 0xffffe000u) | (uint64_t(offset) & 0x1ff) << 37 | uint64_t(is_signed) << 46;
}
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_quant(uint64_t word) {
    ascend::isa::set_fix_parameter("asc_set_l0c_copy_quant", ascend::isa::fix_quant_word, word, ASCEND_SIM_HERE);
}
// Of the V modes: a word a column in FB.
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_quant_vector(uint64_t fb_address) {
    ascend::isa::set_fix_parameter("asc_set_l0c_copy_quant_vector", ascend::isa::fix_quant_vector, fb_address,
                                   ASCEND_SIM_HERE);
}
// What ASC_RELU_PRE_LEAKY multiplies negative values with, rounded to a 1-8-10 float towards zero.
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_leaky_relu(float slope) {
    ascend::isa::set_fix_parameter("asc_set_l0c_copy_leaky_relu", ascend::isa::fix_slope,
                                   ascend::f32_bits(slope) & 0xffffe000u, ASCEND_SIM_HERE);
}
// Of ASC_RELU_PRE_VECTOR: a slope a column in FB, 1-8-10 floats in 4 bytes.
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_prelu_vector(uint64_t fb_address) {
    ascend::isa::set_fix_parameter("asc_set_l0c_copy_prelu_vector", ascend::isa::fix_slope_vector, fb_address,
                                   ASCEND_SIM_HERE);
}
// With `clip`: no value above it leaves the activation. Compared before narrowing.
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_clip(float limit) {
    ascend::isa::set_fix_parameter("asc_set_l0c_copy_clip", ascend::isa::fix_limit, ascend::f32_bits(limit),
                                   ASCEND_SIM_HERE);
}
// nz2dn reads every `rows`-th row of L0C, which takes four times as long. 0 is 1.
ASCEND_SIM_INSTRUCTION void asc_set_l0c_copy_c0_stride(int64_t rows) {
    ascend::isa::set_fix_parameter("asc_set_l0c_copy_c0_stride", ascend::isa::fix_c0_stride, uint64_t(rows),
                                   ASCEND_SIM_HERE);
}

// Accumulator to UB: n columns, m rows. dual 1: upper half of the rows to vector core 0, lower half to 1; dual 2: the same
// with columns.
template <class D, class C>
ASCEND_SIM_INSTRUCTION void asc_copy_l0c2ub(D* ub, const C* l0c, int64_t n, int64_t m, int64_t dst_stride,
                                            int64_t src_stride, int64_t sub_block, asc_dual_dst_mode dual,
                                            asc_unit_flag_mode unit_flag, asc_quant_mode quant, asc_relu_pre_mode relu,
                                            bool split, bool nz2nd, bool nz2dn, bool clip) {
    ascend::isa::copy_l0c({ascend::isa::FixTo::ub, ub, (int64_t)(uintptr_t)l0c, ascend::isa::is_int32_accumulator<C>, n, m,
                           dst_stride, src_stride, sub_block, dual, 0, unit_flag, quant, relu, split, nz2nd, nz2dn, clip},
                          ASCEND_SIM_HERE);
}
// The same to global memory; an armed store atomic applies.
template <class D, class C>
ASCEND_SIM_INSTRUCTION void asc_copy_l0c2gm(D* gm, const C* l0c, int64_t n, int64_t m, int64_t dst_stride,
                                            int64_t src_stride, asc_store_l2_cache_mode l2_mode,
                                            asc_unit_flag_mode unit_flag, asc_quant_mode quant, asc_relu_pre_mode relu,
                                            bool split, bool nz2nd, bool nz2dn, bool clip) {
    ascend::isa::copy_l0c({ascend::isa::FixTo::gm, gm, (int64_t)(uintptr_t)l0c, ascend::isa::is_int32_accumulator<C>, n, m,
                           dst_stride, src_stride, 0, 0, l2_mode, unit_flag, quant, relu, split, nz2nd, nz2dn, clip},
                          ASCEND_SIM_HERE);
}
// To L1.
template <class D, class C>
ASCEND_SIM_INSTRUCTION void asc_copy_l0c2l1(D* l1, const C* l0c, int64_t n, int64_t m, int64_t dst_stride,
                                            int64_t src_stride, asc_unit_flag_mode unit_flag, asc_quant_mode quant,
                                            asc_relu_pre_mode relu, bool split = false, bool nz2nd = false,
                                            bool nz2dn = false, bool clip = false) {
    ascend::isa::copy_l0c({ascend::isa::FixTo::l1, l1, (int64_t)(uintptr_t)l0c, ascend::isa::is_int32_accumulator<C>, n, m,
                           dst_stride, src_stride, 0, 0, 0, unit_flag, quant, relu, split, nz2nd, nz2dn, clip},
                          ASCEND_SIM_HERE);
}
