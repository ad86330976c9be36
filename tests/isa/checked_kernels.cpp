// SPDX-License-Identifier: MIT
// What does ASCEND_SIM_CHECK=memory say to broken kernels? Each computes y = 2 x over 64 floats, and with broken = 1 touches bytes that are
// not there or hold nothing. `// @name` marks the line that the message must point to: tests/isa/test_memory_check.py.
#include "simt_api/asc_simt.h"

constexpr asc_load_l2_cache_mode kLoad{0};
constexpr asc_store_l2_cache_mode kStore{0};
template <class T = float>
__ubuf__ T* ub(int64_t offset) {
    return reinterpret_cast<T*>(ascend::isa::ub_base() + offset);
}
constexpr int64_t kIn = 0, kOut = 4096, kNever = 8192, kEnd = 256 * 1024;

void load(__gm__ const float* x, int64_t bytes = 256) {
    asc_copy_gm2ub_align(ub(kIn), const_cast<float*>(x), 1, bytes, 0, 0, false, kLoad, 0, 0);  // @load
    asc_sync_notify(PIPE_MTE2, PIPE_V, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_V, 0);
    asc_sync_notify(PIPE_MTE2, PIPE_S, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_S, 0);
}
void store(__gm__ float* y, int64_t from = kOut, int64_t rows = 1, int64_t bytes = 256) {
    asc_sync_notify(PIPE_V, PIPE_MTE3, 0);
    asc_sync_wait(PIPE_V, PIPE_MTE3, 0);
    asc_copy_ub2gm_align(y, ub(from), rows, bytes, kStore, bytes, 256);  // @store
}
__simd_vf__ inline void twice(__ubuf__ float* in, __ubuf__ float* out) {
    vector_bool m = asc_create_mask_b32(PAT_ALL);
    vector_f32 a;
    asc_loadalign(a, in, 0);
    asc_mul_scalar(a, a, 2.0f, m);
    asc_storealign(out, a, 0, m);
}

#define VECTOR(name) extern "C" __global__ __vector__ void name(__gm__ float* x, __gm__ float* y, int broken)
// A kernel whose middle is one vector function.
#define SIMD(name, ...)                                                                \
    __simd_vf__ inline void name##_vf(__ubuf__ float* in, __ubuf__ float* out, int broken) { \
        vector_bool m = asc_create_mask_b32(PAT_ALL);                                  \
        vector_f32 a, b;                                                               \
        vector_u32 i;                                                                  \
        static_cast<void>(i), static_cast<void>(b);                                    \
        __VA_ARGS__                                                                    \
    }                                                                                  \
    VECTOR(name) {                                                                     \
        load(x);                                                                       \
        name##_vf(ub(kIn), ub(kOut), broken);                                          \
        store(y);                                                                      \
    }
// A kernel whose middle is one SIMT function of 64 threads; t is the thread.
#define SIMT(name, ...)                                                                                                          \
    __simt_vf__ void name##_vf(__ubuf__ float* in, __ubuf__ float* out, __gm__ float* x, __gm__ float* y, int broken) {          \
        const int t = threadIdx.x;                                                                                               \
        static_cast<void>(x), static_cast<void>(y), static_cast<void>(in);                                                       \
        __VA_ARGS__                                                                                                              \
    }                                                                                                                            \
    VECTOR(name) {                                                                                                               \
        load(x);                                                                                                                 \
        asc_vf_call<name##_vf>(cce::dim3(64), ub(kIn), ub(kOut), x, y, broken);                                                   \
        store(y);                                                                                                                \
    }

// ---- transfers ----
VECTOR(load_one_byte_too_far) {
    load(x, broken ? 257 : 256);
    twice(ub(kIn), ub(kOut));
    store(y);
}
VECTOR(store_one_element_more_than_was_computed) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y, kOut, 1, broken ? 260 : 256);
}
VECTOR(store_of_what_nobody_wrote) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y, broken ? kNever : kOut);
}
VECTOR(store_of_a_row_too_many) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y, kOut, broken ? 2 : 1, broken ? 128 : 256);
}
VECTOR(store_beyond_the_tensor) {
    load(x);
    twice(ub(kIn), ub(kOut));
    twice(ub(kIn), ub(kOut + 256));
    store(y, kOut, 1, broken ? 264 : 256);
}

