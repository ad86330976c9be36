// SPDX-License-Identifier: MIT
// Kernels of test_cube.py, test_fixpipe.py, test_loads.py and test_dma.py, compiled by ascend_sim.jit. Parameters come as a list of
// numbers `p`; memories are filled and read by plain copies where the instruction under test is not the one that does it.
#include "isa/instruction.h"

using namespace ascend;

namespace {

Memory& memory_of(int64_t which) {
    AiCore& ai = running_core->ai;
    Memory* const memories[] = {&ai.l1, &ai.l0a, &ai.l0b, &ai.l0a_mx, &ai.l0b_mx, &ai.l0c, &ai.bt, &ai.fb, &ai.ub[0], &ai.ub[1]};
    return *memories[which];
}
void fill(Memory& memory, const uint8_t* data, int64_t bytes, bool defined = true) {
    std::memcpy(memory.at(0), data, static_cast<size_t>(bytes));
    if (defined) memory.valid.set(0, static_cast<uint32_t>(bytes));
}
template <class T>
T* at(int64_t offset) { return reinterpret_cast<T*>(offset); }

// A step ends when everything has been done.
void flag(pipe_t from, pipe_t to) {
    asc_sync_notify(from, to, 0);
    asc_sync_wait(from, to, 0);
}

// Store atomics by number: operation * 6 + type + 1.
void arm(int64_t kind) {
    switch (kind) {
        case 1: asc_set_atomic_add_float(); break;
        case 2: asc_set_atomic_add_float16(); break;
        case 3: asc_set_atomic_add_bfloat(); break;
        case 4: asc_set_atomic_add_int8(); break;
        case 5: asc_set_atomic_add_int16(); break;
        case 6: asc_set_atomic_add_int32(); break;
        case 7: asc_set_atomic_max_float(); break;
        case 8: asc_set_atomic_max_float16(); break;
        case 9: asc_set_atomic_max_bfloat(); break;
        case 10: asc_set_atomic_max_int8(); break;
        case 11: asc_set_atomic_max_int16(); break;
        case 12: asc_set_atomic_max_int32(); break;
        case 13: asc_set_atomic_min_float(); break;
        case 14: asc_set_atomic_min_float16(); break;
        case 15: asc_set_atomic_min_bfloat(); break;
        case 16: asc_set_atomic_min_int8(); break;
        case 17: asc_set_atomic_min_int16(); break;
        case 18: asc_set_atomic_min_int32(); break;
        default: asc_set_atomic_none();
    }
}

template <class A, class B, class C>
void mmad(const int64_t* p, bool mx) {
    const int64_t m = p[0], k = p[1], n = p[2];
    if constexpr (std::is_same_v<C, float> && sizeof(A) == 1) {
        if (mx) {
            if constexpr (!std::is_same_v<A, hifloat8_t>)
                asc_mmad_mx(at<float>(p[7]), at<A>(0), at<B>(0), m, k, n, int(p[3]), true, p[4], p[5], uint64_t(p[6]));
            return;
        }
    }
    if constexpr (!std::is_same_v<A, float4_e2m1x2_t> && !std::is_same_v<A, float4_e1m2x2_t>)
        asc_mmad(at<C>(p[7]), at<A>(0), at<B>(0), m, k, n, int(p[3]), true, p[4], p[5], uint64_t(p[6]));
}

void mmad_of(int64_t types, const int64_t* p, bool mx) {
    using e2m1 = float4_e2m1x2_t;
    using e1m2 = float4_e1m2x2_t;
    switch (types) {  // in the order of TYPES in the tests
        case 0: mmad<bfloat16_t, bfloat16_t, float>(p, mx); break;
        case 1: mmad<half, half, float>(p, mx); break;
        case 2: mmad<float, float, float>(p, mx); break;
        case 3: mmad<int8_t, int8_t, int32_t>(p, mx); break;
        case 4: mmad<float8_e4m3_t, float8_e4m3_t, float>(p, mx); break;
        case 5: mmad<float8_e5m2_t, float8_e5m2_t, float>(p, mx); break;
        case 6: mmad<float8_e4m3_t, float8_e5m2_t, float>(p, mx); break;
        case 7: mmad<float8_e5m2_t, float8_e4m3_t, float>(p, mx); break;
        case 8: mmad<hifloat8_t, hifloat8_t, float>(p, mx); break;
        case 9: mmad<e2m1, e2m1, float>(p, mx); break;
        case 10: mmad<e1m2, e1m2, float>(p, mx); break;
        case 11: mmad<e2m1, e1m2, float>(p, mx); break;
        case 12: mmad<e1m2, e2m1, float>(p, mx); break;
        case 13: mmad<hifloat8_t, float8_e4m3_t, float>(p, mx); break;
        case 14: mmad<half, bfloat16_t, float>(p, mx); break;
        case 15: asc_mmad_mx(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), p[0], p[1], p[2], 0, true, false, true); break;
    }
}

}  // namespace

