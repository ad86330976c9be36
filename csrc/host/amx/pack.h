// SPDX-License-Identifier: MIT
// How do L0 fractals become AMX tiles? Packing of a strip (16 rows, the whole k) and what may go wrong in it.
//
// A tile holds 16 rows of 64 bytes. For A that is 32 k of bf16 per row; for B, 16 columns of C with the two k of a pair
// side by side: row p, dword n = (k of pair p) of column n. s8 packs the same bytes with 64 k per tile.
// The order of k within a tile is free as long as A and B use the same one; fp8 and fp4 choose what unpacks cheapest:
//     fp8   pair p < 8: k = 4p, 4p+2; pair 8+p: k = 4p+1, 4p+3      (even bytes, then odd bytes, of each dword)
//     fp4   of 64 k, tile t, pair p < 8: k = 8p+2t, 8p+4+2t; pair 8+p: one k later        (nibbles of each word)
#pragma once

#include "host/avx512/intrinsics.h"

#include "host/generic/mmad.h"

namespace ascend::host {
namespace {
namespace amx {

using generic::ceil_div;
using generic::Operand;

constexpr int kTileBytes = 1024;

// What TDPBF16PS may do to a strip. It reads subnormals as 0 and flushes subnormal results, so products must be
// multiples of 2^-126: then all sums are, too. unit_exponent: all live elements are multiples of 2^unit_exponent.
struct StripRange {
    int unit_exponent = kAllZero;
    static constexpr int kAllZero = 1 << 20;    // nothing to lose
    static constexpr int kUnsafe = -(1 << 20);  // holds subnormals, or values that bf16 with this scale cannot express

    bool safe_with(StripRange other) const { return unit_exponent + other.unit_exponent >= -126; }
};

// Smallest nonzero magnitude among bf16 words: of 2w - 1 as unsigned 16-bit numbers, where zeros are the largest.
struct SmallestBf16 {
    __m512i key = _mm512_set1_epi16(-1);

    void see(__m512i words) {
        key = _mm512_min_epu16(key, _mm512_sub_epi16(_mm512_add_epi16(words, words), _mm512_set1_epi16(1)));
    }
    StripRange range() const {
        const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(key), _mm512_extracti64x4_epi64(key, 1));
        const __m128i least = _mm_minpos_epu16(_mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
        const int smallest = _mm_cvtsi128_si32(least) & 0xffff;
        if (smallest == 0xffff) return {};
        const int exponent_field = (smallest + 1) >> 8;
        return {exponent_field == 0 ? StripRange::kUnsafe : exponent_field - 127 - 7};
    }
};

inline __mmask32 byte_mask(int bytes) { return bytes >= 32 ? ~0u : bytes <= 0 ? 0u : (1u << bytes) - 1; }

// Transposes 16 rows x 8 dwords: dwords of row r are read at `rows + 32 r`; out[j] holds dword j of rows 0 .. 15.
// Rows r, r+4, r+8, r+12 go to the 128-bit lanes of one register, then each lane is a 4 x 4 transpose.
// kMasked: only `live_rows` rows and the bytes of `live_bytes` are read, the rest is 0.
template <bool kMasked>
void transpose_16x8(__m512i (&out)[8], const uint8_t* rows, int live_rows, __mmask32 live_bytes) {
    alignas(64) uint8_t copy[512];
    if constexpr (kMasked) {
        for (int r = 0; r < 16; ++r)
            _mm256_store_si256(reinterpret_cast<__m256i*>(copy + 32 * r),
                               _mm256_maskz_loadu_epi8(r < live_rows ? live_bytes : 0, rows + 32 * r));
        rows = copy;
    }
    for (int half = 0; half < 2; ++half) {
        __m512i t[4];
        for (int j = 0; j < 4; ++j) {
            const uint8_t* from = rows + 16 * half + 32 * j;
            const auto chunk = [&](int row) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 32 * row)); };
            t[j] = _mm512_inserti32x4(_mm512_castsi128_si512(chunk(0)), chunk(4), 1);
            t[j] = _mm512_inserti32x4(t[j], chunk(8), 2);
            t[j] = _mm512_inserti32x4(t[j], chunk(12), 3);
        }
        const __m512i low01 = _mm512_unpacklo_epi32(t[0], t[1]), high01 = _mm512_unpackhi_epi32(t[0], t[1]);
        const __m512i low23 = _mm512_unpacklo_epi32(t[2], t[3]), high23 = _mm512_unpackhi_epi32(t[2], t[3]);
        out[4 * half + 0] = _mm512_unpacklo_epi64(low01, low23);
        out[4 * half + 1] = _mm512_unpackhi_epi64(low01, low23);
        out[4 * half + 2] = _mm512_unpacklo_epi64(high01, high23);
        out[4 * half + 3] = _mm512_unpackhi_epi64(high01, high23);
    }
}

// bf16 and s8: two fractals side by side make a tile; k of a fractal takes 32 bytes of each row.
struct RawBytes {
    const Operand& operand;
    bool is_bf16;

    int fractal_k() const { return is_bf16 ? 16 : 32; }
    int tiles() const { return ceil_div(operand.k, 2 * fractal_k()); }
    int live_bytes(int k1) const { return (operand.k - k1 * fractal_k()) * (is_bf16 ? 2 : 1); }

    StripRange pack_a(uint8_t* out, int strip) const {
        const int rows = operand.live_rows(strip);
        SmallestBf16 smallest;
        for (int t = 0; t < tiles(); ++t, out += kTileBytes) {
            const uint8_t* first = operand.fractal(strip, 2 * t);
            const __mmask32 live0 = byte_mask(live_bytes(2 * t)), live1 = byte_mask(live_bytes(2 * t + 1));
            const uint8_t* second = live1 ? operand.fractal(strip, 2 * t + 1) : first;
            if (rows == 16 && (live0 & live1) == ~0u) {
                for (int r = 0; r < 16; ++r) {
                    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + 32 * r));
                    const __m512i row = _mm512_inserti64x4(_mm512_castsi256_si512(low),
                                                           _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second + 32 * r)), 1);
                    _mm512_store_si512(out + 64 * r, row);
                    if (is_bf16) smallest.see(row);
                }
            } else {
                for (int r = 0; r < 16; ++r) {
                    const __m256i low = _mm256_maskz_loadu_epi8(r < rows ? live0 : 0, first + 32 * r);
                    const __m256i high = _mm256_maskz_loadu_epi8(r < rows ? live1 : 0, second + 32 * r);
                    const __m512i row = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
                    _mm512_store_si512(out + 64 * r, row);
                    if (is_bf16) smallest.see(row);
                }
            }
        }
        return is_bf16 ? smallest.range() : StripRange{};
    }

    StripRange pack_b(uint8_t* out, int strip) const {
        const int rows = operand.live_rows(strip);
        SmallestBf16 smallest;
        for (int k1 = 0; k1 < 2 * tiles(); ++k1, out += kTileBytes / 2) {
            const __mmask32 live = byte_mask(live_bytes(k1));
            __m512i columns[8];
            if (rows == 16 && live == ~0u)
                transpose_16x8<false>(columns, operand.fractal(strip, k1), 16, live);
            else
                transpose_16x8<true>(columns, operand.fractal(strip, live ? k1 : 0), rows, live);
            for (int j = 0; j < 8; ++j) {
                _mm512_store_si512(out + 64 * j, columns[j]);
                if (is_bf16) smallest.see(columns[j]);
            }
        }
        return is_bf16 ? smallest.range() : StripRange{};
    }
};

}  // namespace amx
}  // namespace
}  // namespace ascend::host
