// SPDX-License-Identifier: MIT
// What does the chip order, and what only the kernel's flags? Each kernel is right with missing = 0; with missing = i its i-th pair of
// set and wait is left out, and two accesses race: tests/isa/test_races.py. `// @name` marks lines that messages name.

#include "simt_api/asc_simt.h"

constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};
constexpr int kTiles = 4, kLanes = 64, kTileBytes = 4 * kLanes;

template <class T>
T* at(int64_t offset) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(offset));
}
__ubuf__ float* ub(int64_t offset) { return reinterpret_cast<__ubuf__ float*>(ascend::isa::ub_base() + offset); }

struct Flags {
    int missing;
    void set(int number, pipe_t source, pipe_t destination, int id) const {
        if (number != missing) asc_sync_notify(source, destination, id);
    }
    void wait(int number, pipe_t source, pipe_t destination, int id) const {
        if (number != missing) asc_sync_wait(source, destination, id);
    }
    void order(int number, pipe_t source, pipe_t destination, int id) const {
        set(number, source, destination, id);
        wait(number, source, destination, id);
    }
};

#define VECTOR(name) extern "C" __global__ __vector__ void name(__gm__ float* x, __gm__ float* y, int missing)
#define CUBE(name) extern "C" __global__ __cube__ void name(__gm__ bfloat16_t* x, __gm__ float* y, int missing)
#define MIX(name) extern "C" __global__ __mix__(1, 2) void name(__gm__ bfloat16_t* x, __gm__ float* y, int missing)

void load(__ubuf__ float* to, __gm__ float* x, int tile) {
    asc_copy_gm2ub_align(to, x + tile * kLanes, 1, kTileBytes, 0, 0, false, kLoad, 0, 0);  // @load
}
void store(__gm__ float* y, __ubuf__ float* from, int tile) {
    asc_copy_ub2gm_align(y + tile * kLanes, from, 1, kTileBytes, kStore, 0, 0);  // @store
}
__simd_vf__ inline void twice(__ubuf__ float* in, __ubuf__ float* out) {
    vector_bool m = asc_create_mask_b32(PAT_ALL);
    vector_f32 a;
    asc_loadalign(a, in, 0);  // @vector_load
    asc_mul_scalar(a, a, 2.0f, m);
    asc_storealign(out, a, 0, m);  // @vector_store
}

// y = 2x, tile by tile through one buffer for each direction.
VECTOR(tiles) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        if (i) flags.wait(1, PIPE_V, PIPE_MTE2, 0);
        load(ub(0), x, i);
        flags.order(2, PIPE_MTE2, PIPE_V, 1);
        if (i) flags.wait(3, PIPE_MTE3, PIPE_V, 2);
        twice(ub(0), ub(1024));
        if (i + 1 < kTiles) flags.set(1, PIPE_V, PIPE_MTE2, 0);
        flags.order(4, PIPE_V, PIPE_MTE3, 3);
        store(y, ub(1024), i);
        if (i + 1 < kTiles) flags.set(3, PIPE_MTE3, PIPE_V, 2);
    }
}

// Scalar code, which is a pipe as the others are: what it has loaded and stored itself needs flags.
VECTOR(scalars) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        load(ub(0), x, i);
        flags.order(1, PIPE_MTE2, PIPE_S, 0);
        for (int k = 0; k < kLanes; ++k) ub(0)[k] += 1;  // @scalar
        flags.order(2, PIPE_S, PIPE_V, 1);
        twice(ub(0), ub(1024));
        flags.order(3, PIPE_V, PIPE_S, 2);
        for (int k = 0; k < kLanes; ++k) ub(1024)[k] -= 2;  // @scalar_behind
        flags.order(4, PIPE_S, PIPE_MTE3, 3);
        store(y, ub(1024), i);
        asc_sync_pipe(PIPE_ALL);
    }
}

// What S has waited for is behind all that it issues then, on every pipe; what is left over at the end of a register is not looked at.
VECTOR(ordered_by_issue) {
    for (int i = 0; i < kTiles; ++i) {
        load(ub(0), x, i);
        asc_sync_notify(PIPE_MTE2, PIPE_V, 0);
        asc_sync_wait(PIPE_MTE2, PIPE_V, 0);
        twice(ub(0), ub(1024));
        asc_sync_notify(PIPE_V, PIPE_S, 1);
        asc_sync_wait(PIPE_V, PIPE_S, 1);
        store(y, ub(1024), i);
        asc_sync_notify(PIPE_MTE3, PIPE_S, 2);
        asc_sync_wait(PIPE_MTE3, PIPE_S, 2);
    }
}

