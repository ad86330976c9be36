// SPDX-License-Identifier: MIT
// How do the DMA engines and the fixpipe rearrange bytes? Bulk copies between row-major and fractal layouts.
#pragma once

#include <cstdint>

namespace ascend::host {

// Rows of bytes to 32-byte units: unit u of row r goes to dst + (u * c0_stride + r * n_stride) * 32. The last
// unit of a row is filled up with zeros. Strides of the destination count units, of the source bytes.
void nd2nz(uint8_t* dst, const uint8_t* src, int rows, int row_bytes, int64_t src_row_stride_bytes,
           int64_t n_stride, int64_t c0_stride);

// The same from a column-major source: element (r, c) is read at src + c * src_column_stride_bytes + r *
// element_bytes. element_bytes is 1, 2 or 4; `columns` counts elements.
void dn2nz(uint8_t* dst, const uint8_t* src, int rows, int columns, int element_bytes,
           int64_t src_column_stride_bytes, int64_t n_stride, int64_t c0_stride);

// Rows of bytes to where they are not looked at soon: past the caches, where the level can. In place when it returns.
void store_rows(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes, int rows,
                int64_t row_bytes);

// Square transposes of rows of 32 bytes: 16 x 16 of b16 (512 B), 32 x 32 of b8 (1024 B), 8 x 8 of b32 (256
// B). Row strides in bytes; dst and src do not overlap.
void transpose_b16(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes);
void transpose_b8(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes);
void transpose_b32(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes);

// Fixpipe, NZ fp32 in L0C to row-major: element (i, j) is read at src + (j/16) * column_block_stride + i * 16
// + j%16 (elements; ceil(m/16) * 256 for the result of an MMAD with m rows), scaled, passed through ReLU,
// rounded to nearest even and stored at dst + i * dst_row_stride_bytes + j * element size.
struct Nz2NdArgs {
    const float* src;
    int64_t column_block_stride;
    int m, n;
    float scale = 1.0f;
    const float* scales = nullptr;  // n values instead of `scale`
    bool relu = false;              // NaN stays NaN
    bool add = false;               // store-side atomic add: the value, rounded to dst's type, is added there
};
void nz2nd_f32(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args);
void nz2nd_bf16(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args);
void nz2nd_f16(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args);

}  // namespace ascend::host
