// SPDX-License-Identifier: MIT
// What does the chip say to a broken kernel? Each kernel here is right with broken = 0 and breaks one rule with broken = 1.
// `// @name` marks the line that the message must point to: tests/isa/test_faults.py.

#include <csignal>
#include <cstdlib>
#include <exception>
#include <locale>
#include <vector>

#include <unistd.h>

#include "simt_api/asc_simt.h"

constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};

template <class T>
T* at(int64_t offset) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(offset));
}
uint8_t* ub(int64_t offset) { return ascend::isa::ub_base() + offset; }

// D[16, 16] = A[16, 16] @ B[16, 16]^T on one cube core, every number of it open to change.
struct Product {
    int64_t l1_a = 0, l1_b = 512, l0a = 0, l0b = 0, l0c = 0, rows = 16;
    int64_t m = 16, k = 16, n = 16;
    int m_id = 0, fix_id = 0, fix_m = 16, fix_n = 16, mmad_unit_flag = 0, fix_unit_flag = 0, quant = 0, fix_stride = 16;
    bool init = true;
};

void load(__gm__ bfloat16_t* a, __gm__ bfloat16_t* b, const Product& p) {
    asc_set_gm2l1_nz_para(1, 1, 16, 0);
    asc_copy_gm2l1_nd2nz(at<bfloat16_t>(p.l1_a), a, 32, kLoad, p.rows, 16, 0, false);  // @load_a
    asc_copy_gm2l1_nd2nz(at<bfloat16_t>(p.l1_b), b, 32, kLoad, p.rows, 16, 0, false);
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
}

void multiply(const Product& p) {
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
    asc_copy_l12l0a(at<bfloat16_t>(p.l0a), at<bfloat16_t>(p.l1_a), 0, 0, 1, 1, 1, 1);  // @load_l0a
    asc_copy_l12l0b(at<bfloat16_t>(p.l0b), at<bfloat16_t>(p.l1_b), 0, 0, 1, 1, 1, 1);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, p.m_id);  // @wait_m
    asc_mmad(at<float>(p.l0c), at<bfloat16_t>(0), at<bfloat16_t>(0), p.m, p.k, p.n, p.mmad_unit_flag, true, false, p.init);  // @mmad
    if (!p.fix_unit_flag) asc_sync_notify(PIPE_M, PIPE_FIX, 0);
}

void store(__gm__ float* d, const Product& p) {
    if (!p.fix_unit_flag) asc_sync_wait(PIPE_M, PIPE_FIX, p.fix_id);
    asc_copy_l0c2gm(d, at<float>(0), p.fix_n, p.fix_m, p.fix_n, p.fix_stride, kStore, asc_unit_flag_mode(p.fix_unit_flag),  // @fix
                    asc_quant_mode(p.quant), asc_relu_pre_mode{0}, false, true, false, false);
}

void product(__gm__ bfloat16_t* a, __gm__ bfloat16_t* b, __gm__ float* d, const Product& p) {
    load(a, b, p);
    multiply(p);
    store(d, p);
}

#define CUBE(name) \
    extern "C" __global__ __cube__ void name(__gm__ bfloat16_t* a, __gm__ bfloat16_t* b, __gm__ float* d, int broken)
#define PRODUCT(name, ...) \
    CUBE(name) {           \
        Product p;         \
        if (broken) p = {__VA_ARGS__}; \
        product(a, b, d, p);           \
    }

// ---- addresses ----------------------------------------------------------------------------------------------------------

PRODUCT(l1_out_of_range, .l1_a = 512 * 1024 - 256)
PRODUCT(l1_misaligned, .l1_a = 16)
PRODUCT(l0a_out_of_range, .l0a = 64 * 1024)
PRODUCT(l0a_misaligned, .l0a = 256)
PRODUCT(l0c_out_of_range, .l0c = 256 * 1024 - 512)
PRODUCT(l0c_misaligned, .l0c = 32)
PRODUCT(gm_one_row_too_many, .rows = 17)

// ---- flags --------------------------------------------------------------------------------------------------------------

PRODUCT(lost_flag, .m_id = 1)
PRODUCT(flag_id, .m_id = 8)
PRODUCT(unit_flag_never_set, .mmad_unit_flag = 2, .fix_unit_flag = 3)

CUBE(flag_set_twice) {
    load(a, b, {});
    if (broken) asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);  // @second_set
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 1);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 1);
    asc_copy_l12l0a(at<bfloat16_t>(4096), at<bfloat16_t>(0), 0, 0, 1, 1, 1, 1);  // so that the wait comes later than both
    multiply({});
    store(d, {});
    if (broken) asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
}