VECTOR(locks) {
    for (int i = 0; i < kTiles; ++i) {
        asc_lock(PIPE_MTE2, 0);
        load(ub(0), x, i);
        asc_unlock(PIPE_MTE2, 0);
        if (missing != 1) asc_lock(PIPE_V, 0);
        asc_lock(PIPE_V, 1);
        twice(ub(0), ub(1024));
        asc_unlock(PIPE_V, 1);
        if (missing != 1) asc_unlock(PIPE_V, 0);
        if (missing != 2) asc_lock(PIPE_MTE3, 1);
        store(y, ub(1024), i);
        if (missing != 2) asc_unlock(PIPE_MTE3, 1);
    }
}

__simt_vf__ inline void twice_by_threads(__ubuf__ float* in, __ubuf__ float* out) {
    out[threadIdx.x] = 2 * in[threadIdx.x];  // @simt
}
VECTOR(threads) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        load(ub(0), x, i);
        flags.order(1, PIPE_MTE2, PIPE_V, 0);
        asc_vf_call<twice_by_threads>(cce::dim3(kLanes), ub(0), ub(1024));
        flags.order(2, PIPE_V, PIPE_MTE3, 1);
        store(y, ub(1024), i);
        asc_sync();
    }
}

// A register is loaded whole: its second half is the buffer beside, which MTE2 fills meanwhile, and nothing is made of it.
__simd_vf__ inline void twice_a_half(__ubuf__ float* in, __ubuf__ float* out) {
    vector_bool half = asc_create_mask_b32(PAT_VL32);
    vector_f32 a;
    asc_loadalign(a, in, 0);
    asc_mul_scalar(a, a, 2.0f, half);
    asc_storealign(out, a, 0, half);
}
VECTOR(halves) {
    for (int i = 0; i < 2 * kTiles; ++i) {
        asc_copy_gm2ub_align(ub(i % 2 * 128), x + i * 32, 1, 128, 0, 0, false, kLoad, 0, 0);
        asc_sync_notify(PIPE_MTE2, PIPE_V, i % 2);
        if (i == 0) continue;
        asc_sync_wait(PIPE_MTE2, PIPE_V, (i - 1) % 2);
        twice_a_half(ub((i - 1) % 2 * 128), ub(1024 + 128 * i));
        asc_sync_notify(PIPE_V, PIPE_MTE2, (i - 1) % 2);
        asc_sync_wait(PIPE_V, PIPE_MTE2, (i - 1) % 2);
    }
    asc_sync_wait(PIPE_MTE2, PIPE_V, 1);
    twice_a_half(ub(128), ub(1024 + 128 * 2 * kTiles));
    asc_sync();
    asc_copy_ub2gm_align(y, ub(1024 + 128), 1, kTiles * kTileBytes, kStore, 0, 0);
}

