// SPDX-License-Identifier: MIT
// Fixpipe instructions under their public names. Sources: ascend950.md 2.2, 4.4; tilelang_ascend.md 5.
#pragma once

#include "isa/sync.h"

namespace ascend::isa {
enum class FixTo : uint8_t { ub, gm, l1 };
struct Fix {
    FixTo to;
    const void* destination;
    int64_t l0c;
    int64_t n, m, dst_stride, src_stride;  // dst_stride: elements (row-major) or 32-byte units (NZ); src_stride: rows
    int64_t sub_block = 0;
    int dual = 0, l2_mode = 0, unit_flag = 0, quant = 0, relu = 0;
    bool nz2nd = false, nz2dn = false;
};
void copy_l0c(const Fix& fix, const void* pc);
void set_l0c_copy_nz_para(int64_t count, int64_t src_stride, int64_t dst_stride);
}  // namespace ascend::isa

inline void asc_set_l0c_copy_nz_para(int64_t count, int64_t src_stride, int64_t dst_stride) {
    ascend::isa::set_l0c_copy_nz_para(count, src_stride, dst_stride);
}

// Fractal accumulator to UB: n columns, m rows. dual 1: upper half of the rows to vector core 0, lower half to 1.
template <class D, class C>
ASCEND_SIM_INSTRUCTION void asc_copy_l0c2ub(D* ub, const C* l0c, int64_t n, int64_t m, int64_t dst_stride,
                                            int64_t src_stride, int64_t sub_block, asc_dual_dst_mode dual,
                                            asc_unit_flag_mode unit_flag, asc_quant_mode quant, asc_relu_pre_mode relu,
                                            bool /*split*/, bool nz2nd, bool nz2dn, bool /*clip*/) {
    ascend::isa::copy_l0c({ascend::isa::FixTo::ub, ub, (int64_t)(uintptr_t)l0c, n, m, dst_stride, src_stride, sub_block,
                           dual, 0, unit_flag, quant, relu, nz2nd, nz2dn}, ASCEND_SIM_HERE);
}
// The same to global memory; an armed store atomic applies.
template <class D, class C>
ASCEND_SIM_INSTRUCTION void asc_copy_l0c2gm(D* gm, const C* l0c, int64_t n, int64_t m, int64_t dst_stride,
                                            int64_t src_stride, asc_store_l2_cache_mode l2_mode,
                                            asc_unit_flag_mode unit_flag, asc_quant_mode quant, asc_relu_pre_mode relu,
                                            bool /*split*/, bool nz2nd, bool nz2dn, bool /*clip*/) {
    ascend::isa::copy_l0c({ascend::isa::FixTo::gm, gm, (int64_t)(uintptr_t)l0c, n, m, dst_stride, src_stride, 0, 0,
                           l2_mode, unit_flag, quant, relu, nz2nd, nz2dn}, ASCEND_SIM_HERE);
}
// To L1 in NZ order: blocks of 16 columns, dst_stride 32-byte units apart.
template <class D, class C>
ASCEND_SIM_INSTRUCTION void asc_copy_l0c2l1(D* l1, const C* l0c, int64_t n, int64_t m, int64_t dst_stride,
                                            int64_t src_stride, asc_unit_flag_mode unit_flag, asc_quant_mode quant,
                                            asc_relu_pre_mode relu) {
    ascend::isa::copy_l0c({ascend::isa::FixTo::l1, l1, (int64_t)(uintptr_t)l0c, n, m, dst_stride, src_stride, 0, 0, 0,
                           unit_flag, quant, relu, false, false}, ASCEND_SIM_HERE);
}