CUBE(sets_left) {
    product(a, b, d, {});
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 6);  // one may be left
    for (int i = 0; i < 3 * broken; ++i) asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 5);  // @sets_left
}
// ---- fields -------------------------------------------------------------------------------------------------------------

PRODUCT(mmad_m_field, .m = 4096)
PRODUCT(mmad_unit_flag_mode, .mmad_unit_flag = 1)
PRODUCT(fix_n_field, .fix_n = 4096)
PRODUCT(fix_quant_mode, .quant = 7)

CUBE(mx_k) {
    product(a, b, d, {});
    if (broken) asc_mmad_mx(at<float>(0), at<float8_e4m3_t>(0), at<float8_e4m3_t>(0), 16, 96, 16, 0, true, false, true);  // @mx_k
}

// ---- undefined data -----------------------------------------------------------------------------------------------------

PRODUCT(l0a_undefined, .k = 32)
PRODUCT(l0b_undefined, .l0b = 4096)
PRODUCT(row_undefined, .m = 17, .fix_m = 17, .fix_stride = 32)
PRODUCT(columns_undefined, .n = 32, .fix_m = 8, .fix_n = 32)
PRODUCT(accumulator_undefined, .init = false)
PRODUCT(l0c_undefined, .fix_m = 17)

// D[16, 16] = A[16, 64] @ B[16, 64]^T in e4m3, all scales 1; A and B are bytes of `a`.
CUBE(scales_undefined) {
    const uint8_t* bytes = reinterpret_cast<uint8_t*>(a);
    asc_set_gm2l1_nz_para(1, 1, 16, 0);
    asc_copy_gm2l1_nd2nz(at<uint8_t>(0), bytes, 32, kLoad, 16, 32, 0, false);
    asc_copy_gm2l1_nd2nz(at<uint8_t>(512), bytes, 32, kLoad, 16, 32, 0, false);
    asc_fill_l1(at<uint16_t>(1024), 0x7f7f, {.repeat = 1, .blk_num = 1, .dst_gap = 0});
    asc_sync_notify(PIPE_MTE2, PIPE_MTE1, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE1, 0);
    asc_copy_l12l0a(at<uint8_t>(0), at<uint8_t>(0), 0, 0, 1, 2, 1, 1);
    asc_copy_l12l0b(at<uint8_t>(0), at<uint8_t>(0), 0, 0, 1, 2, 1, 1);
    if (!broken) asc_copy_l12l0a_mx(0, at<fp8_e8m0_t>(1024), 0, 0, 1, 1, 1, 1);
    asc_copy_l12l0b_mx(0, at<fp8_e8m0_t>(1024), 0, 0, 1, 1, 1, 1);
    asc_sync_notify(PIPE_MTE1, PIPE_M, 0);
    asc_sync_wait(PIPE_MTE1, PIPE_M, 0);
    asc_mmad_mx(at<float>(0), at<float8_e4m3_t>(0), at<float8_e4m3_t>(0), 16, 64, 16, 0, true, false, true);  // @mmad_mx
    asc_sync_notify(PIPE_M, PIPE_FIX, 0);
    store(d, {});
}

// ---- vector cores -------------------------------------------------------------------------------------------------------

// y = 2 x of 64 floats.
struct Double {
    int64_t in = 0, bursts = 1, bytes = 256, load_at = 0;
    int id = 0;
};
void twice(__gm__ float* x, __gm__ float* y, const Double& t) {
    asc_copy_gm2ub_align(reinterpret_cast<float*>(ub(t.in)), x, t.bursts, t.bytes, 0, 0, false, kLoad, 0, 0);  // @gm2ub
    asc_sync_notify(PIPE_MTE2, PIPE_V, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_V, t.id);  // @wait_v
    {
        ASC_VF;
        vector_float v;
        asc_loadalign(v, reinterpret_cast<float*>(ub(t.in + t.load_at)));  // @vector_load
        asc_add(v, v, v, asc_create_mask_b32(PAT_ALL));
        asc_storealign(reinterpret_cast<float*>(ub(1024)), v, 0, asc_create_mask_b32(PAT_ALL));
    }
    asc_sync_notify(PIPE_V, PIPE_MTE3, 0);
    asc_sync_wait(PIPE_V, PIPE_MTE3, 0);
    asc_copy_ub2gm_align(y, reinterpret_cast<float*>(ub(1024)), 1, 256, kStore, 0, 0);
}