// D[16, 16] = A[16, 16] @ B[16, 16]^T, kTiles times, each memory a single buffer.
void load_operands(__gm__ bfloat16_t* x) {
    asc_set_gm2l1_nz_para(1, 1, 16, 0);
    asc_copy_gm2l1_nd2nz(at<bfloat16_t>(0), x, 32, kLoad, 16, 16, 0, false);  // @load_a
    asc_copy_gm2l1_nd2nz(at<bfloat16_t>(512), x + 256, 32, kLoad, 16, 16, 0, false);
}
void multiply(int unit_flag = 0) {
    asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), 16, 16, 16, unit_flag, true, false, true);  // @mmad
}
void fix(__gm__ float* y, int unit_flag = 0) {
    asc_copy_l0c2gm(y, at<float>(0), 16, 16, 16, 16, kStore, asc_unit_flag_mode(unit_flag), asc_quant_mode(0), asc_relu_pre_mode{0}, false, true, false, false);  // @fix
}
CUBE(products) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        if (i) flags.wait(1, PIPE_MTE1, PIPE_MTE2, 0);
        load_operands(x);
        flags.order(2, PIPE_MTE2, PIPE_MTE1, 0);
        if (i) flags.wait(3, PIPE_M, PIPE_MTE1, 0);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);  // @load_l0a
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(512), 0, 0, 1, 1, 1, 1);
        if (i + 1 < kTiles) flags.set(1, PIPE_MTE1, PIPE_MTE2, 0);
        flags.order(4, PIPE_MTE1, PIPE_M, 0);
        if (i) flags.wait(5, PIPE_FIX, PIPE_M, 0);
        multiply();
        if (i + 1 < kTiles) flags.set(3, PIPE_M, PIPE_MTE1, 0);
        flags.order(6, PIPE_M, PIPE_FIX, 0);
        fix(y);
        if (i + 1 < kTiles) flags.set(5, PIPE_FIX, PIPE_M, 0);
    }
}
// FIX is late: what is issued behind it writes what it is to read.
CUBE(ahead) {
    const Flags flags{missing};
    load_operands(x);
    asc_sync();
    asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);
    asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(512), 0, 0, 1, 1, 1, 1);
    asc_sync();
    multiply();
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_FIX, 0);
    fix(y);
    flags.order(1, PIPE_FIX, PIPE_M, 0);
    multiply();
    asc_sync_notify(PIPE_MTE1, PIPE_FIX, 0);
}
// The unit flags of L0C alone hold M and FIX apart.
CUBE(unit_flags) {
    for (int i = 0; i < kTiles; ++i) {
        load_operands(x);
        asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
        asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(512), 0, 0, 1, 1, 1, 1);
        asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
        asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
        multiply(3);
        fix(y, 3);
        asc_sync_notify(PIPE_M, PIPE_MTE2, 0);
        asc_sync_wait(PIPE_M, PIPE_MTE2, 0);
    }
}
// So does what is behind FIX: the operands are no longer in use.
CUBE(behind_unit_flags) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        load_operands(x);
        asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
        asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);  // @load_l0a_again
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(512), 0, 0, 1, 1, 1, 1);
        flags.order(2, PIPE_MTE1, PIPE_M, 0);
        multiply(3);
        fix(y, 3);
        flags.order(1, PIPE_FIX, PIPE_MTE2, 0);
    }
}

// The cube hands its product to vector core 0 by UB, which stores it.
MIX(between_cores) {
    for (int i = 0; i < kTiles; ++i) {
        if ASC_IS_AIC {
            load_operands(x);
            asc_sync();
            asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);
            asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(512), 0, 0, 1, 1, 1, 1);
            asc_sync();
            multiply();
            asc_sync();
            if (i && missing != 2) asc_sync_intra_wait(PIPE_FIX, 2);
            asc_copy_l0c2ub(reinterpret_cast<float*>(ascend::isa::ub_base()), at<float>(0), 16, 16, 16, 16, false, asc_dual_dst_mode{0},  // @fix_to_ub
                            asc_unit_flag_mode(0), asc_quant_mode(0), asc_relu_pre_mode{0}, false, true, false, false);
            if (missing != 1) asc_sync_intra_arrive(PIPE_FIX, 1);
        }
        if ASC_IS_AIV {
            if (asc_get_sub_block_id() == 1) continue;
            if (missing != 1) asc_sync_intra_wait(PIPE_MTE3, 1);
            asc_copy_ub2gm_align(y, ub(0), 1, 1024, kStore, 0, 0);  // @store_product
            if (i + 1 < kTiles && missing != 2) asc_sync_intra_arrive(PIPE_MTE3, 2);
        }
    }
}
// Vector core 0 writes the left operand into L1.
MIX(into_l1) {
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        asc_copy_gm2ub_align(ub(0), reinterpret_cast<float*>(x), 1, 512, 0, 0, false, kLoad, 0, 0);
        asc_sync();
        asc_copy_ub2l1(at<float>(0), ub(0), 1, 16, 0, 0);  // @ub2l1
        asc_sync_intra_arrive(PIPE_MTE3, 1);
    }
    if ASC_IS_AIC {
        asc_set_gm2l1_nz_para(1, 1, 16, 0);
        asc_copy_gm2l1_nd2nz(at<bfloat16_t>(512), x + 256, 32, kLoad, 16, 16, 0, false);
        asc_sync();
        asc_sync_intra_wait(missing == 1 ? PIPE_FIX : PIPE_MTE1, 1);
        asc_copy_l12l0a(at<bfloat16_t>(0), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);  // @load_from_vector_core
        asc_copy_l12l0b(at<bfloat16_t>(0), at<bfloat16_t>(512), 0, 0, 1, 1, 1, 1);
        asc_sync();
        multiply();
        asc_sync();
        fix(y);
    }
}

