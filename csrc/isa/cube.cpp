// SPDX-License-Identifier: MIT
// M: the cube's matrix multiply-add (ascend950.md 4.2, 4.3). Only the live m x n of L0C is written; what is undefined in the live
// extents of L0A and L0B leaves its part of that undefined (cube_undefined.h).
#include "isa/cube.h"

#include <optional>

#include "chip/races.h"
#include "host/host.h"
#include "isa/cube_queue.h"
#include "isa/cube_undefined.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

int blocks_of_16(int value) { return (value + 15) / 16; }

struct L0cExtent {
    uint32_t begin;
    int m, n, row_blocks;
    // Calls f(offset, bytes) for every contiguous live piece.
    template <class F>
    void each(F f) const {
        for (int n1 = 0; n1 < blocks_of_16(n); ++n1) {
            const int columns = std::min(16, n - n1 * 16);
            const uint32_t block = begin + static_cast<uint32_t>(n1 * row_blocks) * 1024;
            if (columns == 16)
                f(block, static_cast<uint32_t>(m) * 64);
            else
                for (int row = 0; row < m; ++row)
                    f(block + static_cast<uint32_t>(row) * 64, static_cast<uint32_t>(columns) * 4);
        }
    }
};

// Unit flags go with blocks of 512 B, 8 rows of 16 columns: those that hold a live row.
template <class F>
void each_column_block(const MmadPayload& p, F f) {
    for (int n1 = 0; n1 < blocks_of_16(p.n); ++n1)
        f(p.l0c + static_cast<uint32_t>(n1 * blocks_of_16(p.m)) * 1024, static_cast<uint32_t>(p.m) * 64);
}

bool mmad_ready(Core& core, const Record& record) {
    const MmadPayload& p = record.mmad;
    if (!(p.unit_flag & 2)) return true;
    bool ready = true;
    each_column_block(p, [&](uint32_t at, uint32_t bytes) { ready &= core.ai.unit_flags.all_equal(at, bytes, false); });
    return ready;
}

void note_accesses(const Core& core, const Record& record) {
    const MmadPayload& p = record.mmad;
    const AiCore& ai = core.ai;
    const auto m1 = static_cast<uint32_t>(blocks_of_16(p.m)), n1 = static_cast<uint32_t>(blocks_of_16(p.n));
    const auto k0 = static_cast<uint32_t>(elements_per_unit(record.type)), k1 = (p.k + k0 - 1) / k0;
    reads(core, record, ai.l0a, {p.l0a, m1 * k1 * kFractalBytes});
    reads(core, record, ai.l0b, {p.l0b, n1 * k1 * kFractalBytes});
    if (p.mx) {  // 16 rows x 2 scales of 32 elements
        reads(core, record, ai.l0a_mx, {p.a_scale, m1 * (p.k / 64) * kUnitBytes});
        reads(core, record, ai.l0b_mx, {p.b_scale, n1 * (p.k / 64) * kUnitBytes});
    }
    if (p.has_bias) reads(core, record, ai.bt, {p.bias, n1 * 64});
    L0cExtent{p.l0c, p.m, p.n, blocks_of_16(p.m)}.each([&](uint32_t at, uint32_t bytes) { writes(core, record, ai.l0c, {at, bytes}); });
}

void mmad_effect(Core& core, const Record& record) {
    const MmadPayload& p = record.mmad;
    AiCore& ai = core.ai;
    if (ai.races) [[unlikely]] note_accesses(core, record);
    std::optional<PartialProduct> partial;
    if (const Undefined first = first_undefined(ai, record); first.what) [[unlikely]] partial.emplace(core, record, first);
    host::MmadArgs args{};
    args.a = ai.l0a.at(p.l0a);
    args.b = ai.l0b.at(p.l0b);
    args.c = reinterpret_cast<float*>(ai.l0c.at(p.l0c));
    args.m = p.m;
    args.n = p.n;
    args.k = p.k;
    args.a_type = record.type;
    args.b_type = p.b_type;
    args.a_scale = p.mx ? ai.l0a_mx.at(p.a_scale) : nullptr;
    args.b_scale = p.mx ? ai.l0b_mx.at(p.b_scale) : nullptr;
    args.init = p.init;
    args.bias = p.has_bias ? reinterpret_cast<const float*>(ai.bt.at(p.bias)) : nullptr;
    args.hf32_rounding = p.hf32_away ? Rounding::nearest_away : Rounding::nearest_even;
    if (CubeQueue* queue = CubeQueue::of(ai))
        queue->multiply(args);
    else
        host::mmad(args);
    if (partial) [[unlikely]]
        partial->mark_results();
    else if (p.init)
        L0cExtent{p.l0c, p.m, p.n, blocks_of_16(p.m)}.each([&](uint32_t at, uint32_t bytes) { ai.l0c.valid.set(at, bytes); });
    if (p.unit_flag == 3) {
        // FIX sees the flags first, and what was put off when it moves.
        each_column_block(p, [&](uint32_t at, uint32_t bytes) { ai.unit_flags.assign(at, bytes, true); });
        core.advance(Pipe::FIX);
    }
}
const uint16_t op_mmad = register_op("asc_mmad", mmad_effect, mmad_ready, true);
const uint16_t op_mmad_mx = register_op("asc_mmad_mx", mmad_effect, mmad_ready, true);

