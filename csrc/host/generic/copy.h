// SPDX-License-Identifier: MIT
// The portable bodies of host/copy.h; a level includes this file and replaces what pays. Internal linkage
// throughout.
#pragma once

#include <cstring>

#include "formats/bf16.h"
#include "formats/f16.h"
#include "host/copy.h"

namespace ascend::host {
namespace {
namespace generic {

constexpr int kUnitBytes = 32;

inline void nd2nz(uint8_t* dst, const uint8_t* src, int rows, int row_bytes, int64_t src_row_stride_bytes,
                  int64_t n_stride, int64_t c0_stride) {
    const int whole = row_bytes / kUnitBytes, rest = row_bytes % kUnitBytes;
    for (int r = 0; r < rows; ++r) {
        const uint8_t* from = src + r * src_row_stride_bytes;
        uint8_t* to = dst + r * n_stride * kUnitBytes;
        for (int u = 0; u < whole; ++u)
            std::memcpy(to + u * c0_stride * kUnitBytes, from + u * kUnitBytes, kUnitBytes);
        if (rest) {
            to += whole * c0_stride * kUnitBytes;
            std::memset(to, 0, kUnitBytes);
            std::memcpy(to, from + whole * kUnitBytes, static_cast<size_t>(rest));
        }
    }
}

template <typename T>
void dn2nz_typed(uint8_t* dst, const uint8_t* src, int rows, int columns, int64_t src_column_stride_bytes,
                 int64_t n_stride, int64_t c0_stride) {
    constexpr int kPerUnit = kUnitBytes / static_cast<int>(sizeof(T));
    for (int c = 0; c < columns; c += kPerUnit) {
        const int live = columns - c < kPerUnit ? columns - c : kPerUnit;
        uint8_t* to = dst + c / kPerUnit * c0_stride * kUnitBytes;
        for (int r = 0; r < rows; ++r, to += n_stride * kUnitBytes) {
            T unit[kPerUnit] = {};
            for (int i = 0; i < live; ++i)
                std::memcpy(&unit[i],
                            src + (c + i) * src_column_stride_bytes + r * static_cast<int64_t>(sizeof(T)),
                            sizeof(T));
            std::memcpy(to, unit, sizeof unit);
        }
    }
}

inline void dn2nz(uint8_t* dst, const uint8_t* src, int rows, int columns, int element_bytes,
                  int64_t src_column_stride_bytes, int64_t n_stride, int64_t c0_stride) {
    if (element_bytes == 1)
        dn2nz_typed<uint8_t>(dst, src, rows, columns, src_column_stride_bytes, n_stride, c0_stride);
    if (element_bytes == 2)
        dn2nz_typed<uint16_t>(dst, src, rows, columns, src_column_stride_bytes, n_stride, c0_stride);
    if (element_bytes == 4)
        dn2nz_typed<uint32_t>(dst, src, rows, columns, src_column_stride_bytes, n_stride, c0_stride);
}

template <typename T>
void transpose(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes) {
    constexpr int kSize = kUnitBytes / static_cast<int>(sizeof(T));
    T block[kSize][kSize];
    for (int r = 0; r < kSize; ++r) {
        T row[kSize];
        std::memcpy(row, src + r * src_stride_bytes, sizeof row);
        for (int c = 0; c < kSize; ++c) block[c][r] = row[c];
    }
    for (int r = 0; r < kSize; ++r) std::memcpy(dst + r * dst_stride_bytes, block[r], sizeof block[r]);
}

struct StoreF32 {
    using Code = float;
    static Code encode(float value) { return value; }
    static float decode(Code code) { return code; }
};
struct StoreBf16 {
    using Code = uint16_t;
    static Code encode(float value) { return f32_to_bf16(value); }
    static float decode(Code code) { return bf16_to_f32(code); }
};
struct StoreF16 {
    using Code = uint16_t;
    static Code encode(float value) { return f32_to_f16(value); }
    static float decode(Code code) { return f16_to_f32(code); }
};

// One row of up to 16 columns.
template <typename Store>
void store_columns(uint8_t* dst, const float* src, int columns, int first_column, const Nz2NdArgs& args) {
    using Code = typename Store::Code;
    Code row[16];
    if (args.add) std::memcpy(row, dst, columns * sizeof(Code));
    for (int j = 0; j < columns; ++j) {
        float value = src[j] * (args.scales ? args.scales[first_column + j] : args.scale);
        if (args.relu && value < 0) value = 0;
        if (args.add) value = Store::decode(row[j]) + Store::decode(Store::encode(value));
        row[j] = Store::encode(value);
    }
    std::memcpy(dst, row, columns * sizeof(Code));
}

template <typename Store>
void nz2nd(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args) {
    for (int i = 0; i < args.m; ++i) {
        for (int j = 0; j < args.n; j += 16) {
            const int columns = args.n - j < 16 ? args.n - j : 16;
            store_columns<Store>(
                dst + i * dst_row_stride_bytes + j * static_cast<int64_t>(sizeof(typename Store::Code)),
                args.src + j / 16 * args.column_block_stride + i * 16, columns, j, args);
        }
    }
}

inline void store_rows(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes, int rows,
                       int64_t row_bytes) {
    for (int r = 0; r < rows; ++r)
        std::memcpy(dst + r * dst_stride_bytes, src + r * src_stride_bytes, static_cast<size_t>(row_bytes));
}

}  // namespace generic
}  // namespace
}  // namespace ascend::host
