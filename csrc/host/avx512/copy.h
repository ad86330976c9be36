// SPDX-License-Identifier: MIT
// Which layout copies pay with AVX-512? Those that write whole cache lines or transpose in registers.
#pragma once

#include "host/avx512/intrinsics.h"
#include "host/generic/copy.h"

namespace ascend::host {
namespace {
namespace avx512 {

using generic::kUnitBytes;

inline __m256i load_unit(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline void store_unit(uint8_t* to, __m256i unit) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), unit);
}

// Two rows at a time make a whole cache line of each column of units: with the usual power-of-two c0_stride
// the lines of a row all fall into one set of the first-level cache, so that a line written twice would be
// fetched twice. Loads in groups and stores in groups, rows far ahead asked for: a store that misses holds up
// the loads behind it.
template <int kPairs, int kUnits>
void nd2nz_group(uint8_t* to, const uint8_t* from, int64_t row_stride, int64_t column_bytes) {
    __m512i x[kPairs][kUnits];
    for (int p = 0; p < kPairs; ++p, from += 2 * row_stride)
        for (int u = 0; u < kUnits; ++u)
            x[p][u] = _mm512_inserti64x4(_mm512_castsi256_si512(load_unit(from + u * kUnitBytes)),
                                         load_unit(from + row_stride + u * kUnitBytes), 1);
    for (int u = 0; u < kUnits; ++u)
        for (int p = 0; p < kPairs; ++p) _mm512_storeu_si512(to + u * column_bytes + p * 64, x[p][u]);
}

inline void nd2nz(uint8_t* dst, const uint8_t* src, int rows, int row_bytes, int64_t src_row_stride_bytes,
                  int64_t n_stride, int64_t c0_stride) {
    if (n_stride != 1)
        return generic::nd2nz(dst, src, rows, row_bytes, src_row_stride_bytes, n_stride, c0_stride);
    const int whole = row_bytes / kUnitBytes, rest = row_bytes % kUnitBytes;
    const __mmask32 rest_mask = (1u << rest) - 1;
    const int64_t column_bytes = c0_stride * kUnitBytes, stride = src_row_stride_bytes;
    int r = 0;
    for (; r + 8 <= rows; r += 8) {
        const uint8_t* from = src + r * stride;
        uint8_t* to = dst + r * kUnitBytes;
        if (r + 40 <= rows)
            for (int ahead = 32; ahead < 40; ++ahead)
                for (int i = 0; i < row_bytes; i += 64)
                    _mm_prefetch(reinterpret_cast<const char*>(from + ahead * stride + i), _MM_HINT_T1);
        int u = 0;
        for (; u + 4 <= whole; u += 4)
            nd2nz_group<4, 4>(to + u * column_bytes, from + u * kUnitBytes, stride, column_bytes);
        for (; u < whole; ++u) nd2nz_group<4, 1>(to + u * column_bytes, from + u * kUnitBytes, stride, column_bytes);
        for (int i = 0; rest && i < 8; ++i)
            store_unit(to + whole * column_bytes + i * kUnitBytes,
                       _mm256_maskz_loadu_epi8(rest_mask, from + i * stride + whole * kUnitBytes));
    }
    if (r < rows) generic::nd2nz(dst + r * kUnitBytes, src + r * stride, rows - r, row_bytes, stride, n_stride, c0_stride);
}

// Short rows, and those of small stores, are more likely to be read again.
inline void store_rows(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src, int64_t src_stride_bytes, int rows,
                       int64_t row_bytes) {
    if (row_bytes < 128 || rows * row_bytes < 16384)
        return generic::store_rows(dst, dst_stride_bytes, src, src_stride_bytes, rows, row_bytes);
    for (int r = 0; r < rows; ++r, dst += dst_stride_bytes, src += src_stride_bytes) {
        const int64_t head = -reinterpret_cast<intptr_t>(dst) & 63;
        std::memcpy(dst, src, static_cast<size_t>(head));
        int64_t at = head;
        for (; at + 64 <= row_bytes; at += 64)
            _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + at), _mm512_loadu_si512(src + at));
        std::memcpy(dst + at, src + at, static_cast<size_t>(row_bytes - at));
    }
    _mm_sfence();
}

