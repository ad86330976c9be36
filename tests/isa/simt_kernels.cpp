// SPDX-License-Identifier: MIT
// SIMT functions, each of one question: tests/isa/test_simt.py launches them. `// @name` marks lines that messages point to.
#include "simt_api/cooperative_groups.h"

using ascend::isa::ub_base;
template <class T>
__ubuf__ T* ub(int64_t offset = 0) {
    return reinterpret_cast<T*>(ub_base() + offset);
}
int me() { return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }

#define VECTOR(name) extern "C" __global__ __vector__ void name

// ---- indices ----
__simt_vf__ void write_indices(__gm__ int32_t* out) {
    int32_t* row = out + 8 * me();
    const int32_t values[8] = {int32_t(threadIdx.x), int32_t(threadIdx.y), int32_t(threadIdx.z), int32_t(laneid()),
                               int32_t(blockDim.x), int32_t(blockDim.y), int32_t(blockDim.z), blockIdx.x};
    for (int i = 0; i < 8; ++i) row[i] = values[i];
}
VECTOR(indices)(__gm__ int32_t* out, int x, int y, int z) {
    asc_vf_call<write_indices>(cce::dim3(x, y, z), out + 8 * x * y * z * block_idx);
}

// ---- barriers: out[i] = what thread (i + 1) % n had after `rounds` steps of passing values on ----
__simt_vf__ void pass_on(__gm__ const int32_t* in, __gm__ int32_t* out, __ubuf__ int32_t* shared, int rounds) {
    const int n = blockDim.x, i = threadIdx.x;
    int32_t value = in[i];
    for (int round = 0; round < rounds; ++round) {
        shared[i] = value;
        asc_syncthreads();
        value = shared[(i + 1) % n] + round;
        asc_threadfence();
        asc_threadfence_block();
        asc_syncthreads();
    }
    out[i] = value;
}
VECTOR(barriers)(__gm__ const int32_t* in, __gm__ int32_t* out, int threads, int rounds) {
    asc_vf_call<pass_on>(cce::dim3(threads), in, out, ub<int32_t>(), rounds);
}
// Threads return one by one; the others still meet.
__simt_vf__ void leave_early(__gm__ int32_t* out, __ubuf__ int32_t* shared) {
    const int i = threadIdx.x;
    shared[i] = 0;
    asc_syncthreads();
    for (int round = 0;; ++round) {
        if (round == i) {
            out[i] = shared[i] + shared[blockDim.x - 1];
            return;
        }
        shared[i] = shared[i] + 1;
        asc_syncthreads();
    }
}
VECTOR(leaving)(__gm__ int32_t* out, int threads) { asc_vf_call<leave_early>(cce::dim3(threads), out, ub<int32_t>()); }

// Some threads never reach the barrier of the others.
__simt_vf__ void pass_by(__gm__ int32_t* out, int meet, int returned) {
    const int i = threadIdx.x;
    if (i >= int(blockDim.x) - returned) return;
    if (i < meet) asc_syncthreads();  // @pass_by
    out[i] = i;
}
VECTOR(passing_by)(__gm__ int32_t* out, int threads, int meet, int returned) { asc_vf_call<pass_by>(cce::dim3(threads), out, meet, returned); }
__simt_vf__ void part(__gm__ int32_t* out, int first) {
    const int i = threadIdx.x;
    if (i < first) {
        asc_syncthreads();  // @part
        out[i] = i;
    } else {
        asc_syncthreads();  // @other_part
        out[i] = -i;
    }
}
VECTOR(parting)(__gm__ int32_t* out, int threads, int first) { asc_vf_call<part>(cce::dim3(threads), out, first); }