// ---- vector instructions ----
SIMD(vector_load_of_nothing, asc_loadalign(a, in, broken ? 2048 : 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m);)  // @vector_load
SIMD(vector_load_beyond, asc_loadalign(a, in, broken ? 65536 - 32 : 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m);)  // @vector_load_beyond
SIMD(vector_store_beyond, asc_loadalign(a, in, 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, broken ? 64480 : 0, m);)  // @vector_store_beyond
SIMD(broadcast_of_nothing, asc_loadalign(a, in, 0); asc_loadalign_brc_elem(b, in, broken ? 64 : 0); asc_sub(b, b, b, m); asc_mul_scalar(a, a, 2.0f, m); asc_add(a, a, b, m); asc_storealign(out, a, 0, m);)  // @broadcast
SIMD(gather_of_nothing, asc_arange(i, broken ? 1u : 0u); asc_gather(a, in, i, m); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m);)  // @gather
SIMD(scatter_beyond, asc_loadalign(a, in, 0); asc_mul_scalar(a, a, 2.0f, m); asc_arange(i, broken ? 64449u : 0u); asc_scatter(out, a, i, m);)  // @scatter
SIMD(widened_from_nothing, vector_bf16 h; vector_bool m16 = asc_create_mask_b16(PAT_ALL); asc_loadalign(a, in, 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m);  // @widen
     if (broken) { asc_loadalign_unpack(h, reinterpret_cast<bfloat16_t*>(in) + 4096, 0); vcvt(a, h, m16, PART_EVEN, MODE_ZEROING); asc_storealign(out, a, 0, m); })
SIMD(exp_of_nothing, asc_loadalign(a, in, 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m);  // @exp
     if (broken) { asc_loadalign(a, in, 2048); asc_exp(b, a, m); asc_sqrt(a, b, m); asc_storealign(out, a, 0, m); })
SIMD(first_lane_beyond, asc_loadalign(a, in, 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m); asc_storealign_1st(out, a, broken ? 64512 : 0);)  // @first_lane

// ---- scalar code ----
VECTOR(scalar_load_of_nothing) {
    load(x);
    for (int k = 0; k < 64; ++k) ub(kOut)[k] = 2 * ub(kIn)[k + broken];  // @scalar_load
    store(y);
}
VECTOR(scalar_load_beyond) {
    load(x);
    for (int k = 0; k < 64; ++k) ub(kOut)[k] = 2 * (broken && k == 63 ? ub(kEnd)[0] : ub(kIn)[k]);  // @scalar_load_beyond
    store(y);
}
VECTOR(scalar_store_before) {
    load(x);
    for (int k = 0; k < 64; ++k) ub(kOut)[k] = 2 * ub(kIn)[k];
    if (broken) ub(0)[-1] = 1;  // @scalar_store
    store(y);
}
VECTOR(scalar_load_beyond_a_tensor) {
    load(x);
    for (int k = 0; k < 64; ++k) ub(kOut)[k] = x[k + broken] * 2;  // @tensor_load
    store(y);
}
VECTOR(scalar_store_beyond_a_tensor) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y);
    if (broken) y[64] = 0;  // @tensor_store
}
VECTOR(scalar_load_across_the_end) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y);
    if (broken) ub(kNever)[0] = static_cast<float>(*reinterpret_cast<volatile int64_t*>(x + 63));  // @across
}
VECTOR(data_of_the_block_before) {
    load(x);
    if (!broken || block_idx != 64) twice(ub(kIn), ub(kOut));
    store(y);
}
VECTOR(struct_copy_of_nothing) {
    struct Row { float at[64]; };
    load(x);
    twice(ub(kIn), ub(kOut));
    *ub<Row>(kOut) = *ub<Row>(broken ? kNever : kOut);  // @struct_copy
    store(y);
}

// ---- SIMT code ----
SIMT(simt_load_of_nothing, out[t] = 2 * in[t + broken];)  // @simt_load
SIMT(simt_wild_load, out[t] = 2 * in[broken && t == 5 ? 1 << 30 : t];)  // @simt_wild_load
SIMT(simt_wild_store, out[broken && t == 5 ? -70000 : t] = 2 * in[t];)  // @simt_wild_store
SIMT(simt_load_beyond_a_tensor, out[t] = 2 * x[t + broken];)  // @simt_tensor
SIMT(simt_store_before_a_tensor, out[t] = 2 * in[t]; if (broken) y[t - 1] = 0;)  // @simt_before
SIMT(simt_atomic_on_nothing, if (!broken) out[t] = 2 * in[t]; asc_atomic_add(out + t, 0.0f);)  // @simt_atomic
SIMT(simt_store_of_nothing_into_a_tensor, out[t] = 2 * in[t]; if (broken && t == 63) y[t] = in[t + 1] + 1;)  // @simt_gm_store
SIMT(index_from_nothing, const int index = reinterpret_cast<__ubuf__ int32_t*>(in)[64]; out[t] = 2 * in[broken ? index : t];)  // @index
SIMT(simt_atomic_beyond_a_tensor, out[t] = 2 * in[t]; y[t] = 0; asc_atomic_add(y + t + broken, 1.0f);)  // @simt_gm_atomic
SIMT(simt_reads_what_nobody_has_written, if (!broken) out[t] = 2 * in[t]; asc_syncthreads(); float v = out[63 - t]; asc_syncthreads(); out[63 - t] = v;)  // @simt_order
SIMT(simt_shuffle_from_another_branch, float v = 2 * in[t]; if (!broken || t % 2) v += 0 * asc_shfl_xor(v, 1); out[t] = v;)  // @shuffle

