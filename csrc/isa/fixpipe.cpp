// SPDX-License-Identifier: MIT
// FIX: results out of L0C, converted on the way (ascend950.md 2.2, 4.4).
#include "isa/fixpipe.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "chip/launch.h"
#include "formats/bf16.h"
#include "formats/f16.h"
#include "host/copy.h"
#include "isa/dma.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

enum Quant : uint8_t { quant_none = 0, quant_f16 = 1, quant_bf16 = 16 };

int element_bytes(uint8_t quant) { return quant == quant_none ? 4 : 2; }

// f(offset, bytes) for every contiguous piece of L0C that is read: all m rows of each block of 16 columns.
template <class F>
void each_source(const FixPayload& p, F f) {
    for (int n1 = 0; n1 * 16 < p.n; ++n1)
        f(p.l0c + static_cast<uint32_t>(n1) * p.src_stride * 64, static_cast<uint32_t>(p.m) * 64);
}

bool fix_ready(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    if (!(p.unit_flag & 2)) return true;
    bool ready = true;
    each_source(p, [&](uint32_t at, uint32_t bytes) { ready &= core.ai.unit_flags.all_equal(at, bytes, true); });
    return ready;
}

void check_source(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    for (int n1 = 0; n1 * 16 < p.n; ++n1) {
        const int columns = std::min(16, p.n - n1 * 16);
        const uint32_t block = p.l0c + static_cast<uint32_t>(n1) * p.src_stride * 64;
        int64_t at = -1;
        if (columns == 16) {
            at = core.ai.l0c.valid.first_undefined(block, static_cast<uint32_t>(p.m) * 64);
        } else {
            for (uint32_t row = 0; row < p.m && at < 0; ++row)
                at = core.ai.l0c.valid.first_undefined(block + row * 64, static_cast<uint32_t>(columns) * 4);
        }
        if (at >= 0)
            core.fail(record, format("source: L0C address 0x%llx holds undefined data", static_cast<long long>(at)));
    }
}

void release(Core& core, const FixPayload& p) {
    if (p.unit_flag != 3) return;
    each_source(p, [&](uint32_t at, uint32_t bytes) { core.ai.unit_flags.assign(at, bytes, false); });
    core.advance(Pipe::M);
}

// Rows [first, first + rows) and columns [column, column + columns) of the source, row-major at `to`.
void convert(Core& core, const Record& record, int first, int rows, int column, int columns, uint8_t* to,
             int64_t row_stride) {
    const FixPayload& p = record.fix;
    host::Nz2NdArgs args{};
    args.src = reinterpret_cast<const float*>(core.ai.l0c.at(p.l0c)) + first * 16 + column / 16 * p.src_stride * 16;
    args.column_block_stride = int64_t{p.src_stride} * 16;
    args.m = rows;
    args.n = columns;
    args.relu = p.relu != 0;
    switch (record.quant) {
        case quant_f16: host::nz2nd_f16(to, row_stride, args); break;
        case quant_bf16: host::nz2nd_bf16(to, row_stride, args); break;
        default: host::nz2nd_f32(to, row_stride, args);
    }
}

// NZ to NZ: blocks of 16 columns stay blocks; dst_stride counts 32-byte units between them.
void convert_nz(Core& core, const Record& record, uint8_t* to, int64_t block_stride_bytes) {
    const FixPayload& p = record.fix;
    const int bytes = element_bytes(record.quant);
    for (int n1 = 0; n1 * 16 < p.n; ++n1)
        convert(core, record, 0, p.m, n1 * 16, std::min(16, p.n - n1 * 16), to + n1 * block_stride_bytes, 16 * bytes);
}