// ---- exchanges ----
template <class T>
__simt_vf__ void exchange(__gm__ const T* in, __gm__ T* out, __gm__ const int32_t* argument, int kind, int width) {
    const int i = me();
    const T value = in[i];
    const int32_t a = argument[i];
    switch (kind) {
        case 0: out[i] = asc_shfl(value, a, width); break;
        case 1: out[i] = asc_shfl_up(value, a, width); break;
        case 2: out[i] = asc_shfl_down(value, a, width); break;
        case 3: out[i] = asc_shfl_xor(value, a, width); break;
    }
}
template <class T>
__simt_vf__ void reduce(__gm__ const T* in, __gm__ T* out, int kind) {
    const int i = me();
    const T value = in[i];
    if (kind == 0) out[i] = asc_reduce_add(value);
    if (kind == 1) out[i] = asc_reduce_max(value);
    if (kind == 2) out[i] = asc_reduce_min(value);
}
#define FOR_TYPE(suffix, T)                                                                                            \
    VECTOR(shuffle_##suffix)(__gm__ const T* in, __gm__ T* out, __gm__ const int32_t* a, int threads, int kind, int width) { \
        asc_vf_call<exchange<T>>(cce::dim3(threads), in, out, a, kind, width); /* @width */                            \
    }                                                                                                                  \
    VECTOR(reduce_##suffix)(__gm__ const T* in, __gm__ T* out, int threads, int kind) {                                \
        asc_vf_call<reduce<T>>(cce::dim3(threads), in, out, kind);                                                     \
    }
FOR_TYPE(f32, float)
FOR_TYPE(f16, half)
FOR_TYPE(bf16, bfloat16_t)
FOR_TYPE(s32, int32_t)
FOR_TYPE(u32, uint32_t)
FOR_TYPE(s64, int64_t)

__simt_vf__ void vote(__gm__ const int32_t* in, __gm__ uint32_t* out) {
    const int i = me();
    uint32_t* row = out + 4 * i;
    row[0] = asc_ballot(in[i]);
    row[1] = asc_any(in[i]);
    row[2] = asc_all(in[i]);
    row[3] = asc_activemask();
    cooperative_groups::coalesced_threads().sync();
    asc_syncwarp();
}
VECTOR(votes)(__gm__ const int32_t* in, __gm__ uint32_t* out, int threads) { asc_vf_call<vote>(cce::dim3(threads), in, out); }

// Only the lanes of `mask` exchange.
template <class T>
__simt_vf__ void exchange_in(__gm__ const T* in, __gm__ T* values, __gm__ uint32_t* votes, uint32_t mask) {
    const int i = me();
    if (!(mask >> laneid() & 1)) return;
    const T x = in[i];
    T* row = values + 6 * i;
    row[0] = asc_reduce_add(x);
    row[1] = asc_reduce_max(x);
    row[2] = asc_reduce_min(x);
    row[3] = asc_shfl(x, 31);
    row[4] = asc_shfl_up(x, 1u);
    row[5] = asc_shfl_down(x, 1u);
    votes[5 * i] = asc_ballot(x != T(0));
    votes[5 * i + 1] = asc_any(x != T(0));
    votes[5 * i + 2] = asc_all(x != T(0));
    votes[5 * i + 3] = asc_activemask();
    asc_syncwarp();
    votes[5 * i + 4] = asc_shfl_xor(uint32_t(i), 1);
}
VECTOR(chosen_f32)(__gm__ const float* in, __gm__ float* values, __gm__ uint32_t* votes, int threads, uint32_t mask) {
    asc_vf_call<exchange_in<float>>(cce::dim3(threads), in, values, votes, mask);
}
VECTOR(chosen_s32)(__gm__ const int32_t* in, __gm__ int32_t* values, __gm__ uint32_t* votes, int threads, uint32_t mask) {
    asc_vf_call<exchange_in<int32_t>>(cce::dim3(threads), in, values, votes, mask);
}

// Divergence: a branch of some lanes, loops of different lengths, an early return, all lanes behind.
__simt_vf__ void diverge(__gm__ int32_t* out) {
    const int i = me(), lane = laneid();
    int32_t* row = out + 6 * i;
    for (int c = 0; c < 6; ++c) row[c] = -1;
    if (lane < 20) row[0] = asc_reduce_add(i);
    row[1] = asc_reduce_add(i);
    int sum = 0;
    for (int step = 0; step < lane % 4; ++step) sum += asc_reduce_add(1);
    row[2] = sum;
    row[3] = asc_reduce_max(i);
    if (lane == 7) return;
    if (lane % 2) row[4] = asc_shfl(i, 2);
    else row[4] = asc_shfl(i, 1);
    asc_syncthreads();
    row[5] = int32_t(asc_activemask());
}
VECTOR(divergence)(__gm__ int32_t* out, int threads) { asc_vf_call<diverge>(cce::dim3(threads), out); }