// ---- races ----
SIMT(simt_write_meets_a_read, const float v = 2 * in[(t + 32) % 64]; asc_syncthreads(); if (t < 32) out[t + 32] = 2 * in[t + 32]; if (!broken) asc_syncthreads(); if (t >= 32) { in[t] = v + 1; out[t - 32] = v; })  // @race_write
SIMT(simt_read_meets_a_write, out[t] = 2 * in[t]; if (!broken) asc_syncthreads(); if (t >= 32 && out[t - 32] != 2 * in[t - 32]) out[t] = -1;)  // @race_read
SIMT(simt_two_write_one_place, if (broken) out[0] = t; asc_syncthreads(); out[t] = 2 * in[t];)  // @race_writes
SIMT(simt_pair_straddles, if (broken) reinterpret_cast<volatile uint16_t*>(out)[t < 32 ? t : t - 1] = t; asc_syncthreads(); out[t] = 2 * in[t];)  // @race_halves
SIMT(simt_counts_without_atomics, out[t] = 2 * in[t]; out[64 + t] = 0; asc_syncthreads(); if (broken) out[64] = out[64] + 1; else asc_atomic_add(out + 64, 1.0f);)  // @race_count
// None: bytes of one word by two warps; one value by all; atomics; threads of a warp; what all read; the next function.
SIMT(simt_neighbours, __ubuf__ uint8_t* bytes = ub<uint8_t>(kNever); bytes[t] = t; out[t] = bytes[t] == t ? 2 * in[t] : 0;)
SIMT(simt_one_value_by_all, out[64] = 5; out[t] = out[64] == 5 ? 2 * in[t] : 0;)
SIMT(simt_atomics_together, if (t == 0) out[64] = 0; asc_syncthreads(); asc_atomic_add(out + 64, 1.0f); asc_syncthreads(); out[t] = out[64] == 64 ? 2 * in[t] : 0;)
SIMT(simt_in_step, out[t] = 1; asc_syncwarp(); if (t % 32 == 0) out[64 + t / 32] = out[t + 31]; asc_syncthreads(); out[t] = (out[64] + out[65]) * in[t];)
SIMT(simt_all_read, float sum = 0; for (int i = 0; i < 64; ++i) sum += in[i]; out[t] = sum == sum ? 2 * in[t] : 0;)
__simt_vf__ void write_once(__ubuf__ float* at) { at[threadIdx.x] = threadIdx.x; }
__simt_vf__ void read_reversed(__ubuf__ float* from, __ubuf__ float* in, __ubuf__ float* out) {
    const int t = threadIdx.x;
    out[t] = from[63 - t] == 63 - t ? 2 * in[t] : 0;
}
VECTOR(simt_one_function_after_the_other) {
    load(x);
    asc_vf_call<write_once>(cce::dim3(64), ub(kNever));
    asc_vf_call<read_reversed>(cce::dim3(64), ub(kNever), ub(kIn), ub(kOut));
    store(y);
}

// A structure, as a 16-bit float is one: its store may be announced before the load of its source.
template <int kBytes>
struct Bytes {
    uint8_t bytes[kBytes];
};
template <class T>
__simt_callee__ void copy_as(__ubuf__ float* from, __ubuf__ float* to, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes / sizeof(T); ++i)
        reinterpret_cast<__ubuf__ T*>(to)[i] = reinterpret_cast<__ubuf__ T*>(from)[i];  // @copy_as
}
// The block first copies what nobody wrote to where nobody looks, then 64 floats that are there; broken: 63 of them.
#define COPIES(name, ...)                                              \
    SIMT(name, if (t == 0) {                                           \
        for (int i = 63; i >= 0; --i) in[i + 32] = 2 * in[i];          \
        copy_as<__VA_ARGS__>(in + 96, out + 96, 128);                  \
        copy_as<__VA_ARGS__>(in + 32 + 8 * broken, out, 256);          \
    })
COPIES(copies_of_16_bits, half)
COPIES(copies_of_words, Bytes<4>)
COPIES(copies_of_two_words, Bytes<8>)
COPIES(copies_of_large_structures, Bytes<32>)

// f16 makes another NaN of what nobody wrote.
__simt_callee__ void doubled(__ubuf__ half* h, __ubuf__ half* to) { *to = *h + *h; }  // @f16
SIMT(f16_of_nothing, out[t] = 2 * in[t]; asc_syncthreads(); if (broken) doubled(reinterpret_cast<__ubuf__ half*>(in) + 128 + t, reinterpret_cast<__ubuf__ half*>(out) + t);)

