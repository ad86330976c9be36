// SPDX-License-Identifier: MIT
// How are fp16 and hf32 packed, whose 11 significant bits do not fit bf16? As a sum of two bf16, high + low,
// both exact.
//
// 32 k make four tiles: high, high, low, low for A and high, low, high, low for B, so that the four partial
// products are exact and add up in that order. Pair p holds k = p and k = 16 + p.
#pragma once

#include "host/amx/pack.h"

namespace ascend::host {
namespace {
namespace amx {

template <ElementType kType>
struct SplitInTwo {
    static_assert(kType == ElementType::f16 || kType == ElementType::hf32);
    struct Seen {
        __m512i least = _mm512_set1_epi32(-1);     // of the magnitude bits minus 1 as unsigned, as fp32
        __m512i largest = _mm512_setzero_si512();  // of the magnitude bits
    };
    const Operand& operand;

    int tiles() const { return 4 * ceil_div(operand.k, 32); }

    StripRange range(const Seen& seen) const {
        if (_mm512_reduce_max_epu32(seen.largest) >= 0x7f800000u)
            return {StripRange::kUnsafe};  // inf - inf = NaN in `low`
        const uint32_t least = _mm512_reduce_min_epu32(seen.least);
        if (least == 0xffffffffu) return {StripRange::kAllZero};
        // A unit of the 11 bits must itself be a normal bf16.
        const int unit = static_cast<int>((least + 1) >> 23) - 127 - 10;
        return {unit >= -126 ? unit : StripRange::kUnsafe};
    }

    // fp32 values of k = first .. first + 15 of row r.
    __m512 values(const uint8_t* const (&fractals)[4], int r, int half) const {
        if constexpr (kType == ElementType::f16) return _mm512_cvtph_ps(load32(fractals[half] + 32 * r));
        const __m512i bits = _mm512_inserti64x4(_mm512_castsi256_si512(load32(fractals[2 * half] + 32 * r)),
                                                load32(fractals[2 * half + 1] + 32 * r), 1);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 13), _mm512_set1_epi32(1));
        const __m512i half_unit = operand.hf32_rounding == Rounding::nearest_away
                                      ? _mm512_set1_epi32(0x1000)
                                      : _mm512_add_epi32(_mm512_set1_epi32(0xfff), odd);
        const __m512i rounded =
            _mm512_and_si512(_mm512_add_epi32(bits, half_unit), _mm512_set1_epi32(~0x1fff));
        // NaN may round to anything; keep its bits, which mark the strip unsafe.
        const __mmask16 is_nan =
            _mm512_cmp_ps_mask(_mm512_castsi512_ps(bits), _mm512_castsi512_ps(bits), _CMP_UNORD_Q);
        return _mm512_castsi512_ps(_mm512_mask_mov_epi32(rounded, is_nan, bits));
    }

    // Row-major tiles: high and low parts of 32 k.
    void split(uint8_t* high, uint8_t* low, int strip, int step, Seen& seen) const {
        constexpr int kFractals = kType == ElementType::f16 ? 2 : 4;
        alignas(64) uint8_t copies[4][512];
        const uint8_t* fractals[4];
        for (int i = 0; i < 4; ++i)
            fractals[i] = clean_fractal(operand, strip, step * kFractals + i % kFractals, copies[i]);
        const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
        for (int r = 0; r < 16; ++r) {
            __m512i top[2], bottom[2];
            for (int half = 0; half < 2; ++half) {
                const __m512 value = values(fractals, r, half);
                const __m512i bits = _mm512_castps_si512(value);
                const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
                seen.largest = _mm512_max_epu32(seen.largest, magnitude);
                seen.least = _mm512_min_epu32(seen.least, _mm512_sub_epi32(magnitude, _mm512_set1_epi32(1)));
                top[half] = _mm512_and_si512(bits, upper);
                bottom[half] = _mm512_castps_si512(_mm512_sub_ps(value, _mm512_castsi512_ps(top[half])));
            }
            _mm512_store_si512(high + 64 * r, _mm512_or_si512(_mm512_srli_epi32(top[0], 16), top[1]));
            _mm512_store_si512(low + 64 * r, _mm512_or_si512(_mm512_srli_epi32(bottom[0], 16),
                                                             _mm512_and_si512(bottom[1], upper)));
        }
    }

    // All four tiles of a step are made when the first is asked for; a strip's tiles lie one after the other.
    void pack_a(uint8_t* out, int strip, int t, Seen& seen) const {
        if (t % 4) return;
        split(out, out + 2 * kTileBytes, strip, t / 4, seen);
        std::memcpy(out + kTileBytes, out, kTileBytes);
        std::memcpy(out + 3 * kTileBytes, out + 2 * kTileBytes, kTileBytes);
    }

    void pack_b(uint8_t* out, int strip, int t, Seen& seen) const {
        if (t % 4) return;
        alignas(64) uint8_t rows[2][kTileBytes];
        split(rows[0], rows[1], strip, t / 4, seen);
        for (int part = 0; part < 2; ++part) {
            for (int half = 0; half < 2; ++half) {
                __m512i columns[8];
                transpose_16x8<64>(columns, rows[part] + 32 * half);
                for (int j = 0; j < 8; ++j)
                    _mm512_store_si512(out + part * kTileBytes + 512 * half + 64 * j, columns[j]);
            }
        }
        std::memcpy(out + 2 * kTileBytes, out, 2 * kTileBytes);
    }
};

}  // namespace amx
}  // namespace
}  // namespace ascend::host
