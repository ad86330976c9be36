// SPDX-License-Identifier: MIT
// The kernel of test_cube_programs.py: carries out a list of cube-side instructions, each when the one before is done.
#include "isa/instruction.h"

namespace {
template <class T>
T* at(int64_t offset) { return reinterpret_cast<T*>(offset); }
}  // namespace

// A step is eight numbers: what, and its operands in the order of the instruction.
extern "C" __global__ __cube__ void walk(__gm__ bfloat16_t* gm, __gm__ float* out, __gm__ int64_t* steps, __gm__ int64_t* count) {
    for (int64_t i = 0; i < count[0]; ++i) {
        const int64_t* p = steps + i * 8;
        switch (p[0]) {
            case 0:  // nd2nz: l1, first element, row stride, rows, columns, n stride, c0 stride
                asc_set_gm2l1_nz_para(1, p[6], p[7], 0);
                asc_copy_gm2l1_nd2nz(at<bfloat16_t>(p[1]), gm + p[2], p[3] * 2, asc_load_l2_cache_mode{}, p[4], p[5], 0, false);
                break;
            case 1: asc_copy_l12l0a(at<bfloat16_t>(p[1]), at<bfloat16_t>(p[2]), p[3], p[4], p[5], p[6], p[7], p[5]); break;
            case 2: asc_copy_l12l0b(at<bfloat16_t>(p[1]), at<bfloat16_t>(p[2]), p[3], p[4], p[5], p[6], p[7], p[5]); break;
            case 3: asc_copy_l12l0a_transpose(at<bfloat16_t>(p[1]), at<bfloat16_t>(p[2]), p[3], p[4], p[5], p[6], p[7], p[6]); break;
            case 4: asc_copy_l12l0b_transpose(at<bfloat16_t>(p[1]), at<bfloat16_t>(p[2]), p[3], p[4], p[5], p[6], p[7], p[6]); break;
            case 5: asc_fill_l1(at<bfloat16_t>(p[1]), 0x3f80, {.repeat = 1, .blk_num = static_cast<uint64_t>(p[2]), .dst_gap = 0}); break;
            case 6: asc_fill_l0a(at<bfloat16_t>(p[1]), 0x4000, {.repeat = 1, .blk_num = static_cast<uint64_t>(p[2]), .dst_gap = 0}); break;
            case 7: asc_fill_l0b(at<bfloat16_t>(p[1]), 0xbf80, {.repeat = 1, .blk_num = static_cast<uint64_t>(p[2]), .dst_gap = 0}); break;
            case 8: asc_mmad(at<float>(p[1]), at<bfloat16_t>(p[2]), at<bfloat16_t>(p[3]), p[4], p[5], p[6], 0, true, false, p[7] != 0); break;
            case 9: asc_mmad(at<int32_t>(p[1]), at<int8_t>(p[2]), at<int8_t>(p[3]), p[4], p[5], p[6], 0, true, false, p[7] != 0); break;
            case 10:  // drain: l0c, m, n, first element of out
                asc_copy_l0c2gm(out + p[4], at<float>(p[1]), p[3], p[2], p[3], (p[2] + 15) / 16 * 16, asc_store_l2_cache_mode{},
                                asc_unit_flag_mode{0}, ASC_QUANT_NONE, ASC_RELU_PRE_NONE, false, true, false, false);
                break;
            // Bytes: what such a load copies may stay in L1 until it is multiplied.
            case 11: asc_copy_l12l0a(at<int8_t>(p[1]), at<int8_t>(p[2]), p[3], p[4], p[5], p[6], p[7], p[5]); break;
            case 12: asc_copy_l12l0b(at<int8_t>(p[1]), at<int8_t>(p[2]), p[3], p[4], p[5], p[6], p[7], p[5]); break;
        }
        asc_sync();
    }
}