// 16 rows of 32 bytes, as b16: pairs of rows interleaved to dwords, then an 8 x 16 dword transpose within
// registers.
inline void transpose_16x16_b16(__m256i (&row)[16]) {
    __m256i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm256_unpacklo_epi16(row[i], row[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi16(row[i], row[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        row[i] = _mm256_unpacklo_epi32(t[i], t[i + 2]);
        row[i + 1] = _mm256_unpackhi_epi32(t[i], t[i + 2]);
        row[i + 2] = _mm256_unpacklo_epi32(t[i + 1], t[i + 3]);
        row[i + 3] = _mm256_unpackhi_epi32(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 16; i += 8) {
        for (int j = 0; j < 4; ++j) {
            t[i + 2 * j] = _mm256_unpacklo_epi64(row[i + j], row[i + 4 + j]);
            t[i + 2 * j + 1] = _mm256_unpackhi_epi64(row[i + j], row[i + 4 + j]);
        }
    }
    for (int j = 0; j < 8; ++j) {
        row[j] = _mm256_permute2x128_si256(t[j], t[8 + j], 0x20);
        row[8 + j] = _mm256_permute2x128_si256(t[j], t[8 + j], 0x31);
    }
}

inline void transpose_b16(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src,
                          int64_t src_stride_bytes) {
    __m256i row[16];
    for (int r = 0; r < 16; ++r) row[r] = load_unit(src + r * src_stride_bytes);
    transpose_16x16_b16(row);
    for (int r = 0; r < 16; ++r) store_unit(dst + r * dst_stride_bytes, row[r]);
}

// 32 rows of 32 bytes: rows 2i and 2i+1 interleaved byte by byte make b16 elements; two 16 x 16 transposes do
// the rest.
inline void transpose_32x32_b8(__m256i (&row)[32]) {
    __m256i even[16], odd[16];  // columns 0 .. 15 and 16 .. 31 of row pairs
    for (int i = 0; i < 16; ++i) {
        const __m256i low = _mm256_unpacklo_epi8(row[2 * i], row[2 * i + 1]),
                      high = _mm256_unpackhi_epi8(row[2 * i], row[2 * i + 1]);
        even[i] = _mm256_permute2x128_si256(low, high, 0x20);
        odd[i] = _mm256_permute2x128_si256(low, high, 0x31);
    }
    transpose_16x16_b16(even);
    transpose_16x16_b16(odd);
    for (int i = 0; i < 16; ++i) {
        row[i] = even[i];
        row[16 + i] = odd[i];
    }
}

inline void transpose_b8(uint8_t* dst, int64_t dst_stride_bytes, const uint8_t* src,
                         int64_t src_stride_bytes) {
    __m256i row[32];
    for (int r = 0; r < 32; ++r) row[r] = load_unit(src + r * src_stride_bytes);
    transpose_32x32_b8(row);
    for (int r = 0; r < 32; ++r) store_unit(dst + r * dst_stride_bytes, row[r]);
}

// Whole squares of 32 bytes; the edges go the portable way.
template <int kSize, typename Transpose>
void dn2nz_squares(uint8_t* dst, const uint8_t* src, int rows, int columns, int64_t src_column_stride_bytes,
                   int64_t n_stride, int64_t c0_stride, Transpose transpose) {
    constexpr int kElementBytes = kUnitBytes / kSize;
    const int whole_rows = rows / kSize * kSize, whole_columns = columns / kSize * kSize;
    for (int c = 0; c < whole_columns; c += kSize)
        for (int r = 0; r < whole_rows; r += kSize)
            transpose(dst + (c / kSize * c0_stride + r * n_stride) * kUnitBytes, n_stride * kUnitBytes,
                      src + c * src_column_stride_bytes + r * kElementBytes, src_column_stride_bytes);
    if (whole_rows < rows)
        generic::dn2nz(dst + whole_rows * n_stride * kUnitBytes, src + whole_rows * kElementBytes,
                       rows - whole_rows, whole_columns, kElementBytes, src_column_stride_bytes, n_stride,
                       c0_stride);
    if (whole_columns < columns)
        generic::dn2nz(dst + whole_columns / kSize * c0_stride * kUnitBytes,
                       src + whole_columns * src_column_stride_bytes, rows, columns - whole_columns,
                       kElementBytes, src_column_stride_bytes, n_stride, c0_stride);
}

inline void dn2nz(uint8_t* dst, const uint8_t* src, int rows, int columns, int element_bytes,
                  int64_t src_column_stride_bytes, int64_t n_stride, int64_t c0_stride) {
    if (element_bytes == 2)
        dn2nz_squares<16>(dst, src, rows, columns, src_column_stride_bytes, n_stride, c0_stride,
                          transpose_b16);
    else if (element_bytes == 1)
        dn2nz_squares<32>(dst, src, rows, columns, src_column_stride_bytes, n_stride, c0_stride,
                          transpose_b8);
    else
        generic::dn2nz(dst, src, rows, columns, element_bytes, src_column_stride_bytes, n_stride, c0_stride);
}

// How 16 fp32 become 16 elements of the destination, nearest even.
struct StoreF32 {
    using Generic = generic::StoreF32;
    static void store(uint8_t* to, __mmask16 live, __m512 value) { _mm512_mask_storeu_ps(to, live, value); }
    static __m512 load(const uint8_t* from, __mmask16 live) { return _mm512_maskz_loadu_ps(live, from); }
    static __m512 rounded(__m512 value) { return value; }
};

struct StoreF16 {
    using Generic = generic::StoreF16;
    static __m256i encode(__m512 value) {
        return _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    static void store(uint8_t* to, __mmask16 live, __m512 value) {
        _mm256_mask_storeu_epi16(to, live, encode(value));
    }
    static __m512 load(const uint8_t* from, __mmask16 live) {
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(live, from));
    }
    static __m512 rounded(__m512 value) { return _mm512_cvtph_ps(encode(value)); }
};

struct StoreBf16 {
    using Generic = generic::StoreBf16;
    // Not VCVTNEPS2BF16: that one flushes subnormals.
    static __m512i encode(__m512 value) {
        const __m512i bits = _mm512_castps_si512(value);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i rounded =
            _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd), 16);
        const __m512i nan =
            _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x8000)),
                            _mm512_set1_epi32(0x7fc0));
        return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), nan);
    }
    static void store(uint8_t* to, __mmask16 live, __m512 value) {
        _mm512_mask_cvtepi32_storeu_epi16(to, live, encode(value));
    }
    static __m512 load(const uint8_t* from, __mmask16 live) {
        return _mm512_castsi512_ps(
            _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(live, from)), 16));
    }
    static __m512 rounded(__m512 value) { return _mm512_castsi512_ps(_mm512_slli_epi32(encode(value), 16)); }
};

template <typename Store>
void nz2nd(uint8_t* dst, int64_t dst_row_stride_bytes, const Nz2NdArgs& args) {
    constexpr int kElementBytes = static_cast<int>(sizeof(typename Store::Generic::Code));
    for (int i = 0; i < args.m; ++i) {
        for (int j = 0; j < args.n; j += 16) {
            const __mmask16 live =
                static_cast<__mmask16>(args.n - j < 16 ? (1u << (args.n - j)) - 1 : 0xffff);
            uint8_t* to = dst + i * dst_row_stride_bytes + j * kElementBytes;
            __m512 value = _mm512_maskz_loadu_ps(live, args.src + j / 16 * args.column_block_stride + i * 16);
            value = _mm512_mul_ps(value, args.scales ? _mm512_maskz_loadu_ps(live, args.scales + j)
                                                     : _mm512_set1_ps(args.scale));
            if (args.relu)
                value = _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_LT_OQ),
                                           _mm512_setzero_ps());
            if (args.add) value = _mm512_add_ps(Store::load(to, live), Store::rounded(value));
            Store::store(to, live, value);
        }
    }
}

}  // namespace avx512
}  // namespace
}  // namespace ascend::host