// ---- atomics ----
enum { add_, sub_, max_, min_, exch_, and_, or_, xor_, inc_, dec_, cas_ };
template <class T>
__simt_vf__ void update(T* target, __gm__ const T* in, __gm__ T* old, int kind, int targets) {
    const int i = me();
    T* at = target + i % targets;
    switch (kind) {
        case add_: old[i] = asc_atomic_add(at, in[i]); return;
        case sub_: old[i] = asc_atomic_sub(at, in[i]); return;
        case max_: old[i] = asc_atomic_max(at, in[i]); return;
        case min_: old[i] = asc_atomic_min(at, in[i]); return;
        case exch_: old[i] = asc_atomic_exch(at, in[i]); return;
    }
    if constexpr (std::is_integral_v<T>) switch (kind) {
            case and_: old[i] = asc_atomic_and(at, in[i]); return;
            case or_: old[i] = asc_atomic_or(at, in[i]); return;
            case xor_: old[i] = asc_atomic_xor(at, in[i]); return;
            case inc_: old[i] = asc_atomic_inc(at, in[i]); return;
            case dec_: old[i] = asc_atomic_dec(at, in[i]); return;
            case cas_: old[i] = asc_atomic_cas(at, in[i], T(i)); return;
        }
}
template <class T>
void in_ub(__gm__ T* target, __gm__ const T* in, __gm__ T* old, int threads, int kind, int targets) {
    for (int i = 0; i < targets; ++i) ub<T>()[i] = target[i];
    asc_vf_call<update<T>>(cce::dim3(threads), ub<T>(), in, old, kind, targets);
    for (int i = 0; i < targets; ++i) target[i] = ub<T>()[i];
}
#define ATOMICS(suffix, T)                                                                                                     \
    VECTOR(atomic_ub_##suffix)(__gm__ T* target, __gm__ const T* in, __gm__ T* old, int threads, int kind, int targets) {      \
        in_ub<T>(target, in, old, threads, kind, targets);                                                                     \
    }                                                                                                                          \
    VECTOR(atomic_gm_##suffix)(__gm__ T* target, __gm__ const T* in, __gm__ T* old, int threads, int kind, int targets) {      \
        asc_vf_call<update<T>>(cce::dim3(threads), target, in + threads * block_idx, old + threads * block_idx, kind, targets); \
    }
ATOMICS(f32, float)
ATOMICS(f16, half)
ATOMICS(bf16, bfloat16_t)
ATOMICS(s32, int32_t)
ATOMICS(u32, uint32_t)
ATOMICS(s64, int64_t)
ATOMICS(u64, uint64_t)

// ---- mathematics ----
template <class T>
__simt_vf__ void compute(__gm__ const T* in, __gm__ T* out, int n) {
    const int i = me();
    const T x = in[i];
    int row = 0;
#define ROW(f32_call, f16_call)                                                           \
    {                                                                                     \
        if constexpr (std::is_same_v<T, float>) out[row++ * n + i] = f32_call;            \
        else out[row++ * n + i] = f16_call;                                               \
    }
    ROW(sqrtf(x), hsqrt(x)) ROW(rsqrtf(x), hrsqrt(x)) ROW(expf(x), hexp(x)) ROW(exp2f(x), hexp2(x)) ROW(exp10f(x), hexp10(x))
    ROW(logf(x), hlog(x)) ROW(log2f(x), hlog2(x)) ROW(log10f(x), hlog10(x)) ROW(log1pf(x), hlog1p(x)) ROW(tanhf(x), htanh(x))
    ROW(tanf(x), htan(x)) ROW(sinf(x), hsin(x)) ROW(cosf(x), hcos(x)) ROW(atanf(x), hatan(x)) ROW(atan2f(x, 0.75f), hatan2(x, half(0.75f)))
    ROW(erff(x), herf(x)) ROW(floorf(x), hfloor(x)) ROW(ceilf(x), hceil(x)) ROW(fabsf(x), hfabs(x)) ROW(roundf(x), hround(x))
    ROW(truncf(x), htrunc(x))
#undef ROW
}
VECTOR(math_f32)(__gm__ const float* in, __gm__ float* out, int n) { asc_vf_call<compute<float>>(cce::dim3(n), in, out, n); }
VECTOR(math_f16)(__gm__ const half* in, __gm__ half* out, int n) { asc_vf_call<compute<half>>(cce::dim3(n), in, out, n); }

