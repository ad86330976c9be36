// SPDX-License-Identifier: MIT
// Which host functions can tests call through ctypes? Plain C symbols over host.h and copy.h.
#include <cstring>

#include "host/copy.h"
#include "host/host.h"

using namespace ascend;

extern "C" {

int ascend_host_has_level(const char* name) {
    for (host::Level level :
         {host::Level::portable, host::Level::avx2, host::Level::avx512, host::Level::amx, host::Level::neon})
        if (!std::strcmp(name, host::level_name(level))) return host::has_level(level);
    return 0;
}

const char* ascend_host_level() { return host::level_name(host::level()); }

// 1 on success; else 0 and the reason, cut to `size`, in `reason` (may be null).
int ascend_host_set_level(const char* name, char* reason, int size) {
    std::string text;
    const bool done = host::set_level(name, &text);
    if (reason && size > 0) {
        std::strncpy(reason, text.c_str(), static_cast<size_t>(size) - 1);
        reason[size - 1] = 0;
    }
    return done;
}

// Types are the values of ElementType; c and bias are float, or int32 for s8.
void ascend_host_mmad(const void* a, const void* b, void* c, int m, int n, int k, int a_type, int b_type,
                      const void* a_scale, const void* b_scale, int init, const void* bias, int hf32_away) {
    host::MmadArgs args{};
    args.a = static_cast<const uint8_t*>(a);
    args.b = static_cast<const uint8_t*>(b);
    args.c = static_cast<float*>(c);
    args.m = m, args.n = n, args.k = k;
    args.a_type = static_cast<ElementType>(a_type);
    args.b_type = static_cast<ElementType>(b_type);
    args.a_scale = static_cast<const uint8_t*>(a_scale);
    args.b_scale = static_cast<const uint8_t*>(b_scale);
    args.init = init;
    args.bias = static_cast<const float*>(bias);
    args.hf32_rounding = hf32_away ? Rounding::nearest_away : Rounding::nearest_even;
    host::mmad(args);
}

void ascend_host_nd2nz(void* dst, const void* src, int rows, int row_bytes, int64_t src_row_stride_bytes,
                       int64_t n_stride, int64_t c0_stride) {
    host::nd2nz(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), rows, row_bytes,
                src_row_stride_bytes, n_stride, c0_stride);
}

void ascend_host_dn2nz(void* dst, const void* src, int rows, int columns, int element_bytes,
                       int64_t src_column_stride_bytes, int64_t n_stride, int64_t c0_stride) {
    host::dn2nz(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), rows, columns, element_bytes,
                src_column_stride_bytes, n_stride, c0_stride);
}

void ascend_host_transpose(void* dst, int64_t dst_stride_bytes, const void* src, int64_t src_stride_bytes,
                           int element_bytes) {
    auto* to = static_cast<uint8_t*>(dst);
    auto* from = static_cast<const uint8_t*>(src);
    if (element_bytes == 1) host::transpose_b8(to, dst_stride_bytes, from, src_stride_bytes);
    if (element_bytes == 2) host::transpose_b16(to, dst_stride_bytes, from, src_stride_bytes);
    if (element_bytes == 4) host::transpose_b32(to, dst_stride_bytes, from, src_stride_bytes);
}

// dst_type: f32, bf16 or f16.
void ascend_host_nz2nd(void* dst, int64_t dst_row_stride_bytes, const void* src, int64_t column_block_stride,
                       int m, int n, int dst_type, float scale, const void* scales, int relu, int add) {
    host::Nz2NdArgs args{static_cast<const float*>(src),    column_block_stride, m,       n, scale,
                         static_cast<const float*>(scales), relu != 0,           add != 0};
    auto* to = static_cast<uint8_t*>(dst);
    switch (static_cast<ElementType>(dst_type)) {
        case ElementType::f32: return host::nz2nd_f32(to, dst_row_stride_bytes, args);
        case ElementType::bf16: return host::nz2nd_bf16(to, dst_row_stride_bytes, args);
        case ElementType::f16: return host::nz2nd_f16(to, dst_row_stride_bytes, args);
        default: return;
    }
}
}