// C = A * B^T (+ bias, + what `repeat` adds) through all memories. p: m, k, n, unit flag, bias, init, bias address,
// L0C offset | types, mx, bytes a row of A and B, bias type (0 fp32, 1 fp16, 2 bf16, 3 int32), hf32 (0, 1 even, 2 away),
// units of k, repeat, unit flag of FIX | rows of A and of B that there are
extern "C" __global__ __cube__ void multiply(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ uint8_t* scale_a, __gm__ uint8_t* scale_b,
                                             __gm__ uint8_t* bias, __gm__ float* out, __gm__ int64_t* p) {
    const int64_t m = p[0], k = p[1], n = p[2], m1 = (m + 15) / 16, n1 = (n + 15) / 16, k1 = p[13], pairs = (k + 63) / 64;
    constexpr int64_t kB = 160 << 10, kScaleA = 320 << 10, kScaleB = 352 << 10, kBias = 384 << 10;
    for (int which = 0; which <= 6; ++which)  // whatever is not live is NaN of every format
        std::memset(memory_of(which).at(0), 0xff, memory_of(which).bytes());
    const auto load = [&](int64_t l1, uint8_t* gm, int64_t rows, int64_t row_bytes) {
        asc_set_gm2l1_nz_para(1, 1, rows ? (rows + 15) / 16 * 16 : 1, 0);
        asc_copy_gm2l1_nd2nz(at<uint8_t>(l1), gm, row_bytes, asc_load_l2_cache_mode{}, rows, row_bytes, 0, false);
    };
    load(0, a, p[16], p[10]);
    load(kB, b, p[17], p[10]);
    if (p[9]) {
        asc_copy_gm2l1(at<uint8_t>(kScaleA), scale_a, 1, m1 * pairs * 32, asc_load_l2_cache_mode{}, 0, 0);
        asc_copy_gm2l1(at<uint8_t>(kScaleB), scale_b, 1, n1 * pairs * 32, asc_load_l2_cache_mode{}, 0, 0);
    }
    if (p[4]) asc_copy_gm2l1(at<uint8_t>(kBias), bias, 1, p[11] == 1 || p[11] == 2 ? n * 2 : n * 4, asc_load_l2_cache_mode{}, 0, 0);
    flag(PIPE_MTE2, PIPE_MTE1);
    if (p[16] == m && p[17] == n) {
        asc_copy_l12l0a(at<uint8_t>(0), at<uint8_t>(0), 0, 0, m1, k1, m1, m1);
        asc_copy_l12l0b(at<uint8_t>(0), at<uint8_t>(kB), 0, 0, n1, k1, n1, n1);
    }
    if (p[9]) {
        asc_copy_l12l0a_mx(0, at<fp8_e8m0_t>(kScaleA), 0, 0, m1, pairs, pairs, pairs);
        asc_copy_l12l0b_mx(0, at<fp8_e8m0_t>(kScaleB), 0, 0, n1, pairs, pairs, pairs);
    }
    const uint64_t bt = uint64_t(p[6]);
    if (p[4] && p[11] == 0) asc_copy_l12bt(bt, at<float>(kBias), n * 4);
    if (p[4] && p[11] == 1) asc_copy_l12bt(bt, at<half>(kBias), n * 2);
    if (p[4] && p[11] == 2) asc_copy_l12bt(bt, at<bfloat16_t>(kBias), n * 2);
    if (p[4] && p[11] == 3) asc_copy_l12bt(bt, at<int32_t>(kBias), n * 4);
    flag(PIPE_MTE1, PIPE_M);
    if (k % 2) asc_set_mmad_direction_n(); else asc_set_mmad_direction_m();  // no effect on values
    if (p[12]) asc_enable_hf32(); else asc_disable_hf32();
    asc_set_hf32_round_mode(p[12] == 2 ? NEAREST_AWAY : NEAREST_EVEN);
    mmad_of(p[8], p, p[9]);
    int64_t again[8];
    std::memcpy(again, p, sizeof again);
    again[4] = again[5] = 0;
    for (int64_t i = 0; i < p[14]; ++i) mmad_of(p[8], again, p[9]);
    if (!p[15]) flag(PIPE_M, PIPE_FIX);
    if (p[8] == 3)
        asc_copy_l0c2gm(reinterpret_cast<int32_t*>(out), at<int32_t>(p[7]), n, m, n, m1 * 16, asc_store_l2_cache_mode{},
                        asc_unit_flag_mode(p[15]), ASC_QUANT_NONE, ASC_RELU_PRE_NONE, false, true, false, false);
    else
        asc_copy_l0c2gm(out, at<float>(p[7]), n, m, n, m1 * 16, asc_store_l2_cache_mode{}, asc_unit_flag_mode(p[15]),
                        ASC_QUANT_NONE, ASC_RELU_PRE_NONE, false, true, false, false);
}

