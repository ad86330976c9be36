// SPDX-License-Identifier: MIT
// How are fp8 and fp4 packed? Decoded to bf16, the e8m0 scale folded into the exponent; both are exact.
//
// Order of k: fp8, pair p < 8: k = 4p, 4p+2; pair 8+p: k = 4p+1, 4p+3 (even bytes, then odd bytes, of each
// dword). fp4, tile t of the two tiles of a fractal, pair p < 8: k = 8p+2t, 8p+4+2t; pair 8+p: one k later
// (nibbles of a word).
//
// Scales: the decoded magnitude is a bf16 word lifted by kLift exponents, from which (kLift - scale exponent)
// exponents are subtracted with saturation at 0, so that zero stays zero. Scales outside the range in which
// this is exact, NaN scales, NaN and inf elements make the strip unsafe: it is left to the fp32 path.
#pragma once

#include "host/amx/pack.h"

namespace ascend::host {
namespace {
namespace amx {

constexpr int kLift = 80;  // keeps the largest e5m2, 2^16, times the largest scale finite in bf16
constexpr int kMaxScaleCode = 127 + kLift;  // kLift - scale exponent must not be negative

// Exponents of the largest unit that divides all values, and of the smallest nonzero magnitude.
template <ElementType kType>
constexpr int unit_exponent() {
    switch (kType) {
        case ElementType::e4m3: return -9;
        case ElementType::e5m2: return -16;
        case ElementType::hif8: return -22;
        case ElementType::e2m1: return -1;
        default: return -2;  // e1m2
    }
}

struct WordTable {
    alignas(64) uint16_t word[128];
};

constexpr uint16_t lifted(float value, bool is_mx) {
    const uint32_t word = f32_bits(value) >> 16 & 0x7fff;
    return static_cast<uint16_t>(word && is_mx ? word + (kLift << 7) : word);
}

// e4m3, e5m2: word = (code << shift) + entry[min(code, 2^mantissa bits + mantissa)]; the entries put the
// exponent right and replace subnormals, which come first. Other types: word = entry[code], fp4 repeated over
// 32 entries.
template <ElementType kType, bool kMx>
constexpr WordTable make_word_table() {
    WordTable table{};
    for (int i = 0; i < 128; ++i) {
        if (kType == ElementType::e4m3 || kType == ElementType::e5m2) {
            constexpr int kMantissa = kType == ElementType::e4m3 ? 3 : 2;
            const int code = i % (2 << kMantissa);
            table.word[i] = static_cast<uint16_t>(lifted(code_value<kType>(static_cast<uint8_t>(code)), kMx) -
                                                  (code << (7 - kMantissa)));
        } else {
            const int code = is_fp4(kType) ? i % 8 : i;
            table.word[i] = lifted(code_value<kType>(static_cast<uint8_t>(code)), kMx);
        }
    }
    return table;
}

template <ElementType kType, bool kMx>
constexpr WordTable kWordTable = make_word_table<kType, kMx>();

// bf16 words of the codes in the low byte of each word (what lies above does not matter), minus `delta`.
template <ElementType kType, bool kMx>
__m512i decode_fp8(__m512i codes, __m512i delta) {
    const uint16_t* table = kWordTable<kType, kMx>.word;
    const __m512i magnitude = _mm512_and_si512(codes, _mm512_set1_epi16(0x7f));
    __m512i word;
    if constexpr (kType == ElementType::hif8) {
        const __m512i low =
            _mm512_permutex2var_epi16(_mm512_load_si512(table), magnitude, _mm512_load_si512(table + 32));
        const __m512i high = _mm512_permutex2var_epi16(_mm512_load_si512(table + 64), magnitude,
                                                       _mm512_load_si512(table + 96));
        word = _mm512_mask_mov_epi16(low, _mm512_test_epi16_mask(magnitude, _mm512_set1_epi16(0x40)), high);
    } else {
        constexpr int kMantissa = kType == ElementType::e4m3 ? 3 : 2, kHidden = 1 << kMantissa;
        // (magnitude & (kHidden - 1)) | kHidden
        const __m512i normal = _mm512_ternarylogic_epi32(magnitude, _mm512_set1_epi16(kHidden - 1),
                                                         _mm512_set1_epi16(kHidden), 0xea);
        const __m512i entry =
            _mm512_permutexvar_epi16(_mm512_min_epu16(magnitude, normal), _mm512_load_si512(table));
        word = _mm512_add_epi16(_mm512_slli_epi16(magnitude, 7 - kMantissa), entry);
    }
    if constexpr (kMx) word = _mm512_subs_epu16(word, delta);
    // word | (codes << 8 & 0x8000)
    return _mm512_ternarylogic_epi32(word, _mm512_slli_epi16(codes, 8),
                                     _mm512_set1_epi16(static_cast<short>(0x8000)), 0xf8);
}

// What the fp8 and fp4 packers watch for in a strip.
struct SeenNarrow {
    __m512i largest_code = _mm512_setzero_si512();  // bytes, without the sign
    __mmask64 special = 0;                          // HiF8's NaN and inf
    __m512i least_scale = _mm512_set1_epi32(127), largest_scale = least_scale;
};

// Scales of 16 rows and one group as words to subtract, both halves of dword r for row r.
inline __m512i scale_delta(const Operand& operand, int strip, int group, SeenNarrow& seen) {
    const uint8_t* from = operand.scale + (strip * ceil_div(operand.k, 64) + group / 2) * 32;
    __m512i code = _mm512_cvtepu16_epi32(load32(from));
    code =
        _mm512_and_si512(_mm512_srl_epi32(code, _mm_cvtsi32_si128(group % 2 * 8)), _mm512_set1_epi32(0xff));
    const __mmask16 live = static_cast<__mmask16>((1u << operand.live_rows(strip)) - 1);
    code = _mm512_mask_mov_epi32(_mm512_set1_epi32(127), live, code);
    seen.least_scale = _mm512_min_epu32(seen.least_scale, code);
    seen.largest_scale = _mm512_max_epu32(seen.largest_scale, code);
    const __m512i delta = _mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(kMaxScaleCode), code), 7);
    return _mm512_or_si512(_mm512_and_si512(delta, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32(delta, 16));
}

template <ElementType kType, bool kMx>
StripRange narrow_range(const SeenNarrow& seen) {
    alignas(64) uint8_t codes[64];
    _mm512_store_si512(codes, seen.largest_code);
    int largest = 0;
    for (uint8_t code : codes) largest = code > largest ? code : largest;
    const bool is_special = kType == ElementType::e4m3   ? largest >= kE4m3NaN
                            : kType == ElementType::e5m2 ? largest >= kE5m2Inf
                                                         : seen.special != 0;
    if (is_special) return {StripRange::kUnsafe};
    if (!kMx) return {unit_exponent<kType>()};
    const int least_scale = static_cast<int>(_mm512_reduce_min_epu32(seen.least_scale));
    const int largest_scale = static_cast<int>(_mm512_reduce_max_epu32(seen.largest_scale));
    // The smallest magnitude, 2^unit, must stay a normal bf16.
    const bool fits = largest_scale <= kMaxScaleCode && unit_exponent<kType>() + least_scale - 127 >= -126;
    return {fits ? unit_exponent<kType>() + least_scale - 127 : StripRange::kUnsafe};
}

// A fractal of 32 k makes one tile.
template <ElementType kType, bool kMx>
struct Fp8 {
    using Seen = SeenNarrow;
    const Operand& operand;

