// SPDX-License-Identifier: MIT
// How is undefined data followed through the cube? By rows of A, rows of B and 32 bytes of L0C; of a transposed operand by k.
#include "isa/cube_undefined.h"

#include <algorithm>
#include <cstring>

#include "chip/fault.h"
#include "chip/launch.h"
#include "chip/source_line.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

constexpr int kGranuleColumns = kUnitBytes / 4;
constexpr uint8_t kScaleOfOne = 127;

int blocks_of_16(int value) { return (value + 15) / 16; }
int units_of(const Record& record) {
    const int per_unit = elements_per_unit(record.type);
    return (record.mmad.k + per_unit - 1) / per_unit;
}
int scale_pairs(const Record& record) { return (record.mmad.k + 63) / 64; }

// Bytes of a row in fractals k1 that are multiplied.
int live_bytes(const Record& record, int k1) {
    const int bits = element_bits(record.type);
    return std::min<int>(kUnitBytes, (record.mmad.k * bits + 7) / 8 - k1 * static_cast<int>(kUnitBytes));
}

// First undefined byte in the live extent of an operand, or -1. Fractal (k1, r1) at (k1 * r_blocks + r1) * 512.
int64_t undefined_operand(const Memory& memory, const PartsOfK& parts, uint32_t base, int rows, const Record& record) {
    const int row_blocks = blocks_of_16(rows), k_units = units_of(record);
    if (rows % 16 == 0 && memory.valid.first_undefined(base, static_cast<uint32_t>(k_units * row_blocks) * kFractalBytes) < 0) return -1;
    for (int k1 = 0; k1 < k_units; ++k1)
        for (int r1 = 0; r1 < row_blocks; ++r1) {
            const int live = std::min(16, rows - r1 * 16);
            const uint32_t wanted = (1u << live) - 1;
            const uint32_t begin = base + static_cast<uint32_t>(k1 * row_blocks + r1) * kFractalBytes;
            const uint32_t missing = wanted & ~memory.valid.fractal(begin);
            if (missing && parts.of(begin) < live_bytes(record, k1)) [[unlikely]]
                return int64_t{begin} + __builtin_ctz(missing) * int64_t{kUnitBytes};
        }
    return -1;
}

}  // namespace

Undefined first_undefined(const AiCore& ai, const Record& record) {
    const MmadPayload& p = record.mmad;
    if (const int64_t at = undefined_operand(ai.l0a, ai.l0a_parts, p.l0a, p.m, record); at >= 0) [[unlikely]]
        return {"left operand", &ai.l0a, at};
    if (const int64_t at = undefined_operand(ai.l0b, ai.l0b_parts, p.l0b, p.n, record); at >= 0) [[unlikely]]
        return {"right operand", &ai.l0b, at};
    if (p.mx) {
        const auto scales = [&](const Memory& memory, uint32_t base, int rows) {
            return memory.valid.first_undefined(base, static_cast<uint32_t>(blocks_of_16(rows) * scale_pairs(record)) * kUnitBytes);
        };
        if (const int64_t at = scales(ai.l0a_mx, p.a_scale, p.m); at >= 0) [[unlikely]] return {"left scales", &ai.l0a_mx, at};
        if (const int64_t at = scales(ai.l0b_mx, p.b_scale, p.n); at >= 0) [[unlikely]] return {"right scales", &ai.l0b_mx, at};
    }
    for (int n1 = 0; !p.init && n1 < blocks_of_16(p.n); ++n1) {
        const int columns = std::min(16, p.n - n1 * 16);
        const uint32_t block = p.l0c + static_cast<uint32_t>(n1 * blocks_of_16(p.m)) * 1024;
        int64_t at = -1;
        if (columns == 16)
            at = ai.l0c.valid.first_undefined(block, uint32_t{p.m} * 64);
        else
            for (uint32_t row = 0; row < p.m && at < 0; ++row)
                at = ai.l0c.valid.first_undefined(block + row * 64, static_cast<uint32_t>(columns) * 4);
        if (at >= 0) [[unlikely]] return {"accumulator", &ai.l0c, at};
    }
    if (p.has_bias)
        if (const int64_t at = ai.bt.valid.first_undefined(p.bias, uint32_t{p.n} * 4); at >= 0) [[unlikely]]
            return {"bias", &ai.bt, at};
    return {};
}

