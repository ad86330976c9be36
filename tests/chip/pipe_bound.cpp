// SPDX-License-Identifier: MIT
// Kernels for tests/chip/test_it_is_the_chip.py: one that only one pipe limits, each; a GEMM of any tile; one that fills
// every on-chip memory with NaN.

constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};

template <class T>
T* at(int64_t offset) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(offset));
}

// L0A, L0B and L1 hold zeros.
void clear_operands() {
    asc_fill_l1(at<uint16_t>(0), 0, {.repeat = 1, .blk_num = 4096, .dst_gap = 0});
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
    asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 128, 1, 128, 128);
    asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 128, 1, 128, 128);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
}

extern "C" __global__ __cube__ void only_m(__gm__ float*, int times) {
    clear_operands();
    for (int i = 0; i < times; ++i)
        asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), 128, 128, 128, 0, true, false, i == 0);
}

extern "C" __global__ __cube__ void only_mte1(__gm__ float*, int times) {
    clear_operands();
    for (int i = 0; i < times; ++i) asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 128, 1, 128, 128);
}

extern "C" __global__ __cube__ void only_fix(__gm__ float*, int times) {
    clear_operands();
    asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), 128, 16, 128, 0, true, false, true);
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    for (int i = 0; i < times; ++i)
        asc_copy_l0c2ub(reinterpret_cast<float*>(ascend::isa::ub_base()), at<float>(0), 128, 128, 128, 128, 0,
                        asc_dual_dst_mode{0}, asc_unit_flag_mode{0}, asc_quant_mode{0}, asc_relu_pre_mode{0}, false, true,
                        false, false);
}

extern "C" __global__ __vector__ void only_v(__gm__ float*, int times) {
    auto* memory = reinterpret_cast<float*>(ascend::isa::ub_base());
    for (int i = 0; i < times; ++i) {
        ASC_VF;
        vector_float v;
        asc_loadalign(v, memory);
        for (int j = 0; j < 64; ++j) asc_add(v, v, v, asc_create_mask_b32(PAT_ALL));
        asc_storealign(memory, v, 0, asc_create_mask_b32(PAT_ALL));
    }
}

// The same 16 KiB of global memory again and again: L2 has them.
extern "C" __global__ __cube__ void only_mte2(__gm__ float* x, int times) {
    asc_set_gm2l1_nz_para(1, 1, 64, 0);
    for (int i = 0; i < times; ++i) asc_copy_gm2l1_nd2nz(at<float>(0), x, 256, kLoad, 64, 64, 0, false);
}

extern "C" __global__ __vector__ void only_mte3(__gm__ float* x, int times) {
    const auto* memory = reinterpret_cast<float*>(ascend::isa::ub_base());
    for (int i = 0; i < times; ++i) asc_copy_ub2gm_align(x, memory, 1, 16384, kStore, 0, 0);
}

// All of global memory that x has, once, by 32 cores: HBM limits.
extern "C" __global__ __cube__ void only_hbm(__gm__ float* x, int times) {
    asc_set_gm2l1_nz_para(1, 1, 64, 0);
    for (int i = 0; i < times; ++i)
        asc_copy_gm2l1_nd2nz(at<float>(i % 8 * 16384), x + (int64_t{block_idx} * times + i) * 4096, 256, kLoad, 64, 64, 0, false);
}

// D[m, n] = A[m, k] @ B[n, k]^T by one core, in blocks of tile_n columns. m <= 128, k <= 64, multiples of 16.
extern "C" __global__ __cube__ void tiled(__gm__ bfloat16_t* a, __gm__ bfloat16_t* b, __gm__ float* d, int m, int n, int k, int tile_n) {
    asc_set_gm2l1_nz_para(1, 1, m, 0);
    asc_copy_gm2l1_nd2nz(at<bfloat16_t>(0), a, k * 2, kLoad, m, k, 0, false);
    for (int column = 0; column < n; column += tile_n) {
        asc_sync_pipe(PIPE_ALL);
        asc_set_gm2l1_nz_para(1, 1, tile_n, 0);
        asc_copy_gm2l1_nd2nz(at<bfloat16_t>(65536), b + column * k, k * 2, kLoad, tile_n, k, 0, false);
        asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
        asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, m / 16, k / 16, m / 16, m / 16);
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(65536), 0, 0, tile_n / 16, k / 16, tile_n / 16, tile_n / 16);
        asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
        asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
        asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), m, k, tile_n, 0, true, false, true);
        asc_sync_notify(PIPE_M, PIPE_FIX, 0);
        asc_sync_wait(PIPE_M, PIPE_FIX, 0);
        asc_copy_l0c2gm(d + column, at<float>(0), tile_n, m, n, m, kStore, asc_unit_flag_mode{0}, asc_quant_mode{0},
                        asc_relu_pre_mode{0}, false, true, false, false);
    }
}

// 0xff everywhere is a NaN in bf16, fp8, fp32 and as a scale.
extern "C" __global__ __mix__(1, 2) void poison(__gm__ float*, int) {
    if ASC_IS_AIV __builtin_memset(ascend::isa::ub_base(), 0xff, 256 * 1024);
    if ASC_IS_AIC {
        asc_fill_l1(at<uint16_t>(0), 0xffff, {.repeat = 1, .blk_num = 16384, .dst_gap = 0});
        asc_sync_pipe(PIPE_ALL);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 128, 1, 128, 128);
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 128, 1, 128, 128);
        asc_copy_l12l0a_mx(0, at<fp8_e8m0_t>(0), 0, 0, 128, 1, 1, 1);
        asc_copy_l12l0b_mx(0, at<fp8_e8m0_t>(0), 0, 0, 128, 1, 1, 1);
        asc_sync_pipe(PIPE_ALL);
        asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), 256, 16, 256, 0, true, false, true);
    }
}
