// SPDX-License-Identifier: MIT
// How do L0 fractals become AMX tiles? What every packer shares: ranges, clean fractals, the transpose for B.
//
// A tile holds 16 rows of 64 bytes. For A that is 32 k of bf16 per row; for B, 16 columns of C with the two k
// of a pair side by side: row p, dword n = (k of pair p) of column n. s8 packs the same bytes with 64 k per
// tile. The order of k within a tile is free as long as A and B use the same one; each packer takes what
// unpacks cheapest.
//
// A packer (pack_raw.h, pack_narrow.h, pack_split.h) has
//     tiles()                            tiles per strip of 16 rows
//     Seen                               what the tiles of one strip told about its values
//     pack_a, pack_b(out, strip, t, seen)  tile t of the strip, 1024 bytes
//     range(seen)                        whether TDPBF16PS may have the strip
#pragma once

#include "host/avx512/intrinsics.h"
#include "host/generic/mmad.h"
#include "host/packed.h"

namespace ascend::host {
namespace {
namespace amx {

using generic::ceil_div;
using generic::Operand;

constexpr int kTileBytes = kPackedTileBytes;

// TDPBF16PS reads subnormals as 0 and flushes subnormal results. If all products of two strips are multiples
// of 2^-126, so are all their sums, and nothing is lost. unit_exponent: all live elements are multiples of
// 2^unit_exponent.
struct StripRange {
    int unit_exponent;
    static constexpr int kAllZero = 1 << 20;    // nothing to lose
    static constexpr int kUnsafe = -(1 << 20);  // subnormals, or values that the packer cannot express
};

inline __m256i load32(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// The fractal if all of it is live, else a copy whose dead rows and dead k are 0.
inline const uint8_t* clean_fractal(const Operand& operand, int strip, int k1, uint8_t* copy) {
    const int k0 = elements_per_unit(operand.type), bits = element_bits(operand.type);
    const int rows = operand.live_rows(strip), live_k = operand.k - k1 * k0;
    if (rows == 16 && live_k >= k0) return operand.fractal(strip, k1);
    std::memset(copy, 0, 512);
    if (live_k <= 0) return copy;
    const int live_bits = (live_k < k0 ? live_k : k0) * bits;
    const uint8_t* from = operand.fractal(strip, k1);
    for (int r = 0; r < rows; ++r) {
        std::memcpy(copy + 32 * r, from + 32 * r, static_cast<size_t>((live_bits + 7) / 8));
        if (live_bits % 8) copy[32 * r + live_bits / 8] &= 0xf;  // an odd number of fp4 elements
    }
    return copy;
}

// Transposes 16 rows x 8 dwords: out[j] holds dword j of rows 0 .. 15.
// Rows r, r+4, r+8, r+12 go to the 128-bit lanes of one register, then each lane is a 4 x 4 transpose.
template <int kRowStride>
void transpose_16x8(__m512i (&out)[8], const uint8_t* rows) {
    for (int half = 0; half < 2; ++half) {
        __m512i t[4];
        for (int j = 0; j < 4; ++j) {
            const uint8_t* from = rows + 16 * half + kRowStride * j;
            const auto chunk = [&](int row) {
                return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + kRowStride * row));
            };
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

}  // namespace amx
}  // namespace
}  // namespace ascend::host
