// SPDX-License-Identifier: MIT
// MTE2 and MTE3 instructions under their public names. Sources: ascend950.md 6, tilelang_ascend.md 5.
#pragma once

#include "isa/sync.h"

namespace ascend {
class Core;
}

namespace ascend::isa {
void set_gm2l1_nz_para(int64_t count, int64_t n_stride, int64_t c0_stride, int64_t matrix_stride, const void* pc);
void copy_gm2l1_nd2nz(const void* l1, const void* gm, int element_bits, bool is_bf16, int64_t row_stride_bytes, int l2_mode,
                      int64_t rows, int64_t columns, int64_t outer_stride_bytes, const void* pc);
void copy_gm2l1_dn2nz(const void* l1, const void* gm, int element_bits, int64_t column_stride_bytes, int l2_mode,
                      int64_t rows, int64_t columns, int64_t outer_stride_bytes, const void* pc);
void copy_gm2l1(const void* l1, const void* gm, int64_t rows, int64_t row_bytes, int l2_mode, int64_t src_stride,
                int64_t dst_stride, const void* pc);
void fill_l1(const void* l1, uint32_t word, int element_bytes, uint64_t repeat, uint64_t blocks, uint64_t gap,
             const void* pc);
void set_copy_pad_val(uint32_t value);
void copy_gm2ub(const void* ub, const void* gm, int element_bytes, int64_t rows, int64_t row_bytes, int64_t left_pad,
                int64_t right_pad, bool constant_pad, int l2_mode, int64_t src_stride, int64_t dst_stride,
                const void* pc);
void copy_ub2gm(const void* gm, const void* ub, int64_t rows, int64_t row_bytes, int l2_mode, int64_t dst_stride,
                int64_t src_stride, const void* pc);
void copy_ub2l1(const void* l1, const void* ub, int64_t bursts, int64_t units, int64_t src_gap, int64_t dst_gap,
                const void* pc);
// kind: 0 none, else 1 + 6 * operation (add, max, min) + type (float, half, bfloat16, int8, int16, int32)
void set_atomic(int kind);
constexpr int atomic_bytes(int kind) {
    constexpr int kBytes[] = {4, 2, 2, 1, 2, 4};
    return kind == 0 ? 0 : kBytes[(kind - 1) % 6];
}
// One row into global memory, by plain store or by the armed read-modify-write.
void store_row(Core& core, uint64_t gm, const uint8_t* data, uint32_t bytes, int atomic_kind);
}  // namespace ascend::isa

// Strides of the next fractal copies, in 32-byte units: between rows, between 32-byte columns, between matrices.
ASCEND_SIM_INSTRUCTION void asc_set_gm2l1_nz_para(int64_t count, int64_t n_stride, int64_t c0_stride,
                                                  int64_t matrix_stride) {
    ascend::isa::set_gm2l1_nz_para(count, n_stride, c0_stride, matrix_stride, ASCEND_SIM_HERE);
}

// Row-major to fractal: element (r, c) goes to unit (c / C0) * c0_stride + r * n_stride, slot c % C0; the last unit of a
// row is zero-filled. Zero counts are no-ops.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_gm2l1_nd2nz(T* l1, const T* gm, int64_t row_stride_bytes,
                                                 asc_load_l2_cache_mode l2_mode, int64_t rows, int64_t columns,
                                                 int64_t outer_stride_bytes, bool /*small_c0*/) {
    ascend::isa::copy_gm2l1_nd2nz(l1, gm, sizeof(T) * 8, std::is_same_v<T, bfloat16_t>, row_stride_bytes, l2_mode, rows, columns, outer_stride_bytes,
                                  ASCEND_SIM_HERE);
}

// Column-major source: element (n, d) is read at d * stride + n.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_gm2l1_dn2nz(T* l1, const T* gm, int64_t column_stride_bytes,
                                                 asc_load_l2_cache_mode l2_mode, int64_t rows, int64_t columns,
                                                 int64_t outer_stride_bytes, bool /*small_c0*/) {
    ascend::isa::copy_gm2l1_dn2nz(l1, gm, sizeof(T) * 8, column_stride_bytes, l2_mode, rows, columns,
                                  outer_stride_bytes, ASCEND_SIM_HERE);
}