__simt_vf__ void compute_atan2(__gm__ const float* y, __gm__ const float* x, __gm__ float* out, __gm__ float* narrow) {
    const int i = me();
    out[i] = atan2f(y[i], x[i]);
    narrow[i] = hatan2(half(y[i]), half(x[i]));
}
VECTOR(atan2_pairs)(__gm__ const float* y, __gm__ const float* x, __gm__ float* out, __gm__ float* narrow, int n) {
    asc_vf_call<compute_atan2>(cce::dim3(n), y, x, out, narrow);
}
// Casts of pairs: what each makes of x, and what that is as fp32 again.
__simt_vf__ void cast_pairs(__gm__ const float* in, __gm__ uint32_t* codes, __gm__ float* back, int n) {
    const int i = me();
    const float2 x = make_float2(in[i], in[n - 1 - i]);
    const auto put = [&](int row, auto pair, float2 again) {
        uint32_t bits = 0;
        __builtin_memcpy(&bits, &pair, sizeof pair);
        codes[row * n + i] = bits;
        back[(2 * row) * n + i] = again.x;
        back[(2 * row + 1) * n + i] = again.y;
    };
    const half2 h = __float22half2_rn(x);
    put(0, h, __half22float2(h));
    const bfloat16x2_t b = __float22bfloat162_rn(x);
    put(1, b, __bfloat1622float2(b));
    int row = 2;
    for (auto saturation : {__ASC_NOSAT, __ASC_SATFINITE}) {
        const uint16_t e4 = __asc_cvt_float2_to_fp8x2(x, saturation, __ASC_E4M3), e5 = __asc_cvt_float2_to_fp8x2(x, saturation, __ASC_E5M2);
        float8_e4m3x2_t four;
        float8_e5m2x2_t five;
        __builtin_memcpy(&four, &e4, 2), __builtin_memcpy(&five, &e5, 2);
        put(row++, e4, __e4m3x22float2(four));
        put(row++, e5, __e5m2x22float2(five));
    }
    const half one = __float2half_rn(in[i]);
    put(row, one, make_float2(__half2float(one), __bfloat162float(__float2bfloat16_rn(in[i]))));
}
VECTOR(casts)(__gm__ const float* in, __gm__ uint32_t* codes, __gm__ float* back, int n) {
    asc_vf_call<cast_pairs>(cce::dim3(n), in, codes, back, n);
}

// ---- printing, scalar access to global memory ----
__simt_vf__ void speak(int n) {
    if (threadIdx.x % 2) printf("thread %d of %d in block %d\n", threadIdx.x, n, blockIdx.x);
}
VECTOR(printing)(int n) { asc_vf_call<speak>(cce::dim3(n), n); }

template <class T>
void copy_scalars(__gm__ const uint8_t* in, __gm__ uint8_t* out, int bytes) {
    for (int i = 0; i < bytes / int(sizeof(T)); ++i)
        asc_store_dev(reinterpret_cast<T*>(out) + i, asc_load_dev(reinterpret_cast<const T*>(in) + i));
}
VECTOR(scalars)(__gm__ const uint8_t* in, __gm__ uint8_t* out, int element, int bytes) {
    if (element == 1) copy_scalars<uint8_t>(in, out, bytes);
    if (element == 2) copy_scalars<uint16_t>(in, out, bytes);
    if (element == 4) copy_scalars<uint32_t>(in, out, bytes);
    if (element == 8) copy_scalars<uint64_t>(in, out, bytes);
}
template <class T>
void one_scalar(__gm__ uint8_t* gm, int64_t offset, bool store) {
    if (store) asc_store_dev(reinterpret_cast<T*>(gm + offset), T(1));
    else ub<T>()[0] = asc_load_dev(reinterpret_cast<const T*>(gm + offset));
}
VECTOR(scalar_at)(__gm__ uint8_t* gm, int element, int64_t offset, int store) {
    if (element == 1) one_scalar<uint8_t>(gm, offset, store);
    if (element == 2) one_scalar<uint16_t>(gm, offset, store);
    if (element == 4) one_scalar<uint32_t>(gm, offset, store);
    if (element == 8) one_scalar<uint64_t>(gm, offset, store);
}
VECTOR(scalar_load_outside)(__gm__ const uint32_t* in) {
    ub<uint32_t>()[0] = asc_load_dev(in + 64);  // @scalar_load_outside
}