// Every other instruction that touches these memories, one step after another; without the barrier between two steps they race.
struct Steps {
    int missing;
    void operator()(int number) const {
        if (number != missing) asc_sync();
    }
};
constexpr asc_fill_value_config kOneUnit{.repeat = 1, .blk_num = 1, .dst_gap = 0};
void multiply_with_bias() {
    asc_mmad_mx(at<float>(0), at<float8_e4m3_t>(0), at<float8_e4m3_t>(0), 16, 64, 16, 0, true, true, true, 0);  // @mmad_mx
}
void result_to_l1() {
    asc_set_l0c_copy_quant_vector(64);
    asc_copy_l0c2l1(at<float>(8192), at<float>(0), 16, 16, 256, 16, asc_unit_flag_mode{0}, ASC_QUANT_VQF322F32, asc_relu_pre_mode{0});  // @l0c2l1
}
// Scales, a bias, quantisation words; x holds bytes that are any of them.
CUBE(tables) {
    const Steps step{missing};
    const auto* bytes = reinterpret_cast<__gm__ uint8_t*>(x);
    asc_copy_gm2l1(at<uint8_t>(0), bytes, 2, 512, kLoad, 512, 512);  // @gm2l1
    step(1);
    asc_copy_l12l0a(at<float8_e4m3_t>(0), at<float8_e4m3_t>(0), 0, 0, 1, 2, 1, 1);  // @load_l0a_e4m3
    asc_copy_l12l0b(at<float8_e4m3_t>(0), at<float8_e4m3_t>(0), 0, 0, 1, 2, 1, 1);
    asc_fill_l1(at<uint16_t>(4096), 0x7f7f, kOneUnit);  // @fill_l1
    step(2);
    asc_copy_l12l0a_mx(0, at<fp8_e8m0_t>(4096), 0, 0, 1, 1, 1, 1);  // @load_l0a_mx
    asc_copy_l12bt(0, at<float>(0), 64);  // @l12bt
    asc_copy_l12fb(64, at<void>(0), 128);  // @l12fb
    step(3);
    asc_fill_l1(at<uint16_t>(4096), 0x7f7f, kOneUnit);  // @fill_again
    step(4);
    asc_copy_l12l0b_mx(0, at<fp8_e8m0_t>(4096), 0, 0, 1, 1, 1, 1);  // @load_l0b_mx
    asc_sync();
    multiply_with_bias();
    step(5);
    asc_copy_l12l0a_mx(0, at<fp8_e8m0_t>(4096), 0, 0, 1, 1, 1, 1);  // @load_l0a_mx_again
    asc_sync();
    multiply_with_bias();
    step(6);
    asc_copy_l12bt(0, at<float>(0), 64);  // @l12bt_again
    asc_sync();
    result_to_l1();
    step(7);
    asc_copy_l12l0a(at<uint8_t>(0), at<uint8_t>(8192), 0, 0, 1, 2, 1, 1);  // @load_result
    asc_sync();
    result_to_l1();
    step(8);
    asc_copy_l12fb(64, at<void>(0), 128);  // @l12fb_again
    step(9);
    result_to_l1();
    asc_sync();
    multiply();
    asc_sync();
    fix(y);
}
CUBE(layouts) {
    const Steps step{missing};
    asc_set_gm2l1_nz_para(1, 1, 16, 0);
    asc_copy_gm2l1_dn2nz(at<half>(0), reinterpret_cast<__gm__ half*>(x), 32, kLoad, 16, 16, 0, false);  // @dn2nz
    step(1);
    asc_copy_l12l0a_transpose(at<half>(0), at<half>(0), 0, 0, 1, 1, 1, 1);  // @transpose
    step(2);
    asc_fill_l0a(at<half>(0), 0, kOneUnit);  // @fill_l0a
    asc_sync();
    asc_copy_gm2l1(at<half>(0), reinterpret_cast<__gm__ half*>(x), 1, 512, kLoad, 0, 0);  // @gm2l1_again
    step(3);
    asc_copy_l12l0a_img2col(at<half>(0), at<half>(0), 0, 0, 16, 16, asc_img2col_config{4, 4});  // @img2col
    asc_copy_l12l0b_transpose(at<half>(0), at<half>(0), 0, 0, 1, 1, 1, 1);
    step(4);
    asc_mmad(at<float>(0), at<half>(0), at<half>(0), 16, 16, 16, 0, true, false, true);  // @mmad_f16
    asc_sync();
    asc_copy_gm2l1(at<float>(0), reinterpret_cast<__gm__ float*>(x), 1, 1024, kLoad, 0, 0);  // @gm2l1_f32
    step(5);
    asc_copy_l12l0b_transpose(at<float>(0), at<float>(0), 0, 0, 1, 2, 1, 1);  // @transpose_b32
    step(6);
    asc_mmad(at<float>(0), at<half>(0), at<half>(0), 16, 16, 16, 0, true, false, true);  // @mmad_behind
    asc_sync();
    fix(y);
}
// L1 to the UB of vector core 0.
MIX(out_of_l1) {
    if ASC_IS_AIC {
        asc_copy_gm2l1(at<uint8_t>(0), reinterpret_cast<__gm__ uint8_t*>(x), 1, 512, kLoad, 0, 0);  // @gm2l1_for_ub
        if (missing != 1) asc_sync();
        asc_copy_l12ub(ascend::isa::ub_base(), at<void>(0), 0, 1, 16, 0, 0);  // @l12ub
        asc_sync_intra_arrive(PIPE_MTE1, 1);
    }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        asc_sync_intra_wait(missing == 2 ? PIPE_MTE2 : PIPE_MTE3, 1);
        asc_copy_ub2gm_align(y, ub(0), 1, 512, kStore, 0, 0);  // @store_of_l1
    }
}

