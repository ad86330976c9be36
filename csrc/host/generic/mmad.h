// SPDX-License-Identifier: MIT
// How is an MMAD computed without a matrix unit? Decode to fp32, then multiply and add in ascending k.
//
// A level includes its f32x16.h (sixteen fp32 lanes) first; everything here then has internal linkage in that
// level's translation unit. Vocabulary: a strip is 16 rows of A or B, the whole k of the call long.
#pragma once

#include <cstring>

#include "formats/bf16.h"
#include "formats/e8m0.h"
#include "formats/f16.h"
#include "formats/hf32.h"
#include "host/generic/tables.h"
#include "host/host.h"
#include "host/scratch.h"

namespace ascend::host {
namespace {
namespace generic {

constexpr int kFractalBytes = 512, kRowBytes = 32, kStripRows = 16;
constexpr int kGroup = 32;  // k elements that share one e8m0 scale

inline int ceil_div(int x, int y) { return (x + y - 1) / y; }

// One operand of the call, seen as strips.
struct Operand {
    const uint8_t* data;
    const uint8_t* scale;  // null unless MX
    ElementType type;
    int rows, k;
    Rounding hf32_rounding;
    int64_t k_stride_bytes = int64_t{ceil_div(rows, kStripRows)} * kFractalBytes;