// L0C holds l0c, FB holds fb, the destination memory holds dst; then one copy, and dst is what the memory holds.
// p: to (0 UB, 1 GM, 2 L1), int32, n, m, dst_stride, src_stride, sub_block, dual | unit flag, quant, relu, split, nz2nd,
// nz2dn, clip, byte offset in dst | quant word, quant vector, slope, slope vector, limit (bits), c0 stride, matrices,
// matrix src stride | matrix dst stride, atomic (operation * 6 + type + 1), bytes of l0c, of fb, of dst a memory
extern "C" __global__ __cube__ void drain(__gm__ uint8_t* l0c, __gm__ uint8_t* fb, __gm__ uint8_t* dst, __gm__ int64_t* p) {
    AiCore& ai = running_core->ai;
    fill(ai.l0c, l0c, p[26]);
    fill(ai.fb, fb, p[27]);
    const int64_t to = p[0], bytes = p[28];
    if (to == 0) fill(ai.ub[0], dst, bytes, false), fill(ai.ub[1], dst + bytes, bytes, false);
    if (to == 2) fill(ai.l1, dst, bytes, false);
    if (p[16]) asc_set_l0c_copy_quant(uint64_t(p[16]));
    if (p[17]) asc_set_l0c_copy_quant_vector(uint64_t(p[17]));
    if (p[18]) asc_set_l0c_copy_leaky_relu(f32_from_bits(uint32_t(p[18])));
    if (p[19]) asc_set_l0c_copy_prelu_vector(uint64_t(p[19]));
    if (p[20]) asc_set_l0c_copy_clip(f32_from_bits(uint32_t(p[20])));
    if (p[21]) asc_set_l0c_copy_c0_stride(p[21]);
    asc_set_l0c_copy_nz_para(p[22], p[23], p[24]);
    arm(p[25]);
    const auto unit_flag = asc_unit_flag_mode(p[8]);
    const auto quant = asc_quant_mode(p[9]);
    const auto relu = asc_relu_pre_mode(p[10]);
    const auto copy = [&](auto* source) {
        if (to == 0)
            asc_copy_l0c2ub(isa::ub_base() + p[15], source, p[2], p[3], p[4], p[5], p[6], asc_dual_dst_mode(p[7]), unit_flag, quant,
                            relu, p[11], p[12], p[13], p[14]);
        else if (to == 1)
            asc_copy_l0c2gm(dst + p[15], source, p[2], p[3], p[4], p[5], asc_store_l2_cache_mode{}, unit_flag, quant, relu, p[11],
                            p[12], p[13], p[14]);
        else
            asc_copy_l0c2l1(at<uint8_t>(p[15]), source, p[2], p[3], p[4], p[5], unit_flag, quant, relu, p[11], p[12], p[13], p[14]);
    };
    if (p[1]) copy(at<int32_t>(0)); else copy(at<float>(0));
    asc_sync();
    if (to == 0) std::memcpy(dst, ai.ub[0].at(0), size_t(bytes)), std::memcpy(dst + bytes, ai.ub[1].at(0), size_t(bytes));
    if (to == 2) std::memcpy(dst, ai.l1.at(0), size_t(bytes));
}