void l0c2ub_effect(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    AiCore& ai = core.ai;
    check_source(core, record);
    const int64_t row_stride = p.gm.row_stride;
    const auto store = [&](Memory& ub, int first, int rows, int column, int columns) {
        if (rows <= 0 || columns <= 0) return;
        convert(core, record, first, rows, column, columns, ub.at(p.local), row_stride);
        for (int row = 0; row < rows; ++row)
            ub.valid.set(p.local + static_cast<uint32_t>(row * row_stride),
                         static_cast<uint32_t>(columns * element_bytes(record.quant)));
    };
    if (!p.nz2nd) {
        Memory& ub = ai.ub[p.sub_block];
        convert_nz(core, record, ub.at(p.local), row_stride);
        const int blocks = (p.n + 15) / 16;
        for (int n1 = 0; n1 < blocks; ++n1)
            ub.valid.set(p.local + static_cast<uint32_t>(n1 * row_stride),
                         static_cast<uint32_t>(p.m * 16 * element_bytes(record.quant)));
    } else if (p.dual == 1) {  // upper half of the rows to vector core 0, lower half to vector core 1
        store(ai.ub[0], 0, p.m / 2, 0, p.n);
        store(ai.ub[1], p.m / 2, p.m / 2, 0, p.n);
    } else if (p.dual == 2) {
        store(ai.ub[0], 0, p.m, 0, p.n / 2);
        store(ai.ub[1], 0, p.m, p.n / 2, p.n / 2);
    } else {
        store(ai.ub[p.sub_block], 0, p.m, 0, p.n);
    }
    release(core, p);
}
const uint16_t op_l0c2ub = register_op("asc_copy_l0c2ub", l0c2ub_effect, fix_ready);

void l0c2gm_effect(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    check_source(core, record);
    const int kind = static_cast<int>(p.local);  // armed store atomic
    auto* gm = reinterpret_cast<uint8_t*>(p.gm.address);
    if (kind == 0 && p.nz2nd) {
        convert(core, record, 0, p.m, 0, p.n, gm, p.gm.row_stride);
    } else if (kind == 0) {
        convert_nz(core, record, gm, p.gm.row_stride);
    } else {
        const int row_bytes = p.n * element_bytes(record.quant);
        static thread_local std::vector<uint8_t> rows;
        rows.resize(static_cast<size_t>(row_bytes) * p.m);
        convert(core, record, 0, p.m, 0, p.n, rows.data(), row_bytes);
        for (int row = 0; row < p.m; ++row)
            store_row(core, p.gm.address + static_cast<uint64_t>(row * p.gm.row_stride),
                      rows.data() + static_cast<size_t>(row) * row_bytes, static_cast<uint32_t>(row_bytes), kind);
    }
    release(core, p);
}
const uint16_t op_l0c2gm = register_op("asc_copy_l0c2gm", l0c2gm_effect, fix_ready);

void l0c2l1_effect(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    check_source(core, record);
    convert_nz(core, record, core.ai.l1.at(p.local), p.gm.row_stride);
    for (int n1 = 0; n1 * 16 < p.n; ++n1)
        core.ai.l1.valid.set(p.local + static_cast<uint32_t>(n1 * p.gm.row_stride),
                             static_cast<uint32_t>(p.m * 16 * element_bytes(record.quant)));
    release(core, p);
}
const uint16_t op_l0c2l1 = register_op("asc_copy_l0c2l1", l0c2l1_effect, fix_ready);

}  // namespace

void set_l0c_copy_nz_para(int64_t count, int64_t src_stride, int64_t dst_stride) {
    uint64_t* registers = this_core().registers;
    registers[reg_fix_count] = static_cast<uint64_t>(count);
    registers[reg_fix_src_stride] = static_cast<uint64_t>(src_stride);
    registers[reg_fix_dst_stride] = static_cast<uint64_t>(dst_stride);
}