    int strips() const { return ceil_div(rows, kStripRows); }
    int live_rows(int strip) const {
        return rows - strip * kStripRows < kStripRows ? rows - strip * kStripRows : kStripRows;
    }
    const uint8_t* fractal(int strip, int k1) const {
        return data + k1 * k_stride_bytes + strip * int64_t{kFractalBytes};
    }
    uint8_t scale_code(int strip, int row, int group) const {
        return scale[(strip * ceil_div(k, 64) + group / 2) * 32 + row * 2 + group % 2];
    }
};

inline Operand operand_a(const MmadArgs& args) {
    return {args.a, args.a_scale, args.a_type, args.m, args.k, args.hf32_rounding};
}
inline Operand operand_b(const MmadArgs& args) {
    return {args.b, args.b_scale, args.b_type, args.n, args.k, args.hf32_rounding};
}

template <ElementType kType>
float element(const uint8_t* unit, int index, Rounding hf32_rounding) {
    if constexpr (kType == ElementType::f32 || kType == ElementType::hf32) {
        float value;
        std::memcpy(&value, unit + index * 4, 4);
        return kType == ElementType::f32 ? value : f32_to_hf32(value, hf32_rounding);
    } else if constexpr (kType == ElementType::bf16 || kType == ElementType::f16) {
        uint16_t code;
        std::memcpy(&code, unit + index * 2, 2);
        return kType == ElementType::bf16 ? bf16_to_f32(code) : f16_to_f32(code);
    } else if constexpr (kType == ElementType::s8) {
        return static_cast<float>(static_cast<int8_t>(unit[index]));
    } else if constexpr (is_fp4(kType)) {
        return kCodeValues<kType>.value[fp4_element(unit[index / 2], index)];
    } else {
        return kCodeValues<kType>.value[unit[index]];
    }
}

// Calls visit(row, k, value) for the live elements of a strip.
template <ElementType kType, typename Visit>
void for_each_element_typed(const Operand& operand, int strip, Visit visit) {
    constexpr int kPerUnit = elements_per_unit(kType);
    const int rows = operand.live_rows(strip);
    for (int k1 = 0; k1 * kPerUnit < operand.k; ++k1) {
        const uint8_t* fractal = operand.fractal(strip, k1);
        const int live = operand.k - k1 * kPerUnit < kPerUnit ? operand.k - k1 * kPerUnit : kPerUnit;
        for (int row = 0; row < rows; ++row)
            for (int i = 0; i < live; ++i)
                visit(row, k1 * kPerUnit + i,
                      element<kType>(fractal + row * kRowBytes, i, operand.hf32_rounding));
    }
}

template <typename Visit>
void for_each_element(const Operand& operand, int strip, Visit visit) {
    switch (operand.type) {
        case ElementType::bf16: return for_each_element_typed<ElementType::bf16>(operand, strip, visit);
        case ElementType::f16: return for_each_element_typed<ElementType::f16>(operand, strip, visit);
        case ElementType::f32: return for_each_element_typed<ElementType::f32>(operand, strip, visit);
        case ElementType::hf32: return for_each_element_typed<ElementType::hf32>(operand, strip, visit);
        case ElementType::e4m3: return for_each_element_typed<ElementType::e4m3>(operand, strip, visit);
        case ElementType::e5m2: return for_each_element_typed<ElementType::e5m2>(operand, strip, visit);
        case ElementType::hif8: return for_each_element_typed<ElementType::hif8>(operand, strip, visit);
        case ElementType::s8: return for_each_element_typed<ElementType::s8>(operand, strip, visit);
        case ElementType::e2m1: return for_each_element_typed<ElementType::e2m1>(operand, strip, visit);
        case ElementType::e1m2: return for_each_element_typed<ElementType::e1m2>(operand, strip, visit);
        case ElementType::s32: return;
    }
}

// A strip is [16][k] (a broadcast of one element is a load), B strip [k][16] (sixteen columns of C side by
// side).
template <bool kIsA, typename T>
void unpack_strip(T* out, const Operand& operand, int strip) {
    const int k = operand.k;
    if (operand.live_rows(strip) < kStripRows)
        std::memset(out, 0, sizeof(T) * kStripRows * static_cast<size_t>(k));
    for_each_element(operand, strip, [=](int row, int kk, float value) {
        out[kIsA ? static_cast<int64_t>(row) * k + kk : kk * kStripRows + row] = static_cast<T>(value);
    });
}

template <bool kIsA>
void scale_strip(float* out, const Operand& operand, int strip) {
    const int k = operand.k, rows = operand.live_rows(strip);
    for (int row = 0; row < rows; ++row) {
        for (int kk = 0; kk < k; kk += kGroup) {
            const float scale = e8m0_to_f32(operand.scale_code(strip, row, kk / kGroup));
            const int end = k - kk < kGroup ? k : kk + kGroup;
            for (int i = kk; i < end; ++i)
                out[kIsA ? static_cast<int64_t>(row) * k + i : i * kStripRows + row] *= scale;
        }
    }
}

// fp8 and fp4 times 2^(code-127) is exact in fp32 unless it overflows; e5m2 reaches 2^16.
inline bool has_large_scale(const Operand& operand) {
    if (!operand.scale) return false;
    for (int strip = 0; strip < operand.strips(); ++strip)
        for (int row = 0; row < operand.live_rows(strip); ++row)
            for (int group = 0; group * kGroup < operand.k; ++group) {
                const uint8_t code = operand.scale_code(strip, row, group);
                if (code > 127 + 111 && code != kE8m0NaN) return true;
            }
    return false;
}

// C fractal of 16 x 16 that holds only the live part of the result while it is computed.
template <typename T>
struct CBlock {
    alignas(64) T value[16][16];
    T* home;
    int rows, columns;