#define VECTOR(name) extern "C" __global__ __vector__ void name(__gm__ float* x, __gm__ float* y, int broken)
#define TWICE(name, ...) \
    VECTOR(name) {       \
        Double t;        \
        if (broken) t = {__VA_ARGS__}; \
        twice(x, y, t);                \
    }

TWICE(ub_out_of_range, .in = 256 * 1024 - 128)
TWICE(ub_misaligned, .in = 16)
TWICE(burst_count, .bursts = 4096)
TWICE(gm_one_byte_too_far, .bytes = 257)
TWICE(vector_load_misaligned, .load_at = 4)
TWICE(vector_load_out_of_range, .load_at = 256 * 1024)
TWICE(lost_flag_of_vector_core, .id = 5)

VECTOR(more_sets_than_waits) {
    if (broken)
        for (int i = 0; i < 20; ++i) asc_sync_notify(PIPE_MTE2, PIPE_V, 3);  // @many_sets
    if (broken) asc_sync_wait(PIPE_MTE2, PIPE_V, 3);
    twice(x, y, {});
}
VECTOR(scalar_out_of_range) {
    twice(x, y, {});
    volatile uint8_t* memory = ub(broken ? 256 * 1024 : 0);
    memory[0] = 1;  // @scalar_store
}

VECTOR(null_pointer) {
    twice(x, y, {});
    volatile float* p = broken ? at<float>(0x40) : reinterpret_cast<float*>(ub(0));
    y[0] = *p * 2;  // @scalar_load
}

VECTOR(division_by_zero) {
    twice(x, y, {});
    volatile int zero = !broken;
    y[0] = static_cast<float>(2 / zero) * x[0];  // @division
}

VECTOR(quotient_too_large) {
    twice(x, y, {});
    volatile int divisor = broken ? -1 : 1, smallest = -2147483647 - 1;
    y[0] = static_cast<float>(smallest / divisor != 0) * 2 * x[0];  // @quotient
}