// ---- what costs what ----
__simt_vf__ void spend(__ubuf__ int32_t* shared, __gm__ int32_t* gm, int barriers, int exchanges, int ub_atomics, int gm_atomics, int work) {
    for (int i = 0; i < work; ++i) ASC_SIMT_COST(1, 4);
    for (int i = 0; i < barriers; ++i) asc_syncthreads();
    for (int i = 0; i < exchanges; ++i) asc_shfl_xor(i, 1);
    for (int i = 0; i < ub_atomics; ++i) asc_atomic_add(shared, 1);
    for (int i = 0; i < gm_atomics; ++i) asc_atomic_add(gm, 1);
}
VECTOR(costs)(__gm__ int32_t* gm, int threads, int barriers, int exchanges, int ub_atomics, int gm_atomics, int work) {
    ub<int32_t>()[0] = 0;
    asc_vf_call<spend>(cce::dim3(threads), ub<int32_t>(), gm, barriers, exchanges, ub_atomics, gm_atomics, work);
}

// ---- faults ----
__simt_vf__ void bad_index(__gm__ int32_t* gm, __ubuf__ int32_t* shared, int64_t index, int where, int thread) {
    asc_syncthreads();
    if (me() != thread) return;
    if (where == 0) shared[index] = 1;          // @ub_index
    if (where == 1) gm[index] = 1;              // @gm_index
    if (where == 2) gm[0] = shared[index] / shared[0];  // @division
    if (where == 3) asc_atomic_add(shared + index, 1);  // @atomic
    if (where == 4) asc_atomic_add(reinterpret_cast<int32_t*>(reinterpret_cast<char*>(shared) + 2), 1);  // @misaligned
    if (where == 5) assert(index < 0);          // @assertion
}
__simt_vf__ void atomic_at(__gm__ uint8_t* base, __gm__ const int32_t* in, __gm__ int32_t* old, int64_t offset, int kind) {
    update<int32_t>(reinterpret_cast<int32_t*>(base + offset), in, old, kind, 1);
}
VECTOR(atomic_bounds)(__gm__ uint8_t* gm, __gm__ const int32_t* in, __gm__ int32_t* old, int64_t offset, int kind, int in_ub) {
    asc_vf_call<atomic_at>(cce::dim3(1), in_ub ? ub<uint8_t>() : gm, in, old, offset, kind);
}
VECTOR(faults)(__gm__ int32_t* gm, int64_t index, int where, int thread, int threads) {
    ub<int32_t>()[0] = 0;
    asc_vf_call<bad_index>(cce::dim3(threads), gm, ub<int32_t>(), index, where, thread);
}
int deep(volatile int* p, int n) {
    volatile int big[64];
    big[n % 64] = n;
    return n ? deep(big, n - 1) + *p : *p;
}
__simt_vf__ void recurse(__gm__ int32_t* gm) {
    asc_syncthreads();
    int start = 0;
    if (threadIdx.x == 1) gm[0] = deep(&start, 1 << 20);
}
VECTOR(stack)(__gm__ int32_t* gm) { asc_vf_call<recurse>(cce::dim3(64), gm); }
__simt_vf__ void nothing() {}
__simt_vf__ void nested_start() { asc_vf_call<nothing>(cce::dim3(1)); }  // @nested
VECTOR(nested)() { asc_vf_call<nested_start>(cce::dim3(1)); }
VECTOR(too_many)(int x, int y) { asc_vf_call<nothing>(cce::dim3(x, y)); }  // @too_many
extern "C" __global__ __cube__ void on_cube() { asc_vf_call<nothing>(cce::dim3(1)); }  // @on_cube
__simt_vf__ void wait_for_ever() {
    for (;;) asc_syncthreads();
}
VECTOR(for_ever)() { asc_vf_call<wait_for_ever>(cce::dim3(64)); }
__simt_vf__ void turn_round(__ubuf__ volatile int32_t* ub) {
    while (threadIdx.x == 5 && ub[0] == 0) {}
}
VECTOR(turns)() {  // neither waits nor issues an instruction
    auto* ub = reinterpret_cast<volatile int32_t*>(ascend::isa::ub_base());
    ub[0] = 0;
    asc_vf_call<turn_round>(cce::dim3(64), ub);
}
VECTOR(turns_in_scalar_code)() {
    auto* ub = reinterpret_cast<volatile int32_t*>(ascend::isa::ub_base());
    ub[0] = 0;
    while (ub[0] == 0) {}
}
VECTOR(barrier_outside)() { asc_syncthreads(); }