    CBlock(const MmadArgs& args, int m1, int n1) {
        rows = args.m - m1 * 16 < 16 ? args.m - m1 * 16 : 16;
        columns = args.n - n1 * 16 < 16 ? args.n - n1 * 16 : 16;
        home = reinterpret_cast<T*>(args.c) + (static_cast<int64_t>(n1) * ceil_div(args.m, 16) + m1) * 256;
        std::memset(value, 0, sizeof value);
        for (int i = 0; i < rows; ++i) {
            if (!args.init)
                std::memcpy(value[i], home + i * 16, sizeof(T) * static_cast<size_t>(columns));
            else if (args.bias)
                std::memcpy(value[i], reinterpret_cast<const T*>(args.bias) + n1 * 16,
                            sizeof(T) * static_cast<size_t>(columns));
        }
    }
    void store() const {
        for (int i = 0; i < rows; ++i)
            std::memcpy(home + i * 16, value[i], sizeof(T) * static_cast<size_t>(columns));
    }
};

// Strips decoded to fp32 on first use, so that a caller may need only some of them.
class FmaOperands {
public:
    explicit FmaOperands(const MmadArgs& args) : a_(operand_a(args)), b_(operand_b(args)) {
        const size_t strip_floats = static_cast<size_t>(args.k) * kStripRows;
        a_values_ = reinterpret_cast<float*>(scratch(ScratchSlot::wide_a, strip_floats * 4 * a_.strips()));
        b_values_ = reinterpret_cast<float*>(scratch(ScratchSlot::wide_b, strip_floats * 4 * b_.strips()));
    }
    const float* a(int strip) { return get<true>(a_, a_values_, a_ready_, strip); }
    const float* b(int strip) { return get<false>(b_, b_values_, b_ready_, strip); }

private:
    template <bool kIsA>
    const float* get(const Operand& operand, float* values, uint64_t* ready, int strip) {
        float* out = values + static_cast<int64_t>(strip) * kStripRows * operand.k;
        if (!(ready[strip / 64] >> strip % 64 & 1)) {
            unpack_strip<kIsA>(out, operand, strip);
            if (operand.scale) scale_strip<kIsA>(out, operand, strip);
            ready[strip / 64] |= 1ull << strip % 64;
        }
        return out;
    }