// Integers that look like negatives of those NaNs.
__simt_vf__ void negative_integers(__ubuf__ int16_t* never, __ubuf__ int16_t* out) {
    const int t = threadIdx.x;
    out[256 + t] = static_cast<int16_t>(never[t] + 1);
    for (int i = t; i < 128; i += 64) out[i] = static_cast<int16_t>(i % 3 == 0 ? -27 : i % 3 == 1 ? -64 : -512);
}
VECTOR(integers_of_16_bits) {
    load(x);
    asc_vf_call<negative_integers>(cce::dim3(64), ub<int16_t>(kNever), ub<int16_t>(kOut));
    store(y);
    twice(ub(kIn), ub(kOut));
    store(y);
}

// The last thing a kernel does.
VECTOR(last_store_of_nothing) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y);
    if (broken) reinterpret_cast<__gm__ int32_t*>(y)[5] = reinterpret_cast<__ubuf__ int32_t*>(ub(kNever))[5];  // @last_store
}

// What is thrown lies in no tensor, and nobody's pointer was wrong.
struct Reason {
    int code;
    float values[4];
};
VECTOR(thrown) {
    load(x);
    twice(ub(kIn), ub(kOut));
    store(y);
    if (broken) throw Reason{broken, {1, 2, 3, static_cast<float>(broken)}};  // @thrown
}

// ---- right ones that look suspicious ----
// A whole register is loaded where half of it was written, and only that half is used.
SIMD(half_a_register, vector_bool half_mask = asc_create_mask_b32(PAT_VL32);
     for (int k = 0; k < 64; k += 32) { asc_loadalign(a, in, k); asc_mul_scalar(a, a, 2.0f, half_mask); asc_storealign(out, a, k, half_mask); })
// The last tile is short: all of its rows are computed, and only those that were loaded are stored.
SIMD(a_short_tile, for (int k = 0; k < 8; ++k) { asc_loadalign(a, in, 64 * k); asc_mul_scalar(a, a, 2.0f, m); asc_exp(b, a, m); asc_select(a, a, a, m); asc_storealign(out, a, 64 * k, m); })
SIMT(a_short_tile_of_threads, float rows[4]; for (int k = 0; k < 4; ++k) rows[k] = in[t + 64 * k]; for (int k = 0; k < 4; ++k) out[t + 64 * k] = 2 * rows[k];)
// A masked store that ends where UB ends.
SIMD(masked_at_the_end, asc_loadalign(a, in, 0); asc_mul_scalar(a, a, 2.0f, m); asc_storealign(out, a, 0, m);
     uint32_t few = 8; vector_bool f = asc_update_mask_b32(few); asc_storealign(out, a, 65536 - 1024 - 8, f);)
VECTOR(local_arrays) {
    load(x);
    float here[64];
    for (int k = 0; k < 64; ++k) here[k] = 2 * ub(kIn)[k];
    for (int k = 0; k < 64; ++k) ub(kOut)[k] = here[63 - (63 - k)];
    store(y);
}

// ---- how much slower ----
__simd_vf__ inline void norms(__ubuf__ float* in, __ubuf__ float* out, int rows) {
    vector_bool m = asc_create_mask_b32(PAT_ALL);
    vector_f32 a, b, sum, top;
    asc_duplicate_scalar(sum, 0.0f, m);
    for (int k = 0; k < rows; ++k) {
        asc_loadalign(a, in, 64 * (k % 4));
        asc_abs(b, a, m);
        asc_max(top, b, sum, m);
        ::vmula(sum, a, b, m, MODE_ZEROING);
        asc_mul_scalar(a, a, 0.5f, m);
        asc_add(a, a, top, m);
        asc_min(sum, sum, a, m);
        asc_storealign(out, a, 64 * (k % 4), m);
    }
}
VECTOR(many_vector_instructions) {
    load(x);
    for (int k = 0; k < 4; ++k) twice(ub(kIn), ub(kNever + 256 * k));
    norms(ub(kNever), ub(kOut), broken);
    twice(ub(kIn), ub(kOut));
    store(y);
}
__simt_vf__ void scale(__ubuf__ float* in, __ubuf__ float* out, int times) {
    const int t = threadIdx.x;
    for (int k = 0; k < times; ++k) out[t] = in[(t + k) % 64] + out[t] * 0.5f;
    out[t] = 2 * in[t];
}
VECTOR(many_plain_accesses) {
    load(x);
    for (int k = 0; k < 64; ++k) ub(kOut)[k] = 0;
    asc_vf_call<scale>(cce::dim3(64), ub(kIn), ub(kOut), broken);
    store(y);
}
