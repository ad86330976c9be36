// SPDX-License-Identifier: MIT
// What does FIX do to one value of L0C? Its modes by number, their parameters, and the code a value becomes.
#pragma once

#include <cmath>
#include <cstring>

#include "formats/bf16.h"
#include "formats/f16.h"
#include "formats/fp8.h"
#include "formats/hif8.h"
#include "isa/types.h"

namespace ascend::isa {

enum class FixOutput : uint8_t { as_is, f32, f16, bf16, b8, e4m3, hif8, hif8_hybrid };

static constexpr int output_bytes(FixOutput output) {
    switch (output) {
        case FixOutput::as_is:
        case FixOutput::f32: return 4;
        case FixOutput::f16:
        case FixOutput::bf16: return 2;
        default: return 1;
    }
}

struct QuantMode {
    asc_quant_mode number;
    const char* name;
    FixOutput output;
    bool any_source, int32_source;  // fp32 unless one of them
    bool scaled, per_column;
};

static constexpr QuantMode kQuantModes[] = {
    {ASC_QUANT_NONE, "NONE", FixOutput::as_is, true, false, false, false},
    {ASC_QUANT_F322F16, "F322F16", FixOutput::f16, false, false, false, false},
    {ASC_QUANT_VQF322HIF8, "VQF322HIF8", FixOutput::hif8, false, false, true, true},
    {ASC_QUANT_QF322HIF8, "QF322HIF8", FixOutput::hif8, false, false, true, false},
    {ASC_QUANT_VQF322HIF8_HYBRID, "VQF322HIF8_HYBRID", FixOutput::hif8_hybrid, false, false, true, true},
    {ASC_QUANT_QF322HIF8_HYBRID, "QF322HIF8_HYBRID", FixOutput::hif8_hybrid, false, false, true, false},
    {ASC_QUANT_VREQ8, "VREQ8", FixOutput::b8, false, true, true, true},
    {ASC_QUANT_REQ8, "REQ8", FixOutput::b8, false, true, true, false},
    {ASC_QUANT_VDEQF16, "VDEQF16", FixOutput::f16, false, true, true, true},
    {ASC_QUANT_DEQF16, "DEQF16", FixOutput::f16, false, true, true, false},
    {ASC_QUANT_VQF322FP8, "VQF322FP8", FixOutput::e4m3, false, false, true, true},
    {ASC_QUANT_QF322FP8, "QF322FP8", FixOutput::e4m3, false, false, true, false},
    {ASC_QUANT_VQF322F32, "VQF322F32", FixOutput::f32, false, false, true, true},
    {ASC_QUANT_QF322F32, "QF322F32", FixOutput::f32, false, false, true, false},
    {ASC_QUANT_F322BF16, "F322BF16", FixOutput::bf16, false, false, false, false},
    {ASC_QUANT_VQF322B8, "VQF322B8", FixOutput::b8, false, false, true, true},
    {ASC_QUANT_QF322B8, "QF322B8", FixOutput::b8, false, false, true, false},
    {ASC_QUANT_VQF322F16, "VQF322F16", FixOutput::f16, false, false, true, true},
    {ASC_QUANT_QF322F16, "QF322F16", FixOutput::f16, false, false, true, false},
    {ASC_QUANT_VQF322BF16, "VQF322BF16", FixOutput::bf16, false, false, true, true},
    {ASC_QUANT_QF322BF16, "QF322BF16", FixOutput::bf16, false, false, true, false},
    {ASC_QUANT_VQS322BF16, "VQS322BF16", FixOutput::bf16, false, true, true, true},
    {ASC_QUANT_QS322BF16, "QS322BF16", FixOutput::bf16, false, true, true, false},
};

static constexpr const QuantMode* quant_mode(int number) {
    for (const QuantMode& mode : kQuantModes)
        if (mode.number == number) return &mode;
    return nullptr;
}

static constexpr float quant_scale(uint64_t word) { return f32_from_bits(static_cast<uint32_t>(word) & 0xffffe000u); }
static constexpr int quant_offset(uint64_t word) {
    const int offset = static_cast<int>(word >> 37 & 0x1ff);
    return offset >= 256 ? offset - 512 : offset;
}
static constexpr bool quant_signed(uint64_t word) { return word >> 46 & 1; }

// Round, add the offset, saturate: once, at the end. NaN gives 0 before the offset.
static inline uint8_t narrow_to_b8(float value, uint64_t word) {
    const bool is_signed = quant_signed(word);
    const float near = value != value ? 0.0f : value < -1024.0f ? -1024.0f : value > 1024.0f ? 1024.0f : value;
    const int code = static_cast<int>(std::nearbyintf(near)) + quant_offset(word);
    const int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    return static_cast<uint8_t>(code < low ? low : code > high ? high : code);
}

// One instruction's conversion; the arrays have a value a column.
struct FixConversion {
    FixOutput output = FixOutput::as_is;
    bool int32 = false, scaled = false, clip = false;
    uint8_t relu = 0;
    uint64_t word = 0;
    const uint64_t* words = nullptr;
    float slope = 0, limit = 0;
    const float* slopes = nullptr;

    uint64_t word_of(int column) const { return words ? words[column] : word; }
    float slope_of(int column) const {
        if (relu == ASC_RELU_PRE_NORMAL) return 0;
        return slopes ? f32_from_bits(f32_bits(slopes[column]) & 0xffffe000u) : slope;
    }

    // `bits` as they are in L0C, of column `column`; writes output_bytes(output) bytes.
    void store(uint8_t* to, uint32_t bits, int column) const {
        if (int32 && output == FixOutput::as_is) {
            if (relu && bits >> 31) bits = 0;
            std::memcpy(to, &bits, 4);
            return;
        }
        if (!int32 && !scaled && !relu && !clip && output == FixOutput::as_is) {  // NaN keeps its bits
            std::memcpy(to, &bits, 4);
            return;
        }
        float value = int32 ? static_cast<float>(static_cast<int32_t>(bits)) : f32_from_bits(bits);
        if (scaled) value *= quant_scale(word_of(column));
        if (relu && value < 0) value = relu == ASC_RELU_PRE_NORMAL ? 0.0f : value * slope_of(column);
        if (clip && value > limit) value = limit;
        switch (output) {
            case FixOutput::as_is:
            case FixOutput::f32: std::memcpy(to, &value, 4); break;
            case FixOutput::f16: put16(to, f32_to_f16(value)); break;
            case FixOutput::bf16: put16(to, f32_to_bf16(value)); break;
            case FixOutput::b8: *to = narrow_to_b8(value, word_of(column)); break;
            case FixOutput::e4m3: *to = f32_to_e4m3(value); break;
            case FixOutput::hif8: *to = f32_to_hif8(value, Rounding::nearest_away); break;
            case FixOutput::hif8_hybrid: *to = f32_to_hif8(value, Rounding::hybrid); break;
        }
    }

private:
    static void put16(uint8_t* to, uint16_t code) { std::memcpy(to, &code, 2); }
};

}  // namespace ascend::isa