    Operand a_, b_;
    float* a_values_;
    float* b_values_;
    uint64_t a_ready_[4] = {}, b_ready_[4] = {};  // m and n are at most 4095: 256 strips
};

// kRows rows of A times kBlocks strips of B; accumulators stay in registers over the whole k.
template <int kRows, int kBlocks>
void fma_rows(float* const (&c)[kBlocks], const float* a, int64_t a_stride, const float* const (&b)[kBlocks],
              int k) {
    F32x16 sum[kRows][kBlocks];
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kBlocks; ++j) sum[i][j] = F32x16::load(c[j] + i * 16);
    for (int kk = 0; kk < k; ++kk) {
        F32x16 column[kBlocks];
        for (int j = 0; j < kBlocks; ++j) column[j] = F32x16::load(b[j] + kk * 16);
        for (int i = 0; i < kRows; ++i) {
            const F32x16 row = F32x16::broadcast(a + i * a_stride + kk);
            for (int j = 0; j < kBlocks; ++j) sum[i][j] = fma(row, column[j], sum[i][j]);
        }
    }
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kBlocks; ++j) sum[i][j].store(c[j] + i * 16);
}

template <int kBlocks>
void fma_blocks(const MmadArgs& args, FmaOperands& operands, int m1, int n1) {
    constexpr int kRows = F32x16::kTileRows;
    static_assert(16 % kRows == 0);
    CBlock<float> first(args, m1, n1), second(args, m1, n1 + kBlocks - 1);
    const float* a = operands.a(m1);
    for (int i = 0; i < 16; i += kRows) {
        if constexpr (kBlocks == 1) {
            fma_rows<kRows, 1>({first.value[i]}, a + static_cast<int64_t>(i) * args.k, args.k,
                               {operands.b(n1)}, args.k);
        } else {
            fma_rows<kRows, 2>({first.value[i], second.value[i]}, a + static_cast<int64_t>(i) * args.k,
                               args.k, {operands.b(n1), operands.b(n1 + 1)}, args.k);
        }
    }
    first.store();
    if constexpr (kBlocks == 2) second.store();
}

inline void mmad_fma(const MmadArgs& args) {
    FmaOperands operands(args);
    const int m1_count = ceil_div(args.m, 16), n1_count = ceil_div(args.n, 16);
    int n1 = 0;
    if constexpr (F32x16::kTileBlocks == 2)
        for (; n1 + 2 <= n1_count; n1 += 2)
            for (int m1 = 0; m1 < m1_count; ++m1) fma_blocks<2>(args, operands, m1, n1);
    for (; n1 < n1_count; ++n1)
        for (int m1 = 0; m1 < m1_count; ++m1) fma_blocks<1>(args, operands, m1, n1);
}

// One fractal of C with products in double, where those of any two fp32 values, scales included, are exact;
// one rounding to fp32 per addition. For fp32 on a level without FMA, and for scales so large that an operand
// times its scale overflows fp32.
inline void wide_block(const MmadArgs& args, int m1, int n1) {
    const Operand a = operand_a(args), b = operand_b(args);
    const size_t strip_floats = static_cast<size_t>(args.k) * kStripRows;
    float* a_values = reinterpret_cast<float*>(scratch(ScratchSlot::wide_a, strip_floats * 4 * 2));
    float* a_scales = a_values + strip_floats;
    float* b_values = reinterpret_cast<float*>(scratch(ScratchSlot::wide_b, strip_floats * 4 * 2));
    float* b_scales = b_values + strip_floats;
    for (size_t i = 0; i < strip_floats; ++i) a_scales[i] = b_scales[i] = 1.0f;
    unpack_strip<true>(a_values, a, m1);
    unpack_strip<false>(b_values, b, n1);
    if (a.scale) scale_strip<true>(a_scales, a, m1);
    if (b.scale) scale_strip<false>(b_scales, b, n1);
    CBlock<float> c(args, m1, n1);
    for (int i = 0; i < c.rows; ++i) {
        for (int kk = 0; kk < args.k; ++kk) {
            const int64_t at = static_cast<int64_t>(i) * args.k + kk;
            const double left = static_cast<double>(a_values[at]) * a_scales[at];
            for (int j = 0; j < 16; ++j) {
                const double right = static_cast<double>(b_values[kk * 16 + j]) * b_scales[kk * 16 + j];
                c.value[i][j] = static_cast<float>(c.value[i][j] + left * right);
            }
        }
    }
    c.store();
}

inline void mmad_wide(const MmadArgs& args) {
    for (int n1 = 0; n1 < ceil_div(args.n, 16); ++n1)
        for (int m1 = 0; m1 < ceil_div(args.m, 16); ++m1) wide_block(args, m1, n1);
}

// s8 on the fp32 path: the sum of kS8Chunk products is at most 2^10 * 2^14 = 2^24 in magnitude, so every
// partial sum is an integer that fp32 holds exactly. Chunks are added up in int32, wrapping.
inline void mmad_s8(const MmadArgs& args) {
    constexpr int kS8Chunk = 1024, kRows = F32x16::kTileRows;
    FmaOperands operands(args);
    for (int n1 = 0; n1 < ceil_div(args.n, 16); ++n1) {
        for (int m1 = 0; m1 < ceil_div(args.m, 16); ++m1) {
            CBlock<int32_t> c(args, m1, n1);
            for (int kk = 0; kk < args.k; kk += kS8Chunk) {
                const int chunk = args.k - kk < kS8Chunk ? args.k - kk : kS8Chunk;
                alignas(64) float sum[16][16] = {};
                for (int i = 0; i < 16; i += kRows)
                    fma_rows<kRows, 1>({sum[i]}, operands.a(m1) + static_cast<int64_t>(i) * args.k + kk,
                                       args.k, {operands.b(n1) + kk * 16}, chunk);
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) c.value[i][j] += static_cast<int32_t>(sum[i][j]);
            }
            c.store();
        }
    }
}

inline void mmad(const MmadArgs& args) {
    if (args.a_type == ElementType::s8) return mmad_s8(args);
    const bool exact_in_f32 = F32x16::kIsFused || args.a_type != ElementType::f32;
    if (!exact_in_f32 || has_large_scale(operand_a(args)) || has_large_scale(operand_b(args)))
        return mmad_wide(args);
    mmad_fma(args);
}

}  // namespace generic
}  // namespace
}  // namespace ascend::host