// MTE2 of vector core 0 is late: the vector function, which is issued behind it, has read already.
MIX(late_load) {
    if ASC_IS_AIC {
        asc_sync_intra_wait(PIPE_S, 3);
        asc_sync_intra_arrive(PIPE_FIX, 1);
    }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        for (int k = 0; k < kLanes; ++k) ub(0)[k] = 0;
        asc_sync();
        asc_sync_intra_arrive(PIPE_S, 3);
        asc_sync_intra_wait(PIPE_MTE2, 1);
        load(ub(0), reinterpret_cast<float*>(x), 0);
        if (missing != 1) asc_sync_notify(PIPE_MTE2, PIPE_V, 0);
        if (missing != 1) asc_sync_wait(PIPE_MTE2, PIPE_V, 0);
        twice(ub(0), ub(1024));
    }
}
// The same with a lock: an unlock that comes later in the kernel does not order what stands before it.
MIX(later_unlock) {
    if ASC_IS_AIC {
        asc_sync_intra_wait(PIPE_S, 3);
        asc_sync_intra_arrive(PIPE_FIX, 1);
    }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        for (int k = 0; k < kLanes; ++k) ub(0)[k] = 0;
        asc_sync();
        asc_sync_intra_arrive(PIPE_S, 3);
        asc_sync_intra_wait(PIPE_MTE2, 1);
        asc_lock(PIPE_MTE2, 5);
        load(ub(0), reinterpret_cast<float*>(x), 0);
        asc_unlock(PIPE_MTE2, 5);
        if (missing != 1) asc_lock(PIPE_V, 5);
        twice(ub(0), ub(1024));
        asc_unlock(PIPE_V, 5);
    }
}
// Vector core 1 is late: core 0 has arrived at the second barrier before it waits for the first.
MIX(barriers) {
    if ASC_IS_AIC {
        asc_sync_intra_wait(PIPE_S, 3);
        asc_sync_intra_wait(PIPE_S, 19);
        asc_sync_intra_arrive(PIPE_FIX, 17);
    }
    if ASC_IS_AIV {
        const int core = asc_get_sub_block_id();
        asc_copy_gm2ub_align(ub(0), reinterpret_cast<float*>(x), 1, 512, 0, 0, false, kLoad, 0, 0);
        asc_sync();
        asc_sync_inter_arrive(PIPE_MTE3, 2);
        asc_sync_intra_arrive(PIPE_S, 3);
        if (core == 1) asc_sync_intra_wait(PIPE_MTE3, 1);
        asc_sync_inter_wait(PIPE_MTE3, 2);
        if (core == 0) asc_copy_ub2l1(at<float>(0), ub(0), 1, 16, 0, 0);  // @first_turn
        asc_sync_inter_arrive(PIPE_MTE3, 2);
        if (core == 0 || missing != 1) asc_sync_inter_wait(PIPE_MTE3, 2);
        if (core == 1) asc_copy_ub2l1(at<float>(0), ub(0), 1, 16, 0, 0);  // @second_turn
    }
}
// Stores of scalar code: one in another line than the load of its place; the kernel's last words, of which the compiler announces a load.
VECTOR(stores) {
    const Flags flags{missing};
    asc_sync();
    load(ub(0), x, 0);
    flags.order(3, PIPE_MTE2, PIPE_S, 0);
    const float before = ub(0)[3];  // @mere_load
    if (before != before) return;
    ub(0)[3] = x[0] + 1;  // @mere_store
    flags.order(1, PIPE_S, PIPE_MTE3, 1);
    asc_copy_ub2gm_align(y, ub(0), 1, 32, kStore, 0, 0);  // @behind_scalar
    flags.order(2, PIPE_MTE3, PIPE_S, 2);
    ub(0)[0] += 1;  // @last_word
}
// The same, seen when a vector function touches UB.
__simd_vf__ inline void twice_counted(__ubuf__ float* in, __ubuf__ float* out) {
    ASC_VF;
    vector_bool m = asc_create_mask_b32(PAT_ALL);
    vector_f32 a;
    asc_loadalign(a, in, 0);
    asc_storealign(out, a, 0, m);
}
VECTOR(store_before_function) {
    const Flags flags{missing};
    load(ub(0), x, 0);
    asc_sync();
    asc_copy_ub2gm_align(y, ub(0), 1, 32, kStore, 0, 0);  // @reads_first
    flags.order(1, PIPE_MTE3, PIPE_S, 0);
    ub(0)[0] += 1;  // @announced_as_load
    twice_counted(ub(1024), ub(2048));
}
// In place: of the writers that MTE3 and MTE2 meet, the last one is named, whose flag is enough.
VECTOR(in_place) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        load(ub(0), x, i);
        flags.order(3, PIPE_MTE2, PIPE_S, 0);
        for (int k = 0; k < kLanes; ++k) ub(0)[k] += 0;  // @touched
        flags.order(4, PIPE_S, PIPE_V, 1);
        twice(ub(0), ub(0));
        flags.order(1, PIPE_V, PIPE_MTE3, 2);
        store(y, ub(0), i);
        flags.order(2, PIPE_MTE3, PIPE_MTE2, 3);
    }
}
// Vector instructions in a block of the kernel's own; one of them reaches what MTE2 loads meanwhile.
VECTOR(in_a_block) {
    const Flags flags{missing};
    for (int i = 0; i < kTiles; ++i) {
        load(ub(0), x, i);
        flags.order(1, PIPE_MTE2, PIPE_V, 0);
        load(ub(256), x, i);
        {
            ASC_VF;
            vector_bool m = asc_create_mask_b32(PAT_ALL);
            vector_f32 a, beyond;
            asc_loadalign(a, ub(0), 0);  // @load_in_block
            asc_loadalign(beyond, ub(224), 0);
            asc_mul_scalar(a, a, 2.0f, m);
            asc_storealign(ub(2048), beyond, 0, m);
            asc_storealign(ub(1024), a, 0, m);  // @store_in_block
        }
        flags.order(2, PIPE_V, PIPE_MTE3, 1);
        store(y, ub(1024), i);
        asc_sync();
    }
}
VECTOR(many_waits) {
    if (!missing) return;
    for (int i = 0; i < 400000; ++i) {
        asc_sync_notify(PIPE_V, PIPE_S, 0);
        asc_sync_wait(PIPE_V, PIPE_S, 0);
    }
}
