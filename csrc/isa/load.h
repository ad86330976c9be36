// SPDX-License-Identifier: MIT
// MTE1 instructions under their public names. Sources: ascend950.md 2.2, 4.1, 6; tilelang_ascend.md 5.
#pragma once

#include "isa/sync.h"

namespace ascend::isa {
// Of one element: the fp4 types hold two.
template <class T>
constexpr int kElementBits = std::is_same_v<T, float4_e2m1x2_t> || std::is_same_v<T, float4_e1m2x2_t> ? 4 : sizeof(T) * 8;

struct LoadL0 {
    bool b_side, transpose;
    int element_bits;
    const void* l0;
    const void* l1;
    int64_t m_start, k_start, m_step, k_step, src_stride, dst_stride;
    bool is_bf16 = false;
};
void copy_l12l0(const LoadL0& load, const void* pc);
void copy_l12l0_mx(bool b_side, uint64_t address, const void* l1, int64_t x_start, int64_t y_start, int64_t x_step,
                   int64_t y_step, int64_t src_stride, int64_t dst_stride, const void* pc);
void copy_l12ub(const void* ub, const void* l1, int64_t sub_block, int64_t bursts, int64_t units, int64_t src_gap,
                int64_t dst_gap, const void* pc);
void fill_l0(bool b_side, const void* l0, uint32_t word, int element_bytes, uint64_t repeat, uint64_t blocks, uint64_t gap,
             const void* pc);
// widen: 0 copies as they are, 1 fp16 to fp32, 2 bf16 to fp32
void copy_l12_parameters(bool bias, uint64_t address, const void* l1, int64_t bytes, int widen, const void* pc);
}  // namespace ascend::isa

// Fractals of 512 bytes: source (k_start + k) * src_stride + m_start + m, destination k * dst_stride + m.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0a(T* l0a, const T* l1, int64_t m_start, int64_t k_start, int64_t m_step,
                                            int64_t k_step, int64_t src_stride, int64_t dst_stride) {
    ascend::isa::copy_l12l0({false, false, ascend::isa::kElementBits<T>, l0a, l1, m_start, k_start, m_step, k_step, src_stride,
                             dst_stride, std::is_same_v<T, bfloat16_t>}, ASCEND_SIM_HERE);
}
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0b(T* l0b, const T* l1, int64_t m_start, int64_t k_start, int64_t m_step,
                                            int64_t k_step, int64_t src_stride, int64_t dst_stride) {
    ascend::isa::copy_l12l0({true, false, ascend::isa::kElementBits<T>, l0b, l1, m_start, k_start, m_step, k_step, src_stride,
                             dst_stride, std::is_same_v<T, bfloat16_t>}, ASCEND_SIM_HERE);
}
// Each fractal transposed: destination m * dst_stride + k. Smaller elements: g row blocks become g fractals, from
// (m/g) * dst_stride + g*k on; g is 2 for 8-bit and 4 for 4-bit elements. 32-bit elements take pairs of column blocks,
// which go to 2m * dst_stride + k/2 and (2m + 1) * dst_stride + k/2.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0a_transpose(T* l0a, const T* l1, int64_t m_start, int64_t k_start,
                                                      int64_t m_step, int64_t k_step, int64_t src_stride,
                                                      int64_t dst_stride) {
    ascend::isa::copy_l12l0({false, true, ascend::isa::kElementBits<T>, l0a, l1, m_start, k_start, m_step, k_step, src_stride,
                             dst_stride}, ASCEND_SIM_HERE);
}
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0b_transpose(T* l0b, const T* l1, int64_t m_start, int64_t k_start,
                                                      int64_t m_step, int64_t k_step, int64_t src_stride,
                                                      int64_t dst_stride) {
    ascend::isa::copy_l12l0({true, true, ascend::isa::kElementBits<T>, l0b, l1, m_start, k_start, m_step, k_step, src_stride,
                             dst_stride}, ASCEND_SIM_HERE);
}

// Scales, in fractals of 32 bytes (16 rows x 2): source (x_start + x) * src_stride + y_start + y, destination
// x * dst_stride + y behind `address` = byte address of the data in L0A or L0B / 16.
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0a_mx(uint64_t address, const fp8_e8m0_t* l1, int64_t x_start, int64_t y_start,
                                               int64_t x_step, int64_t y_step, int64_t src_stride,
                                               int64_t dst_stride) {
    ascend::isa::copy_l12l0_mx(false, address, l1, x_start, y_start, x_step, y_step, src_stride, dst_stride,
                               ASCEND_SIM_HERE);
}
ASCEND_SIM_INSTRUCTION void asc_copy_l12l0b_mx(uint64_t address, const fp8_e8m0_t* l1, int64_t x_start, int64_t y_start,
                                               int64_t x_step, int64_t y_step, int64_t src_stride,
                                               int64_t dst_stride) {
    ascend::isa::copy_l12l0_mx(true, address, l1, x_start, y_start, x_step, y_step, src_stride, dst_stride,
                               ASCEND_SIM_HERE);
}

// Bias: `bytes` of L1 to the byte address of BT; fp32 and int32 as they are, fp16 and bf16 become fp32.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_l12bt(uint64_t bt_address, const T* l1, int64_t bytes) {
    constexpr int kWiden = std::is_same_v<T, half> ? 1 : std::is_same_v<T, bfloat16_t> ? 2 : 0;
    ascend::isa::copy_l12_parameters(true, bt_address, l1, bytes, kWiden, ASCEND_SIM_HERE);
}
// Parameters of FIX: `bytes` of L1 to the byte address of FB, as they are.
ASCEND_SIM_INSTRUCTION void asc_copy_l12fb(uint64_t fb_address, const void* l1, int64_t bytes) {
    ascend::isa::copy_l12_parameters(false, fb_address, l1, bytes, 0, ASCEND_SIM_HERE);
}

// To UB of vector core `sub_block`: n bursts of `len` units; units and gaps (tail to head) of 32 bytes. Public is the way,
// the list of arguments is this project's.
ASCEND_SIM_INSTRUCTION void asc_copy_l12ub(void* ub, const void* l1, int64_t sub_block, int64_t n, int64_t len,
                                           int64_t src_gap, int64_t dst_gap) {
    ascend::isa::copy_l12ub(ub, l1, sub_block, n, len, src_gap, dst_gap, ASCEND_SIM_HERE);
}

// As asc_fill_l1, with blocks of a fractal, 512 bytes. The names are this project's.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_fill_l0a(T* l0a, uint32_t word, asc_fill_value_config config) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4);
    ascend::isa::fill_l0(false, l0a, word, sizeof(T), config.repeat, config.blk_num, config.dst_gap, ASCEND_SIM_HERE);
}
template <class T>
ASCEND_SIM_INSTRUCTION void asc_fill_l0b(T* l0b, uint32_t word, asc_fill_value_config config) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4);
    ascend::isa::fill_l0(true, l0b, word, sizeof(T), config.repeat, config.blk_num, config.dst_gap, ASCEND_SIM_HERE);
}