float doubled(float a) { return 2 * a; }
VECTOR(wild_call) {
    twice(x, y, {});
    auto* volatile f = broken ? at<float(float)>(0x1234560) : &doubled;
    y[0] = f(x[0]);  // @wild_call
}
VECTOR(null_call) {
    twice(x, y, {});
    auto* volatile f = broken ? nullptr : &doubled;
    y[0] = f(x[0]);  // @null_call
}
VECTOR(call_of_data) {
    twice(x, y, {});
    auto* volatile f = broken ? at<float(float)>(reinterpret_cast<int64_t>(y)) : &doubled;
    y[0] = f(x[0]);  // @call_of_data
}
VECTOR(impossible_address) {
    twice(x, y, {});
    y[0] = 2 * *(broken ? at<volatile float>(0x7ff0'0000'0000'1234) : x);  // @impossible
}
VECTOR(thrown) {
    twice(x, y, {});
    if (broken) throw static_cast<short>(block_idx);  // @throw
}
void never_throws(int broken) noexcept {
    if (broken) throw broken;  // @throw_nothing
}
VECTOR(thrown_where_nothing_may_be) {
    twice(x, y, {});
    never_throws(broken);
}
VECTOR(aborted) {
    twice(x, y, {});
    if (broken) abort();  // @abort
}
VECTOR(exited) {
    twice(x, y, {});
    if (broken) exit(3);  // @exit
}
VECTOR(left_at_once) {
    twice(x, y, {});
    if (broken) _exit(4);  // @_exit
}
VECTOR(terminated) {
    twice(x, y, {});
    if (broken) std::terminate();  // @terminate
}
VECTOR(raised) {
    twice(x, y, {});
    if (broken) y[0] = static_cast<float>(raise(SIGKILL));  // @raise
}
VECTOR(trap_instruction) {
    twice(x, y, {});
    if (broken) __builtin_trap();  // @trap
}
__simt_vf__ void trap_of_one(int broken) {
    asc_syncthreads();
    if (broken && threadIdx.x == 5) __builtin_trap();  // @simt_trap
}
VECTOR(trap_of_a_thread) {
    twice(x, y, {});
    asc_vf_call<trap_of_one>(cce::dim3(64), broken);
}
VECTOR(no_such_element) {
    twice(x, y, {});
    std::vector<float> values(3);
    y[0] += values.at(broken ? 7 : 1);  // @element
}
void has_no_locale(int broken) noexcept { std::locale made(broken ? "no such place" : "C"); }  // @locale
VECTOR(library_throws_where_nothing_may_be) {
    twice(x, y, {});
    has_no_locale(broken);
}
struct Shape {
    Shape() { show(); }
    void show() { draw(); }  // @virtual
    virtual void draw() = 0;
};
struct Circle : Shape { void draw() override {} };
VECTOR(pure_virtual) {
    twice(x, y, {});
    if (broken) Circle circle;
}

VECTOR(cube_instruction) {
    if (broken) asc_mmad(at<float>(0), at<bfloat16_t>(0), at<bfloat16_t>(0), 16, 16, 16, 0, true, false, true);  // @wrong_core
    twice(x, y, {});
}

void notifies(int broken) noexcept { asc_sync_notify(broken ? PIPE_M : PIPE_MTE2, PIPE_V, 3); }  // @notify_nothing
VECTOR(instruction_where_nothing_may_be_thrown) {
    twice(x, y, {});
    notifies(broken);
    asc_sync_wait(PIPE_MTE2, PIPE_V, 3);
}
void waits(int broken) noexcept { asc_sync_wait(PIPE_V, PIPE_S, broken ? 5 : 4); }  // @wait_for_nothing
VECTOR(wait_where_nothing_may_be_thrown) {
    twice(x, y, {});
    asc_sync_notify(PIPE_V, PIPE_S, 4);
    waits(broken);
}
VECTOR(pipe_of_the_cube) {
    if (broken) asc_sync_notify(PIPE_MTE1, PIPE_MTE2, 0);  // @wrong_pipe
    twice(x, y, {});
}

TWICE(freed_tensor)

VECTOR(assertion) {
    assert(!broken);  // @assert
    twice(x, y, {});
}

__attribute__((noinline)) float recursion(volatile float* x, int depth) {
    volatile float room[256];
    room[depth % 256] = x[0];
    return depth == 0 ? room[0] : recursion(room, depth - 1) + room[depth % 256];  // @recursion
}
VECTOR(stack_overflow) {
    twice(x, y, {});
    y[0] = recursion(x, broken ? 100000 : 0) * 2;
}

VECTOR(never_ends) {
    while (broken) asc_sync_pipe(PIPE_V);  // @endless
    twice(x, y, {});
}

// ---- several cores ------------------------------------------------------------------------------------------------------

#define MIX(name) extern "C" __global__ __mix__(1, 2) void name(__gm__ float* x, __gm__ float* y, int broken)

// Cube and vector core 0 hand over to each other; broken: each waits for the other first.
MIX(cores_wait_for_each_other) {
    if ASC_IS_AIC {
        if (broken) asc_sync_intra_wait(PIPE_MTE2, 3);  // @cube_waits
        asc_sync_intra_arrive(PIPE_MTE2, 2);
        if (!broken) asc_sync_intra_wait(PIPE_MTE2, 3);
    }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        asc_sync_intra_wait(PIPE_MTE2, 2);  // @vector_waits
        twice(x, y, {});
        asc_sync_intra_arrive(PIPE_MTE3, 3);
    }
}

MIX(cross_flag_of_another_id) {
    if ASC_IS_AIC { asc_sync_intra_arrive(PIPE_MTE2, 2 + broken); }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        asc_sync_intra_wait(PIPE_MTE2, 2);  // @waits_for_two
        twice(x, y, {});
    }
}

MIX(counter_overflow) {
    if ASC_IS_AIC {
        for (int i = 0; i < 15 + broken; ++i) asc_sync_intra_arrive(PIPE_FIX, 1);  // @count
    }
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 1) return;
        if (!broken)
            for (int i = 0; i < 15; ++i) asc_sync_intra_wait(PIPE_MTE3, 1);
        twice(x, y, {});
    }
}

// Mode 2: the cube needs both vector cores.
MIX(one_of_two_arrives) {
    if ASC_IS_AIC asc_sync_cross_wait(PIPE_FIX, 2, 4);  // @needs_both
    if ASC_IS_AIV {
        if (asc_get_sub_block_id() == 0) twice(x, y, {});
        if (asc_get_sub_block_id() == 0 || !broken) asc_sync_cross_set(PIPE_MTE3, 2, 4);
    }
}

VECTOR(grid_barrier) {
    twice(x + 64 * block_idx, y + 64 * block_idx, {});
    if (broken && block_idx == 2) return;
    asc_sync_inter_arrive(PIPE_MTE3, 11);  // @arrive
    asc_sync_inter_wait(PIPE_MTE3, 11);    // @grid_wait
}