// As it is: n rows of `len` bytes, strides head to head in bytes, 32-byte units in L1. The name is public, the list of
// arguments this project's.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_gm2l1(T* l1, const T* gm, int64_t n, int64_t len, asc_load_l2_cache_mode l2_mode,
                                           int64_t src_stride, int64_t dst_stride) {
    ascend::isa::copy_gm2l1(l1, gm, n, len, l2_mode, src_stride, dst_stride, ASCEND_SIM_HERE);
}

template <class T>
ASCEND_SIM_INSTRUCTION void asc_fill_l1(T* l1, uint32_t word, asc_fill_value_config config) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4);
    ascend::isa::fill_l1(l1, word, sizeof(T), config.repeat, config.blk_num, config.dst_gap, ASCEND_SIM_HERE);
}

template <class T>
ASCEND_SIM_INSTRUCTION void asc_set_copy_pad_val(T value) {
    static_assert(sizeof(T) <= 4);
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    ascend::isa::set_copy_pad_val(bits);
}

// n rows of `len` bytes, strides head to head in bytes; pads in elements, filled with the set pad value or the row's
// first element.
template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_gm2ub_align(T* ub, const T* gm, int64_t n, int64_t len, int64_t left_pad,
                                                 int64_t right_pad, bool constant_pad, asc_load_l2_cache_mode l2_mode,
                                                 int64_t src_stride, int64_t dst_stride) {
    ascend::isa::copy_gm2ub(ub, gm, sizeof(T), n, len, left_pad, right_pad, constant_pad, l2_mode, src_stride,
                            dst_stride, ASCEND_SIM_HERE);
}

template <class T>
ASCEND_SIM_INSTRUCTION void asc_copy_ub2gm_align(T* gm, const T* ub, int64_t n, int64_t len,
                                                 asc_store_l2_cache_mode l2_mode, int64_t dst_stride,
                                                 int64_t src_stride) {
    ascend::isa::copy_ub2gm(gm, ub, n, len, l2_mode, dst_stride, src_stride, ASCEND_SIM_HERE);
}

// Units and gaps (tail to head) of 32 bytes; the destination is L1 of the block's cube core.
ASCEND_SIM_INSTRUCTION void asc_copy_ub2l1(void* l1, const void* ub, int64_t n, int64_t len, int64_t src_gap,
                                           int64_t dst_gap) {
    ascend::isa::copy_ub2l1(l1, ub, n, len, src_gap, dst_gap, ASCEND_SIM_HERE);
}

// Arms atomic stores of MTE3 and FIX to global memory.
#define ASCEND_SIM_ATOMIC(operation, index)                                                                      \
    inline void asc_set_atomic_##operation##_float() { ascend::isa::set_atomic(1 + 6 * (index)); }               \
    inline void asc_set_atomic_##operation##_float16() { ascend::isa::set_atomic(2 + 6 * (index)); }             \
    inline void asc_set_atomic_##operation##_bfloat() { ascend::isa::set_atomic(3 + 6 * (index)); }              \
    inline void asc_set_atomic_##operation##_int8() { ascend::isa::set_atomic(4 + 6 * (index)); }                \
    inline void asc_set_atomic_##operation##_int16() { ascend::isa::set_atomic(5 + 6 * (index)); }               \
    inline void asc_set_atomic_##operation##_int32() { ascend::isa::set_atomic(6 + 6 * (index)); }
ASCEND_SIM_ATOMIC(add, 0)
ASCEND_SIM_ATOMIC(max, 1)
ASCEND_SIM_ATOMIC(min, 2)
#undef ASCEND_SIM_ATOMIC
inline void asc_set_atomic_none() { ascend::isa::set_atomic(0); }