    int tiles() const { return ceil_div(operand.k, 32); }
    StripRange range(const Seen& seen) const { return narrow_range<kType, kMx>(seen); }

    void watch(const uint8_t* fractal, Seen& seen) const {
        for (int i = 0; i < 512; i += 64) {
            const __m512i codes = _mm512_loadu_si512(fractal + i);
            if constexpr (kType == ElementType::hif8) {
                seen.special |= _mm512_cmpeq_epi8_mask(codes, _mm512_set1_epi8(static_cast<char>(kHif8NaN)));
                seen.special |= _mm512_cmpeq_epi8_mask(_mm512_and_si512(codes, _mm512_set1_epi8(0x7f)),
                                                       _mm512_set1_epi8(kHif8Inf));
            } else {
                seen.largest_code =
                    _mm512_max_epu8(seen.largest_code, _mm512_and_si512(codes, _mm512_set1_epi8(0x7f)));
            }
        }
    }

    void pack_a(uint8_t* out, int strip, int t, Seen& seen) const {
        alignas(64) uint8_t copy[512];
        const uint8_t* fractal = clean_fractal(operand, strip, t, copy);
        watch(fractal, seen);
        alignas(64) uint32_t delta[16];
        if constexpr (kMx) _mm512_store_si512(delta, scale_delta(operand, strip, t, seen));
        // Both halves of a register hold the row; the upper one moves the odd bytes down.
        const __m512i shift = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(8), 1);
        for (int r = 0; r < 16; ++r) {
            const __m512i row = _mm512_srlv_epi16(_mm512_broadcast_i64x4(load32(fractal + 32 * r)), shift);
            const __m512i subtract =
                kMx ? _mm512_set1_epi32(static_cast<int>(delta[r])) : _mm512_setzero_si512();
            _mm512_store_si512(out + 64 * r, decode_fp8<kType, kMx>(row, subtract));
        }
    }

