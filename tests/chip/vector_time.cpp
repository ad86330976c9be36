// SPDX-License-Identifier: MIT
// Kernels for tests/chip/test_vector_time.py: the reordering of rows for the cube, as TileLang's templates do it, and two loops of a function.

constexpr uint16_t kBlockStride = 129;   // one more than the rows of a column of fractals: other banks

extern "C" __global__ __vector__ void same_type(__gm__ float*, int rows) {
    auto* ub = reinterpret_cast<bfloat16_t*>(ascend::isa::ub_base());
    ASC_VF;
    const vector_bool all = asc_create_mask_b16(PAT_ALL);
    for (int row = 0; row < rows; ++row) {
        vector_bf16 x;
        asc_loadalign(x, ub, row % 8 * 128);
        asc_storealign(ub + 65536 + row % 128 * 16, x, kBlockStride, uint16_t{1}, all);
    }
}

extern "C" __global__ __vector__ void fp32_to_bf16(__gm__ float*, int rows) {
    auto* ub = reinterpret_cast<float*>(ascend::isa::ub_base());
    ASC_VF;
    const vector_bool all = asc_create_mask_b32(PAT_ALL), half = asc_create_mask_b16(PAT_VL64);
    for (int row = 0; row < rows; ++row) {
        vector_f32 x;
        vector_bf16 rounded;
        vector_u16 packed;
        asc_loadalign(x, ub, row % 8 * 64);
        vcvt(rounded, x, all, ROUND_R, RS_DISABLE, PART_EVEN, MODE_ZEROING);
        asc_pack_to_low(packed, reinterpret_cast<vector_u32&>(rounded));
        asc_storealign(reinterpret_cast<uint16_t*>(ub + 32768) + row % 128 * 16, packed, kBlockStride, uint16_t{1}, half);
    }
}

extern "C" __global__ __vector__ void bf16_to_fp32(__gm__ float*, int rows) {
    auto* ub = reinterpret_cast<bfloat16_t*>(ascend::isa::ub_base());
    auto* to = reinterpret_cast<float*>(ub + 32768);
    ASC_VF;
    const vector_bool all = asc_create_mask_b16(PAT_ALL), wide = asc_create_mask_b32(PAT_ALL);
    for (int row = 0; row < rows; ++row) {
        vector_bf16 x;
        vector_f32 even, odd, first, second;
        asc_loadalign(x, ub, row % 8 * 128);
        vcvt(even, x, all, PART_EVEN, MODE_ZEROING);
        vcvt(odd, x, all, PART_ODD, MODE_ZEROING);
        asc_intlv(first, second, even, odd);
        asc_storealign(to + row % 128 * 8, first, kBlockStride, uint16_t{1}, wide);
        asc_storealign(to + 16384 + row % 128 * 8, second, kBlockStride, uint16_t{1}, wide);
    }
}

// A loop of `times` stores, then one of 2 * times additions: `times` cycles each.
template <bool kApart>
void store_then_add(int times) {
    auto* ub = reinterpret_cast<float*>(ascend::isa::ub_base());
    ASC_VF;
    const vector_bool all = asc_create_mask_b32(PAT_ALL);
    vector_f32 x;
    asc_duplicate_scalar(x, 1.0f, all);
    for (int i = 0; i < times; ++i) asc_storealign(ub, x, i % 8 * 64, all);
    if constexpr (kApart) ASC_VF_LOOP;
    for (int i = 0; i < times; ++i) {
        asc_add(x, x, x, all);
        asc_add(x, x, x, all);
    }
}

extern "C" __global__ __vector__ void as_one(__gm__ float*, int times) { store_then_add<false>(times); }
extern "C" __global__ __vector__ void apart(__gm__ float*, int times) { store_then_add<true>(times); }

void only_stores(int times) {
    auto* ub = reinterpret_cast<float*>(ascend::isa::ub_base());
    ASC_VF;
    const vector_bool all = asc_create_mask_b32(PAT_ALL);
    vector_f32 x;
    asc_duplicate_scalar(x, 1.0f, all);
    for (int i = 0; i < times; ++i) asc_storealign(ub, x, i % 8 * 64, all);
}
void only_adds(int times) {
    ASC_VF;
    const vector_bool all = asc_create_mask_b32(PAT_ALL);
    vector_f32 x;
    asc_duplicate_scalar(x, 1.0f, all);
    for (int i = 0; i < 2 * times; ++i) asc_add(x, x, x, all);
}

// Three calls of two functions, one instruction of V.
extern "C" __global__ __vector__ void functions(__gm__ float*, int times) {
    only_stores(times / 2);
    only_adds(times);
    only_stores(times - times / 2);
}