void copy_l0c(const Fix& fix, const void* pc) {
    static const char* const names[] = {"asc_copy_l0c2ub", "asc_copy_l0c2gm", "asc_copy_l0c2l1"};
    const Issue issue{this_core(), names[static_cast<int>(fix.to)], Pipe::FIX, pc};
    issue.on(CoreKind::aic);
    issue.field("n", fix.n, 0, 4095);
    issue.field("m", fix.m, 0, 8191);
    issue.field("src_stride", fix.src_stride, 0, 65535);
    issue.field("sub_block", fix.sub_block, 0, 1);
    issue.field("dual destination", fix.dual, 0, 2);
    if (fix.unit_flag != 0 && fix.unit_flag != 2 && fix.unit_flag != 3)
        issue.fail(format("unit flag %d; accepted are 0 off, 2 wait, 3 wait and flip", fix.unit_flag));
    if (fix.quant != quant_none && fix.quant != quant_f16 && fix.quant != quant_bf16)
        issue.fail(format("quant mode %d; available are 0 none, 1 fp32 to fp16, 16 fp32 to bf16", fix.quant));
    if (fix.relu != 0 && fix.relu != 1) issue.fail(format("relu mode %d; available are 0 none, 1 relu", fix.relu));
    if (fix.nz2dn) issue.fail("NZ2DN is known but not implemented");
    if (issue.core.registers[reg_fix_count] > 1) issue.fail("more than one matrix is known but not implemented");
    if (fix.m == 0 || fix.n == 0) return;
    if (fix.dual && (fix.quant != quant_none || fix.relu))
        issue.fail("a dual destination allows neither conversion nor ReLU");
    if (fix.dual == 1 && fix.m % 2) issue.fail(format("m = %lld; splitting rows needs an even m", (long long)fix.m));
    if (fix.dual == 2 && fix.n % 32)
        issue.fail(format("n = %lld; splitting columns needs a multiple of 32", (long long)fix.n));
    AiCore& ai = issue.core.ai;
    const int64_t blocks = (fix.n + 15) / 16;
    issue.local(ai.l0c, "source", fix.l0c, ((blocks - 1) * fix.src_stride + fix.m) * 64, 64);
    const int bytes = fix.quant == quant_none ? 4 : 2;
    const int64_t row_stride = fix.nz2nd ? fix.dst_stride * bytes : fix.dst_stride * 32;
    const int64_t live_n = fix.dual == 2 ? fix.n / 2 : fix.n, live_m = fix.dual == 1 ? fix.m / 2 : fix.m;
    const int64_t span = fix.nz2nd ? (live_m - 1) * row_stride + live_n * bytes
                                   : (blocks - 1) * row_stride + fix.m * 16 * bytes;
    Record record{};
    record.pipe = Pipe::FIX;
    record.amount = static_cast<uint32_t>(fix.m * fix.n * bytes);
    FixPayload& p = record.fix;
    p.gm.row_stride = row_stride;
    p.l0c = static_cast<uint32_t>(fix.l0c);
    p.m = static_cast<uint16_t>(fix.m);
    p.n = static_cast<uint16_t>(fix.n);
    p.src_stride = static_cast<uint16_t>(fix.src_stride);
    record.quant = static_cast<uint8_t>(fix.quant);
    p.relu = static_cast<uint8_t>(fix.relu & 3);
    p.nz2nd = fix.nz2nd;
    p.sub_block = fix.sub_block != 0;
    p.dual = static_cast<uint8_t>(fix.dual & 3);
    p.unit_flag = static_cast<uint8_t>(fix.unit_flag & 3);
    p.l2_hint = static_cast<uint8_t>(fix.l2_mode & 15);
    switch (fix.to) {
        case FixTo::ub: {
            record.op = op_l0c2ub;
            record.path = fix.dual ? Path::l0c_to_ub_dual : Path::l0c_to_ub;
            const int64_t offset = static_cast<const uint8_t*>(fix.destination) - ub_base();
            for (Memory& ub : ai.ub) issue.local(ub, "destination", offset, span, kUnitBytes);
            p.local = static_cast<uint32_t>(offset);
            break;
        }
        case FixTo::gm: {
            record.op = op_l0c2gm;
            record.path = Path::l0c_to_gm;
            p.gm.address = reinterpret_cast<uint64_t>(fix.destination);
            p.gm.rows = static_cast<uint32_t>(fix.nz2nd ? fix.m : blocks);
            p.gm.row_bytes = static_cast<uint32_t>(fix.nz2nd ? fix.n * bytes : fix.m * 16 * bytes);
            issue.global("destination", p.gm, 1);
            p.local = static_cast<uint32_t>(issue.core.registers[reg_atomic]);
            p.accumulates = p.local != 0;
            if (p.accumulates && !fix.nz2nd) issue.fail("atomic stores of NZ results are known but not implemented");
            break;
        }
        case FixTo::l1:
            record.op = op_l0c2l1;
            record.path = Path::l0c_to_l1;
            if (fix.nz2nd) issue.fail("results go to L1 in NZ order only");
            issue.local(ai.l1, "destination", offset_of(fix.destination), span, kUnitBytes);
            p.local = static_cast<uint32_t>(offset_of(fix.destination));
            break;
    }
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