bool pairs(ElementType a, ElementType b) {
    if (a == b) return true;
    const auto ocp8 = [](ElementType t) { return t == ElementType::e4m3 || t == ElementType::e5m2; };
    return (ocp8(a) && ocp8(b)) || (is_fp4(a) && is_fp4(b));
}

}  // namespace

void set_mmad_direction(bool n_first) { this_core().registers[reg_mmad_n_first] = n_first; }

void enable_hf32(bool enabled) {
    uint64_t& mode = this_core().registers[reg_hf32];
    mode = (mode & ~uint64_t{1}) | uint64_t{enabled};
}

void set_hf32_rounding(bool away) {
    uint64_t& mode = this_core().registers[reg_hf32];
    mode = (mode & ~uint64_t{2}) | uint64_t{away} << 1;
}

void mmad(const Mmad& mmad, const void* pc) {
    const Issue issue{this_core(), mmad.mx ? "asc_mmad_mx" : "asc_mmad", Pipe::M, pc};
    issue.on(CoreKind::aic);
    issue.field("m", mmad.m, 0, 4095);
    issue.field("k", mmad.k, 0, 4095);
    issue.field("n", mmad.n, 0, 4095);
    if (mmad.unit_flag != 0 && mmad.unit_flag != 2 && mmad.unit_flag != 3)
        issue.fail(format("unit flag %d; accepted are 0 off, 2 wait, 3 wait and flip", mmad.unit_flag));
    if (mmad.m == 0 || mmad.n == 0 || mmad.k == 0) return;
    if (!pairs(mmad.a_type, mmad.b_type))
        issue.fail(format("operands %s x %s; the cube multiplies equal types, e4m3 with e5m2 and e2m1 with e1m2",
                          element_name(mmad.a_type), element_name(mmad.b_type)));
    const bool small = is_fp4(mmad.a_type) || mmad.a_type == ElementType::e4m3 || mmad.a_type == ElementType::e5m2;
    if (mmad.mx && !small)
        issue.fail(format("operands %s; block scales go with e4m3, e5m2, e2m1 and e1m2", element_name(mmad.a_type)));
    if (!mmad.mx && is_fp4(mmad.a_type)) issue.fail("4-bit operands need block scales: asc_mmad_mx");
    if (mmad.mx && mmad.k % 64)
        issue.fail(format("k = %lld; with block scales k is a multiple of 64", static_cast<long long>(mmad.k)));
    const int k0 = elements_per_unit(mmad.a_type);
    const int64_t m1 = (mmad.m + 15) / 16, n1 = (mmad.n + 15) / 16, k1 = (mmad.k + k0 - 1) / k0;
    const int operand_alignment = mmad.mx && element_bits(mmad.a_type) == 8 ? 1024 : 512;
    AiCore& ai = issue.core.ai;
    issue.local(ai.l0a, "left operand", mmad.l0a, m1 * k1 * kFractalBytes, operand_alignment);
    issue.local(ai.l0b, "right operand", mmad.l0b, n1 * k1 * kFractalBytes, operand_alignment);
    issue.local(ai.l0c, "destination", mmad.l0c, m1 * n1 * 1024, mmad.mx ? 1024 : 64);
    if (mmad.bias) issue.local(ai.bt, "bias", mmad.bias_address, n1 * 64, 64);
    Record record{};
    record.op = mmad.mx ? op_mmad_mx : op_mmad;
    record.pipe = Pipe::M;
    record.path = Path::cube;
    const bool hf32 = mmad.a_type == ElementType::f32 && issue.core.registers[reg_hf32] & 1;
    record.type = hf32 ? ElementType::hf32 : mmad.a_type;
    record.amount = static_cast<uint32_t>(m1 * n1 * k1);
    MmadPayload& p = record.mmad;
    p.l0a = static_cast<uint32_t>(mmad.l0a);
    p.l0b = static_cast<uint32_t>(mmad.l0b);
    p.l0c = static_cast<uint32_t>(mmad.l0c);
    p.bias = static_cast<uint32_t>(mmad.bias_address);
    p.m = static_cast<uint16_t>(mmad.m);
    p.n = static_cast<uint16_t>(mmad.n);
    p.k = static_cast<uint16_t>(mmad.k);
    p.b_type = hf32 ? ElementType::hf32 : mmad.b_type;
    p.unit_flag = static_cast<uint8_t>(mmad.unit_flag);
    p.init = mmad.init;
    p.has_bias = mmad.bias;
    p.mx = mmad.mx;
    p.gemv_off = mmad.gemv_off;
    p.n_first = issue.core.registers[reg_mmad_n_first] != 0;
    p.hf32_away = issue.core.registers[reg_hf32] >> 1 & 1;
    p.a_scale = p.l0a / 16;
    p.b_scale = p.l0b / 16;
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