PartialProduct::PartialProduct(Core& core, const Record& record, const Undefined& first)
    : ai_(core.ai), record_(record), rows_(record.mmad.m, 1), columns_(record.mmad.n, 1) {
    const MmadPayload& p = record.mmad;
    look_at_operand(ai_.l0a, ai_.l0a_parts, p.l0a, rows_);
    look_at_operand(ai_.l0b, ai_.l0b_parts, p.l0b, columns_);
    if (p.mx) {
        look_at_scales(ai_.l0a_mx, p.a_scale, rows_);
        look_at_scales(ai_.l0b_mx, p.b_scale, columns_);
    }
    for (int column = 0; p.has_bias && column < p.n; ++column)
        if (!ai_.bt.valid.test(p.bias + static_cast<uint32_t>(column) * 4)) columns_[static_cast<size_t>(column)] = 0;
    bool any = false;
    each_granule([&](int row, int column, uint32_t at) { any = any || is_defined(row, column, at); });
    if (!any)
        core.fail(record, format("%s: %s address 0x%llx holds undefined data%s", first.what, first.memory->name(), static_cast<long long>(first.at),
                                 undefined_transfer(ai_).c_str()));
    ai_.undefined_factor = {first.what, first.memory->name(), static_cast<uint32_t>(first.at), record.site, record.op};
}

void PartialProduct::look_at_operand(Memory& memory, const PartsOfK& parts, uint32_t base, std::vector<uint8_t>& lines) const {
    const int k_units = units_of(record_), rows = static_cast<int>(lines.size()), row_blocks = blocks_of_16(rows);
    for (int k1 = 0; k1 < k_units; ++k1)
        for (int row = 0; row < rows; ++row) {
            const uint32_t at = base + static_cast<uint32_t>(k1 * row_blocks) * kFractalBytes + static_cast<uint32_t>(row) * kUnitBytes;
            if (memory.valid.test(at) || parts.of(at) >= live_bytes(record_, k1)) continue;
            lines[static_cast<size_t>(row)] = 0;
            std::memset(memory.at(at), 0, kUnitBytes);
        }
}

// Fractals of 16 rows x 2 scales, those of a block of rows beside each other.
void PartialProduct::look_at_scales(Memory& memory, uint32_t base, std::vector<uint8_t>& lines) const {
    const int pairs = scale_pairs(record_), rows = static_cast<int>(lines.size());
    for (int block = 0; block < blocks_of_16(rows); ++block)
        for (int pair = 0; pair < pairs; ++pair) {
            const uint32_t at = base + static_cast<uint32_t>(block * pairs + pair) * kUnitBytes;
            if (memory.valid.test(at)) continue;
            std::fill(lines.begin() + block * 16, lines.begin() + std::min(rows, block * 16 + 16), uint8_t{0});
            std::memset(memory.at(at), kScaleOfOne, kUnitBytes);
        }
}

// f(row, first column, address) for what one granule holds of the results.
template <class F>
void PartialProduct::each_granule(F f) const {
    const MmadPayload& p = record_.mmad;
    for (int column = 0; column < p.n; column += kGranuleColumns)
        for (int row = 0; row < p.m; ++row)
            f(row, column, p.l0c + static_cast<uint32_t>(column / 16 * blocks_of_16(p.m)) * 1024 + static_cast<uint32_t>(row * 64 + column % 16 * 4));
}

bool PartialProduct::is_defined(int row, int column, uint32_t at) const {
    const auto begin = columns_.begin() + column, end = columns_.begin() + std::min<int>(record_.mmad.n, column + kGranuleColumns);
    return rows_[static_cast<size_t>(row)] && std::find(begin, end, uint8_t{1}) != end && (record_.mmad.init || ai_.l0c.valid.test(at));
}

void PartialProduct::mark_results() const {
    each_granule([&](int row, int column, uint32_t at) {
        if (is_defined(row, column, at)) ai_.l0c.valid.set(at, kUnitBytes);
        else ai_.l0c.valid.undefine_granule(at);
    });
}

std::string undefined_factor(const AiCore& ai) {
    const UndefinedFactor& last = ai.undefined_factor;
    if (!last.what) return "";
    return format("; undefined data was multiplied last by %s (%s, %s address 0x%x) in %s", op_info(last.op).name, last.what, last.memory, last.address,
                  source_line(ai.launch->site_address(last.site)).c_str()) +
           undefined_transfer(ai);
}

std::string undefined_transfer(const AiCore& ai) {
    const UndefinedTransfer& last = ai.undefined_transfer;
    if (!last.memory) return "";
    std::string text = format("; undefined data went to L1 last by asc_copy_ub2l1 (%s address 0x%x) in %s", last.memory, last.address,
                              source_line(ai.launch->site_address(last.site)).c_str());
    if (last.read_at) text += ", and was read before that in " + source_line(reinterpret_cast<uint64_t>(last.read_at));
    return text;
}

}  // namespace ascend::isa
