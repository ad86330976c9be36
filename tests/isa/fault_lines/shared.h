// SPDX-License-Identifier: MIT
// What kernels share, as the templates that generated kernels call: inlined, out of line, exported, ending in a jump.
#pragma once

namespace shared {

template <class T>
T* at(int64_t offset) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(offset));
}
inline __ubuf__ float* ub(int64_t bytes) { return reinterpret_cast<__ubuf__ float*>(ascend::isa::ub_base() + bytes); }

template <class T>
[[gnu::always_inline]] inline vector_f32 load(__ubuf__ T* source, int64_t offset) {
    vector_f32 loaded;
    asc_loadalign(loaded, source, offset);  // @load
    return loaded;
}

template <int kBytes>
[[gnu::noinline]] inline void copy_in(int64_t destination, __gm__ float* source) {
    asc_copy_gm2ub_align(ub(destination), source, 1, kBytes, 0, 0, 0, asc_load_l2_cache_mode(0), kBytes, kBytes);  // @copy_in
    asc_sync_notify(PIPE_MTE2, PIPE_V, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_V, 0);
}

template <int kBytes>
[[gnu::noinline]] inline void copy_twice(int64_t destination, __gm__ float* source) {
    copy_in<kBytes>(0, source);
    copy_in<kBytes>(destination, source);
    asc_sync_pipe(PIPE_V);
}

// Its frame is gone when the instruction looks at its arguments.
[[gnu::noinline]] inline void wait(int id) {
    asc_sync_wait(PIPE_MTE2, PIPE_V, id);  // @wait
}

template <class T>
[[gnu::noinline, gnu::visibility("default")]] T exported(volatile T* from) {
    return *from + 1;  // @exported
}

[[gnu::noinline]] inline void store_behind(int pipe_id) {
    asc_sync_wait(PIPE_V, PIPE_MTE3, pipe_id);  // @queued
    asc_sync_notify(PIPE_MTE3, PIPE_V, pipe_id);
}

template <class T>
[[gnu::noinline]] inline T element(volatile T* from, int index) {
    return from[index];  // @element
}

// Not for one line only: what is unlikely is a part of its own, behind the rest of the code.
[[gnu::noinline]] inline void rarely(volatile float* x, bool wild) {
    x[0] = 1;
    if (wild) [[unlikely]] {
        asc_copy_gm2ub_align(ub(16), at<float>(64), 1, 32, 0, 0, 0, asc_load_l2_cache_mode(0), 32, 32);  // @rarely
        assert(false);
    }
}

[[gnu::noinline]] inline void fail_with(const char* why) {
    printf("Check failed: %s\n  in block %d\n", why, static_cast<int>(block_idx));
    assert(false);  // @assert
}

}  // namespace shared