    void pack_b(uint8_t* out, int strip, int t, Seen& seen) const {
        alignas(64) uint8_t copy[512];
        const uint8_t* fractal = clean_fractal(operand, strip, t, copy);
        watch(fractal, seen);
        const __m512i delta = kMx ? scale_delta(operand, strip, t, seen) : _mm512_setzero_si512();
        __m512i columns[8];
        transpose_16x8<32>(columns, fractal);
        for (int j = 0; j < 8; ++j) {
            _mm512_store_si512(out + 64 * j, decode_fp8<kType, kMx>(columns[j], delta));
            _mm512_store_si512(out + 512 + 64 * j,
                               decode_fp8<kType, kMx>(_mm512_srli_epi16(columns[j], 8), delta));
        }
    }
};

// A fractal of 64 k makes two tiles.
template <ElementType kType, bool kMx>
struct Fp4 {
    using Seen = SeenNarrow;
    const Operand& operand;

    int tiles() const { return 2 * ceil_div(operand.k, 64); }
    StripRange range(const Seen& seen) const { return narrow_range<kType, kMx>(seen); }

    // Words of the codes in the low nibble of `low` (the table ignores the rest) with the signs in bit 15 of
    // `high`.
    static __m512i decode(__m512i low, __m512i high, __m512i delta) {
        __m512i word = _mm512_permutexvar_epi16(low, _mm512_load_si512(kWordTable<kType, kMx>.word));
        if constexpr (kMx) word = _mm512_subs_epu16(word, delta);
        return _mm512_ternarylogic_epi32(word, high, _mm512_set1_epi16(static_cast<short>(0x8000)), 0xf8);
    }

    void pack_a(uint8_t* out, int strip, int t, Seen& seen) const {
        alignas(64) uint8_t copy[512];
        const uint8_t* fractal = clean_fractal(operand, strip, t / 2, copy);
        alignas(64) uint32_t delta[2][16] = {};
        if constexpr (kMx)
            for (int g = 0; g < 2; ++g) _mm512_store_si512(delta[g], group_delta(strip, t / 2, g, seen));
        const short down = static_cast<short>(t % 2 * 8);
        const __m512i to_low =
            _mm512_inserti64x4(_mm512_set1_epi16(down), _mm256_set1_epi16(static_cast<short>(down + 4)), 1);
        const __m512i to_high = _mm512_sub_epi16(_mm512_set1_epi16(12), to_low);
        for (int r = 0; r < 16; ++r) {
            const __m512i row = _mm512_broadcast_i64x4(load32(fractal + 32 * r));
            // Dwords 0 .. 3 of each half are group 0, dwords 4 .. 7 group 1.
            const __m512i subtract = _mm512_mask_set1_epi32(_mm512_set1_epi32(static_cast<int>(delta[0][r])),
                                                            0xf0f0, static_cast<int>(delta[1][r]));
            _mm512_store_si512(out + 64 * r, decode(_mm512_srlv_epi16(row, to_low),
                                                    _mm512_sllv_epi16(row, to_high), subtract));
        }
    }

    void pack_b(uint8_t* out, int strip, int t, Seen& seen) const {
        alignas(64) uint8_t copy[512];
        const uint8_t* fractal = clean_fractal(operand, strip, t / 2, copy);
        __m512i delta[2] = {};
        if constexpr (kMx)
            for (int g = 0; g < 2; ++g) delta[g] = group_delta(strip, t / 2, g, seen);
        __m512i columns[8];
        transpose_16x8<32>(columns, fractal);
        for (int i = 0; i < 2; ++i) {
            const __m128i down = _mm_cvtsi32_si128(t % 2 * 8 + 4 * i),
                          up = _mm_cvtsi32_si128(12 - t % 2 * 8 - 4 * i);
            for (int j = 0; j < 8; ++j)
                _mm512_store_si512(out + 512 * i + 64 * j,
                                   decode(_mm512_srl_epi16(columns[j], down),
                                          _mm512_sll_epi16(columns[j], up), delta[j / 4]));
        }
    }

private:
    // The second group of a fractal may lie beyond k, where no scale needs to be.
    __m512i group_delta(int strip, int k1, int g, Seen& seen) const {
        if ((2 * k1 + g) * generic::kGroup >= operand.k) return _mm512_setzero_si512();
        return scale_delta(operand, strip, 2 * k1 + g, seen);
    }
};

}  // namespace amx
}  // namespace
}  // namespace ascend::host
