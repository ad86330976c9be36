// SPDX-License-Identifier: MIT
// How are bf16 and s8 packed? Their bytes go to the tiles as they are.
#pragma once

#include <type_traits>

#include "host/amx/pack.h"

namespace ascend::host {
namespace {
namespace amx {

// Smallest nonzero magnitude among bf16 words: of 2w - 1 as unsigned 16-bit numbers, where zeros are the
// largest.
struct SmallestBf16 {
    __m512i key = _mm512_set1_epi16(-1);

    void see(__m512i words) {
        key = _mm512_min_epu16(key, _mm512_sub_epi16(_mm512_add_epi16(words, words), _mm512_set1_epi16(1)));
    }
    StripRange range() const {
        const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(key), _mm512_extracti64x4_epi64(key, 1));
        const __m128i least =
            _mm_minpos_epu16(_mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
        const int smallest = _mm_cvtsi128_si32(least) & 0xffff;
        if (smallest == 0xffff) return {StripRange::kAllZero};
        const int exponent_field = (smallest + 1) >> 8;
        return {exponent_field == 0 ? StripRange::kUnsafe : exponent_field - 127 - 7};
    }
};

// Transposes 16 x 16 dwords.
inline void transpose_16x16(__m512i (&x)[16]) {
    __m512i t[16];
    for (int i = 0; i < 16; i += 4) {
        const __m512i low01 = _mm512_unpacklo_epi32(x[i], x[i + 1]), high01 = _mm512_unpackhi_epi32(x[i], x[i + 1]);
        const __m512i low23 = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]),
                      high23 = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
        t[i] = _mm512_unpacklo_epi64(low01, low23);
        t[i + 1] = _mm512_unpackhi_epi64(low01, low23);
        t[i + 2] = _mm512_unpacklo_epi64(high01, high23);
        t[i + 3] = _mm512_unpackhi_epi64(high01, high23);
    }
    // Lane l of t[4g + j]: dword 4l + j of rows 4g .. 4g + 3.
    for (int j = 0; j < 4; ++j) {
        const __m512i even01 = _mm512_shuffle_i32x4(t[j], t[4 + j], 0x88), odd01 = _mm512_shuffle_i32x4(t[j], t[4 + j], 0xdd);
        const __m512i even23 = _mm512_shuffle_i32x4(t[8 + j], t[12 + j], 0x88),
                      odd23 = _mm512_shuffle_i32x4(t[8 + j], t[12 + j], 0xdd);
        x[j] = _mm512_shuffle_i32x4(even01, even23, 0x88);
        x[8 + j] = _mm512_shuffle_i32x4(even01, even23, 0xdd);
        x[4 + j] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
        x[12 + j] = _mm512_shuffle_i32x4(odd01, odd23, 0xdd);
    }
}

// Rows of bf16 in memory to the tiles that RawBytes makes of their fractals.
template <bool kIsA>
int pack_rows(uint8_t* out, int64_t strip_bytes, const PackRowsArgs& args) {
    const int tiles = ceil_div(args.row_bytes, 64);
    const __mmask16 last = args.row_bytes % 64 ? 0x00ff : 0xffff;
    int least = StripRange::kAllZero;
    for (int strip = 0; strip < args.rows / 16; ++strip, out += strip_bytes) {
        const uint8_t* rows = args.data + strip * 16 * args.row_stride_bytes;
        const auto load = [&](int r, int t) {
            return _mm512_maskz_loadu_epi32(t + 1 == tiles ? last : 0xffff, rows + r * args.row_stride_bytes + t * 64);
        };
        // Rows come from far away: those of the strip after next are asked for now. Loads in groups, stores in groups: a
        // store that misses holds up the loads behind it (together 3.6 us instead of 7 for 256 rows of 256 bytes).
        if (strip + 2 < args.rows / 16)
            for (int r = 32; r < 48; ++r)
                for (int i = 0; i < args.row_bytes; i += 64)
                    _mm_prefetch(reinterpret_cast<const char*>(rows + r * args.row_stride_bytes + i), _MM_HINT_T1);
        SmallestBf16 seen;
        if constexpr (kIsA) {
            const auto group = [&](int r, int t, auto count) {
                __m512i x[4][4];
                for (int i = 0; i < 4; ++i)
                    for (int j = 0; j < count; ++j) {
                        x[i][j] = load(r + i, t + j);
                        seen.see(x[i][j]);
                    }
                for (int j = 0; j < count; ++j)
                    for (int i = 0; i < 4; ++i)
                        _mm512_store_si512(out + (t + j) * kTileBytes + (r + i) * 64, x[i][j]);
            };
            for (int r = 0; r < 16; r += 4) {
                int t = 0;
                for (; t + 4 <= tiles; t += 4) group(r, t, std::integral_constant<int, 4>());
                for (; t < tiles; ++t) group(r, t, std::integral_constant<int, 1>());
            }
        } else {
            for (int t = 0; t < tiles; ++t) {
                __m512i x[16];
                for (int r = 0; r < 16; ++r) {
                    x[r] = load(r, t);
                    seen.see(x[r]);
                }
                transpose_16x16(x);
                for (int r = 0; r < 16; ++r) _mm512_store_si512(out + t * kTileBytes + r * 64, x[r]);
            }
        }
        const int exponent = seen.range().unit_exponent;
        least = exponent < least ? exponent : least;
    }
    return least;
}

// Two fractals side by side make a tile; k of a fractal takes 32 bytes of each row.
template <ElementType kType>
struct RawBytes {
    struct Nothing {
        void see(__m512i) {}
        StripRange range() const { return {StripRange::kAllZero}; }
    };
    using Seen = std::conditional_t<kType == ElementType::bf16, SmallestBf16, Nothing>;

    const Operand& operand;

    int tiles() const { return ceil_div(operand.k, 2 * elements_per_unit(kType)); }
    StripRange range(const Seen& seen) const { return seen.range(); }

    void pack_a(uint8_t* out, int strip, int t, Seen& seen) const {
        alignas(64) uint8_t copies[2][512];
        const uint8_t* left = clean_fractal(operand, strip, 2 * t, copies[0]);
        const uint8_t* right = clean_fractal(operand, strip, 2 * t + 1, copies[1]);
        for (int r = 0; r < 16; ++r) {
            const __m512i row =
                _mm512_inserti64x4(_mm512_castsi256_si512(load32(left + 32 * r)), load32(right + 32 * r), 1);
            _mm512_store_si512(out + 64 * r, row);
            seen.see(row);
        }
    }

    void pack_b(uint8_t* out, int strip, int t, Seen& seen) const {
        for (int i = 0; i < 2; ++i) {
            alignas(64) uint8_t copy[512];
            __m512i columns[8];
            transpose_16x8<32>(columns, clean_fractal(operand, strip, 2 * t + i, copy));
            for (int j = 0; j < 8; ++j) {
                _mm512_store_si512(out + 512 * i + 64 * j, columns[j]);
                seen.see(columns[j]);
            }
        }
    }
};

}  // namespace amx
}  // namespace
}  // namespace ascend::host