// L1 holds l1, then one load into a memory, whose bytes and defined units are what comes back. p: what, bytes of l1, memory
// (memory_of), bytes back, the instruction's numbers from p[4]
extern "C" __global__ __cube__ void load(__gm__ uint8_t* l1, __gm__ uint8_t* back, __gm__ uint8_t* defined, __gm__ int64_t* p) {
    Memory& memory = memory_of(p[2]);
    const auto bytes = uint32_t(p[3]);
    std::memset(memory.at(0), 0xa5, bytes);
    if (p[0] < 20) fill(running_core->ai.l1, l1, p[1]);
    const int64_t* q = p + 4;
    const auto plain = asc_load_l2_cache_mode{};
    const asc_fill_value_config config{uint64_t(q[1]), uint64_t(q[2]), uint64_t(q[3])};
    switch (p[0]) {
        case 0: asc_copy_l12l0a(at<half>(q[6]), at<half>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 1: asc_copy_l12l0b(at<half>(q[6]), at<half>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 2: asc_copy_l12l0a_transpose(at<half>(q[6]), at<half>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 3: asc_copy_l12l0b_transpose(at<half>(q[6]), at<half>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 4: asc_copy_l12l0a_transpose(at<int8_t>(q[6]), at<int8_t>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 5: asc_copy_l12l0b_transpose(at<int8_t>(q[6]), at<int8_t>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 6: asc_copy_l12l0a_transpose(at<float>(q[6]), at<float>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 7: asc_copy_l12l0b_transpose(at<float>(q[6]), at<float>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 8: asc_copy_l12l0a_mx(uint64_t(q[6]), at<fp8_e8m0_t>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 9: asc_copy_l12l0b_mx(uint64_t(q[6]), at<fp8_e8m0_t>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 10: asc_copy_l12bt(uint64_t(q[1]), at<float>(0), q[0]); break;
        case 11: asc_copy_l12bt(uint64_t(q[1]), at<half>(0), q[0]); break;
        case 12: asc_copy_l12bt(uint64_t(q[1]), at<bfloat16_t>(0), q[0]); break;
        case 13: asc_copy_l12fb(uint64_t(q[1]), at<void>(0), q[0]); break;
        case 14: asc_copy_l12ub(isa::ub_base() + q[5], at<uint8_t>(0), q[4], q[0], q[1], q[2], q[3]); break;
        case 15: asc_copy_l12l0a_transpose(at<float4_e2m1x2_t>(q[6]), at<float4_e2m1x2_t>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 16: asc_copy_l12l0b_transpose(at<float4_e2m1x2_t>(q[6]), at<float4_e2m1x2_t>(0), q[0], q[1], q[2], q[3], q[4], q[5]); break;
        case 17:
        case 18:
        case 19: {
            const auto u8 = [&](int i) { return uint8_t(q[i]); };
            const asc_img2col_config window{uint16_t(q[5]), uint16_t(q[6]), u8(7), u8(8), u8(9), u8(10), u8(11), u8(12),
                                            u8(13), u8(14), u8(15), u8(16), uint32_t(q[17])};
            if (p[0] == 17) asc_copy_l12l0a_img2col(at<half>(q[4]), at<half>(0), q[0], q[1], q[2], q[3], window);
            if (p[0] == 18) asc_copy_l12l0a_img2col(at<int8_t>(q[4]), at<int8_t>(0), q[0], q[1], q[2], q[3], window);
            if (p[0] == 19) asc_copy_l12l0a_img2col(at<float>(q[4]), at<float>(0), q[0], q[1], q[2], q[3], window);
            break;
        }
        case 20: asc_copy_gm2l1(at<uint8_t>(q[4]), l1, q[0], q[1], plain, q[2], q[3]); break;
        case 21: asc_fill_l0a(at<half>(q[4]), uint32_t(q[0]), config); break;
        case 22: asc_fill_l0b(at<float>(q[4]), uint32_t(q[0]), config); break;
        case 23: asc_fill_l1(at<half>(q[4]), uint32_t(q[0]), config); break;
        case 24: asc_fill_l1(at<float>(q[4]), uint32_t(q[0]), config); break;
        case 25:
        case 26:
        case 27:
            asc_set_gm2l1_nz_para(q[4], q[5], q[6], q[7]);
            if (p[0] == 25) asc_copy_gm2l1_nd2nz(at<uint8_t>(q[8]), l1, q[2], plain, q[0], q[1], q[3], false);
            if (p[0] == 26) asc_copy_gm2l1_dn2nz(at<uint8_t>(q[8]), l1, q[2], plain, q[0], q[1], q[3], false);
            if (p[0] == 27)
                asc_copy_gm2l1_dn2nz(at<half>(q[8]), reinterpret_cast<half*>(l1), q[2], plain, q[0], q[1], q[3], false);
            break;
    }
    asc_sync();
    std::memcpy(back, memory.at(0), bytes);
    for (uint32_t unit = 0; unit < bytes / 32; ++unit) defined[unit] = memory.valid.test(unit * 32);
}

// What FIX does with a parameter that changes while it waits: p: quant words of the first and of the second copy.
extern "C" __global__ __cube__ void late_parameters(__gm__ uint8_t* l0c, __gm__ float* dst, __gm__ int64_t* p) {
    fill(running_core->ai.l0c, l0c, 1024);
    asc_sync_wait(PIPE_M, PIPE_FIX, 0);
    for (int64_t i = 0; i < 2; ++i) {
        asc_set_l0c_copy_quant(uint64_t(p[i]));
        asc_copy_l0c2gm(dst + 256 * i, at<float>(0), 16, 16, 16, 16, asc_store_l2_cache_mode{}, asc_unit_flag_mode{}, ASC_QUANT_QF322F32,
                        ASC_RELU_PRE_NONE, false, true, false, false);
    }
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
}

// GM to UB, and from there to `to` (0 nowhere, 1 GM, 2 L1). p: to, n, len, left, right, constant pad, pad value, element bytes |
// src stride, UB stride, UB offset, bytes back, n and len of the second copy, its src stride or gap, its dst stride or gap |
// atomic, offset in the destination
extern "C" __global__ __vector__ void through_ub(__gm__ uint8_t* gm, __gm__ uint8_t* back, __gm__ int64_t* p) {
    uint8_t* ub = isa::ub_base();
    std::memset(ub, 0xa5, size_t(p[11]));
    std::memset(running_core->ai.l1.at(0), 0xa5, size_t(p[11]));
    const auto load = [&](auto element) {
        using T = decltype(element);
        asc_set_copy_pad_val(T(p[6]));
        asc_copy_gm2ub_align(reinterpret_cast<T*>(ub + p[10]), reinterpret_cast<T*>(gm), p[1], p[2], p[3], p[4], p[5],
                             asc_load_l2_cache_mode{}, p[8], p[9]);
    };
    if (p[7] == 1) load(uint8_t{});
    if (p[7] == 2) load(uint16_t{});
    if (p[7] == 4) load(uint32_t{});
    asc_unlock(PIPE_MTE2, 5);
    asc_lock(PIPE_MTE3, 5);
    arm(p[16]);
    if (p[0] == 1) asc_copy_ub2gm_align(back + p[17], ub + p[10], p[12], p[13], asc_store_l2_cache_mode{}, p[15], p[14]);
    if (p[0] == 2) asc_copy_ub2l1(at<void>(p[17]), ub + p[10], p[12], p[13], p[14], p[15]);
    asc_sync();
    if (p[0] == 0) std::memcpy(back, ub, size_t(p[11]));
    if (p[0] == 2) std::memcpy(back, running_core->ai.l1.at(0), size_t(p[11]));
}

// Two products side by side, drained by one instruction that waits for the unit flags of both.
extern "C" __global__ __cube__ void two_matrices(__gm__ uint8_t* l0a, __gm__ float* dst, __gm__ int64_t* p) {
    AiCore& ai = running_core->ai;
    fill(ai.l0a, l0a, 1024);
    fill(ai.l0b, l0a, 512);
    for (int64_t i = 0; i < 2; ++i)
        asc_mmad(at<float>(i * p[0] * 64), at<half>(i * 512), at<half>(0), 16, 16, 16, 3, true, false, true);
    asc_set_l0c_copy_nz_para(2, p[0], 256);
    asc_copy_l0c2gm(dst, at<float>(0), 16, 16, 16, 16, asc_store_l2_cache_mode{}, asc_unit_flag_mode{3}, ASC_QUANT_NONE,
                    ASC_RELU_PRE_NONE, false, true, false, false);
}
