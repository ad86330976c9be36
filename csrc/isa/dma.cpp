// SPDX-License-Identifier: MIT
// MTE2 and MTE3: transfers between global memory, L1 and UB (ascend950.md 2.2 and 6; tilelang_ascend.md 5).
// Each instruction: the rules it checks, then its record (path, amount); its effect stands just above it.
#include "isa/dma.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "chip/launch.h"
#include "chip/races.h"
#include "formats/bf16.h"
#include "formats/f16.h"
#include "host/copy.h"
#include "isa/cube_queue.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

Record gm_record(uint16_t op, Pipe pipe, Path path, const GmFootprint& gm, int64_t local, uint32_t amount) {
    Record record{};
    record.op = op;
    record.pipe = pipe;
    record.path = path;
    record.amount = amount;
    record.gm.gm = gm;
    record.gm.local = static_cast<uint32_t>(local);
    record.gm.outer = 1;
    return record;
}

const uint8_t* host(uint64_t address) { return reinterpret_cast<const uint8_t*>(address); }

// ---- MTE2: row-major to fractal -------------------------------------------------------------------------------------

// rows x units of 32 bytes are written at (u * c0_stride + r * n_stride): mark them defined.
void define_units(Core& core, const Record& record, uint32_t base, int rows, int units, int n_stride, int c0_stride) {
    Memory& l1 = core.ai.l1;
    for (int unit = 0; unit < units; ++unit) {
        const uint32_t begin = base + static_cast<uint32_t>(unit * c0_stride) * kUnitBytes;
        writes(core, record, l1, {begin, kUnitBytes, static_cast<uint32_t>(rows), static_cast<uint32_t>(n_stride) * kUnitBytes});
        if (n_stride == 1) {
            l1.valid.set(begin, static_cast<uint32_t>(rows) * kUnitBytes);
            continue;
        }
        for (int row = 0; row < rows; ++row)
            l1.valid.set(begin + static_cast<uint32_t>(row * n_stride) * kUnitBytes, kUnitBytes);
    }
}

void nd2nz_effect(Core& core, const Record& record) {
    const GmPayload& p = record.gm;
    Memory& l1 = core.ai.l1;
    const int units = static_cast<int>((p.gm.row_bytes + kUnitBytes - 1) / kUnitBytes);
    for (int matrix = 0; matrix < p.outer; ++matrix) {
        const uint32_t base = p.local + static_cast<uint32_t>(matrix) * p.nz_stride * kUnitBytes;
        define_units(core, record, base, static_cast<int>(p.gm.rows), units, p.n_stride, p.c0_stride);
        if (CubeQueue* queue = CubeQueue::of(core.ai))
            if (queue->load_l1(record, base, host(p.gm.address) + matrix * p.gm.outer_stride)) continue;
        host::nd2nz(l1.at(base), host(p.gm.address) + matrix * p.gm.outer_stride, static_cast<int>(p.gm.rows),
                    static_cast<int>(p.gm.row_bytes), p.gm.row_stride, p.n_stride, p.c0_stride);
    }
}
const uint16_t op_nd2nz = register_op("asc_copy_gm2l1_nd2nz", nd2nz_effect, nullptr, true);

void dn2nz_effect(Core& core, const Record& record) {
    const GmPayload& p = record.gm;  // a footprint row is a column of the matrix
    Memory& l1 = core.ai.l1;
    const int bytes = p.element_bytes, rows = static_cast<int>(p.gm.row_bytes) / bytes;
    const int columns = static_cast<int>(p.gm.rows);
    const int units = (columns * bytes + static_cast<int>(kUnitBytes) - 1) / static_cast<int>(kUnitBytes);
    for (int matrix = 0; matrix < p.outer; ++matrix) {
        const uint32_t base = p.local + static_cast<uint32_t>(matrix) * p.nz_stride * kUnitBytes;
        define_units(core, record, base, rows, units, p.n_stride, p.c0_stride);
        host::dn2nz(l1.at(base), host(p.gm.address) + matrix * p.gm.outer_stride, rows, columns, bytes, p.gm.row_stride,
                    p.n_stride, p.c0_stride);
    }
}
const uint16_t op_dn2nz = register_op("asc_copy_gm2l1_dn2nz", dn2nz_effect);

struct NzParameters {
    int64_t count, n_stride, c0_stride, matrix_stride;
};

NzParameters nz_parameters(const Issue& issue) {
    const uint64_t* registers = issue.core.registers;
    const NzParameters nz{static_cast<int64_t>(registers[reg_nz_count]),
                          static_cast<int64_t>(registers[reg_nz_n_stride]),
                          static_cast<int64_t>(registers[reg_nz_c0_stride]),
                          static_cast<int64_t>(registers[reg_nz_matrix_stride])};
    if (nz.n_stride == 0) issue.fail("no destination strides: call asc_set_gm2l1_nz_para first");
    return nz;
}

// Bytes of L1 from the first to the last unit written.
int64_t nz_span(const NzParameters& nz, int64_t rows, int64_t units) {
    return ((nz.count - 1) * nz.matrix_stride + (units - 1) * nz.c0_stride + (rows - 1) * nz.n_stride + 1) * kUnitBytes;
}

}  // namespace

void set_gm2l1_nz_para(int64_t count, int64_t n_stride, int64_t c0_stride, int64_t matrix_stride, const void* pc) {
    const Issue issue{this_core(), "asc_set_gm2l1_nz_para", Pipe::S, pc};
    issue.field("count", count, 0, 4095);
    issue.field("n_stride", n_stride, 1, 16384);
    issue.field("c0_stride", c0_stride, 1, 16384);
    issue.field("matrix_stride", matrix_stride, 0, 16384);
    uint64_t* registers = issue.core.registers;
    registers[reg_nz_count] = static_cast<uint64_t>(count);
    registers[reg_nz_n_stride] = static_cast<uint64_t>(n_stride);
    registers[reg_nz_c0_stride] = static_cast<uint64_t>(c0_stride);
    registers[reg_nz_matrix_stride] = static_cast<uint64_t>(matrix_stride);
}

void copy_gm2l1_nd2nz(const void* l1, const void* gm, int element_bits, bool is_bf16, int64_t row_stride_bytes, int l2_mode,
                      int64_t rows, int64_t columns, int64_t outer_stride_bytes, const void* pc) {
    const Issue issue{this_core(), "asc_copy_gm2l1_nd2nz", Pipe::MTE2, pc};
    issue.on(CoreKind::aic);
    issue.field("rows", rows, 0, 16384);
    issue.field("columns", columns, 0, 65535);
    issue.field("l2 mode", l2_mode, 0, 15);
    const NzParameters nz = nz_parameters(issue);
    const int64_t row_bytes = (columns * element_bits + 7) / 8;
    if (rows == 0 || row_bytes == 0 || nz.count == 0) return;  // no-op
    if (rows > 1) issue.field("row stride", row_stride_bytes, 1, int64_t{65535} * 8);
    const GmFootprint footprint{reinterpret_cast<uint64_t>(gm), row_stride_bytes, outer_stride_bytes,
                                static_cast<uint32_t>(row_bytes), static_cast<uint32_t>(rows)};
    issue.global("source", footprint, static_cast<uint32_t>(nz.count));
    const int64_t units = (row_bytes + kUnitBytes - 1) / kUnitBytes;
    issue.local(issue.core.ai.l1, "destination", offset_of(l1), nz_span(nz, rows, units), kUnitBytes);
    Record record = gm_record(op_nd2nz, Pipe::MTE2, Path::gm_to_l1, footprint, offset_of(l1),
                              static_cast<uint32_t>(nz.count * rows * row_bytes));
    record.gm.outer = static_cast<uint16_t>(nz.count);
    record.gm.n_stride = static_cast<uint16_t>(nz.n_stride);
    record.gm.c0_stride = static_cast<uint16_t>(nz.c0_stride);
    record.gm.nz_stride = static_cast<uint16_t>(nz.matrix_stride);
    record.gm.l2_hint = static_cast<uint8_t>(l2_mode);
    record.gm.is_bf16 = is_bf16;
    issue.core.issue(record, pc);
}

void copy_gm2l1_dn2nz(const void* l1, const void* gm, int element_bits, int64_t column_stride_bytes, int l2_mode,
                      int64_t rows, int64_t columns, int64_t outer_stride_bytes, const void* pc) {
    const Issue issue{this_core(), "asc_copy_gm2l1_dn2nz", Pipe::MTE2, pc};
    issue.on(CoreKind::aic);
    issue.field("rows", rows, 0, 16384);
    issue.field("columns", columns, 0, (1 << 21) - 1);
    issue.field("l2 mode", l2_mode, 0, 15);
    if (element_bits < 8) issue.fail("4-bit elements cannot be transposed by this transfer");
    const NzParameters nz = nz_parameters(issue);
    if (rows == 0 || columns == 0 || nz.count == 0) return;
    const int bytes = element_bits / 8;
    const GmFootprint footprint{reinterpret_cast<uint64_t>(gm), column_stride_bytes, outer_stride_bytes,
                                static_cast<uint32_t>(rows * bytes), static_cast<uint32_t>(columns)};
    issue.global("source", footprint, static_cast<uint32_t>(nz.count));
    const int64_t units = (columns * bytes + kUnitBytes - 1) / kUnitBytes;
    issue.local(issue.core.ai.l1, "destination", offset_of(l1), nz_span(nz, rows, units), kUnitBytes);
    Record record = gm_record(op_dn2nz, Pipe::MTE2, Path::gm_to_l1, footprint, offset_of(l1),
                              static_cast<uint32_t>(nz.count * rows * columns * bytes));
    record.gm.outer = static_cast<uint16_t>(nz.count);
    record.gm.n_stride = static_cast<uint16_t>(nz.n_stride);
    record.gm.c0_stride = static_cast<uint16_t>(nz.c0_stride);
    record.gm.nz_stride = static_cast<uint16_t>(nz.matrix_stride);
    record.gm.l2_hint = static_cast<uint8_t>(l2_mode);
    record.gm.element_bytes = static_cast<uint8_t>(bytes & 63);
    issue.core.issue(record, pc);
}

// ---- MTE2: as it is -------------------------------------------------------------------------------------------------

namespace {

void gm2l1_effect(Core& core, const Record& record) {
    const GmPayload& p = record.gm;
    Memory& l1 = core.ai.l1;
    writes(core, record, l1, {p.local, p.gm.row_bytes, p.gm.rows, p.n_stride * kUnitBytes});
    for (uint32_t row = 0; row < p.gm.rows; ++row) {
        const uint32_t at = p.local + row * p.n_stride * kUnitBytes;
        std::memcpy(l1.at(at), host(p.gm.address) + row * p.gm.row_stride, p.gm.row_bytes);
        l1.valid.set(at, p.gm.row_bytes);
    }
}
const uint16_t op_gm2l1 = register_op("asc_copy_gm2l1", gm2l1_effect);

}  // namespace

void copy_gm2l1(const void* l1, const void* gm, int64_t rows, int64_t row_bytes, int l2_mode, int64_t src_stride,
                int64_t dst_stride, const void* pc) {
    const Issue issue{this_core(), "asc_copy_gm2l1", Pipe::MTE2, pc};
    issue.on(CoreKind::aic);
    issue.field("n", rows, 0, 4095);
    issue.field("len", row_bytes, 0, 2097151);
    issue.field("l2 mode", l2_mode, 0, 15);
    if (rows == 0 || row_bytes == 0) return;
    if (rows > 1 && dst_stride % kUnitBytes)
        issue.fail(format("destination stride %lld is not a multiple of 32 bytes", static_cast<long long>(dst_stride)));
    if (rows > 1) issue.field("dst_stride", dst_stride, 0, kL1Bytes);
    const GmFootprint footprint{reinterpret_cast<uint64_t>(gm), src_stride, 0, static_cast<uint32_t>(row_bytes),
                                static_cast<uint32_t>(rows)};
    issue.global("source", footprint, 1);
    issue.local(issue.core.ai.l1, "destination", offset_of(l1), (rows - 1) * dst_stride + row_bytes, kUnitBytes);
    Record record = gm_record(op_gm2l1, Pipe::MTE2, Path::gm_to_l1, footprint, offset_of(l1),
                              static_cast<uint32_t>(rows * row_bytes));
    record.gm.n_stride = static_cast<uint16_t>(rows > 1 ? dst_stride / kUnitBytes : 0);
    record.gm.l2_hint = static_cast<uint8_t>(l2_mode);
    issue.core.issue(record, pc);
}

// ---- MTE2: fill L1 --------------------------------------------------------------------------------------------------

namespace {

void fill_l1_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& l1 = core.ai.l1;
    const uint32_t step = (uint32_t{p.inner_steps} + p.dst_stride) * kUnitBytes, span = p.outer_steps * step;
    writes(core, record, l1, {p.dst, p.inner_steps * kUnitBytes, p.outer_steps, step});
    if (CubeQueue* queue = CubeQueue::of(core.ai)) queue->before_write_l1(p.dst, p.dst + span, false);
    for (uint32_t repeat = 0; repeat < p.outer_steps; ++repeat) {
        const uint32_t begin = p.dst + repeat * step;
        for (uint32_t at = 0; at < uint32_t{p.inner_steps} * kUnitBytes; at += 4)
            std::memcpy(l1.at(begin + at), &p.word, 4);
        l1.valid.set(begin, uint32_t{p.inner_steps} * kUnitBytes);
    }
}
const uint16_t op_fill_l1 = register_op("asc_fill_l1", fill_l1_effect, nullptr, true);

}  // namespace

void fill_l1(const void* l1, uint32_t word, int element_bytes, uint64_t repeat, uint64_t blocks, uint64_t gap,
             const void* pc) {
    const Issue issue{this_core(), "asc_fill_l1", Pipe::MTE2, pc};
    issue.on(CoreKind::aic);
    issue.field("repeat", static_cast<int64_t>(repeat), 0, 32767);
    issue.field("blk_num", static_cast<int64_t>(blocks), 0, 32767);
    issue.field("dst_gap", static_cast<int64_t>(gap), 0, 32767);
    if (repeat == 0 || blocks == 0) return;
    const int64_t span = static_cast<int64_t>((repeat - 1) * (blocks + gap) + blocks) * kUnitBytes;
    issue.local(issue.core.ai.l1, "destination", offset_of(l1), span, kUnitBytes);
    Record record{};
    record.op = op_fill_l1;
    record.pipe = Pipe::MTE2;
    record.path = Path::fill_l1;
    record.amount = static_cast<uint32_t>(repeat * blocks * kUnitBytes);
    record.move.dst = static_cast<uint32_t>(offset_of(l1));
    record.move.outer_steps = static_cast<uint16_t>(repeat);
    record.move.inner_steps = static_cast<uint16_t>(blocks);
    record.move.dst_stride = static_cast<uint16_t>(gap);
    record.move.word = element_bytes == 2 ? (word & 0xffff) * 0x10001u : word;
    issue.core.issue(record, pc);
}

// ---- MTE2: global memory to UB --------------------------------------------------------------------------------------

namespace {

// A UB transfer has one matrix: its outer stride carries the pads, and the pad value as it was when S issued it.
int64_t pack_pads(int left, int right, int element_bytes, bool constant, uint32_t value) {
    const uint64_t pads = static_cast<uint64_t>(left | right << 8 | element_bytes << 16 | int{constant} << 24);
    return static_cast<int64_t>(pads | uint64_t{value} << 32);
}

void gm2ub_effect(Core& core, const Record& record) {
    const GmPayload& p = record.gm;
    Memory& ub = core.ai.ub_of(core);
    const uint32_t pads = static_cast<uint32_t>(p.gm.outer_stride);
    const uint32_t dst_stride = uint32_t{p.n_stride} | uint32_t{p.c0_stride} << 16;
    const uint32_t element = pads >> 16 & 0xff;
    const uint32_t left = (pads & 0xff) * element, right = (pads >> 8 & 0xff) * element;
    const auto value = static_cast<uint32_t>(static_cast<uint64_t>(p.gm.outer_stride) >> 32);
    writes(core, record, ub, {p.local, left + p.gm.row_bytes + right, p.gm.rows, dst_stride});
    for (uint32_t row = 0; row < p.gm.rows; ++row) {
        const uint8_t* source = host(p.gm.address) + row * p.gm.row_stride;
        uint8_t* target = ub.at(p.local + row * dst_stride);
        std::memcpy(target + left, source, p.gm.row_bytes);
        const void* pad = pads >> 24 ? static_cast<const void*>(&value) : source;
        for (uint32_t at = 0; at < left; at += element) std::memcpy(target + at, pad, element);
        for (uint32_t at = 0; at < right; at += element)
            std::memcpy(target + left + p.gm.row_bytes + at, pad, element);
        ub.valid.set(p.local + row * dst_stride, left + p.gm.row_bytes + right);
    }
}
const uint16_t op_gm2ub = register_op("asc_copy_gm2ub_align", gm2ub_effect);

}  // namespace

void set_copy_pad_val(uint32_t value) { this_core().registers[reg_pad_value] = value; }

void copy_gm2ub(const void* ub, const void* gm, int element_bytes, int64_t rows, int64_t row_bytes, int64_t left_pad,
                int64_t right_pad, bool constant_pad, int l2_mode, int64_t src_stride, int64_t dst_stride,
                const void* pc) {
    const Issue issue{this_core(), "asc_copy_gm2ub_align", Pipe::MTE2, pc};
    issue.on(CoreKind::aiv0);
    issue.field("n", rows, 0, 4095);
    issue.field("len", row_bytes, 0, 2097151);
    issue.field("left pad", left_pad * element_bytes, 0, 32);
    issue.field("right pad", right_pad * element_bytes, 0, 32);
    issue.field("l2 mode", l2_mode, 0, 15);
    if (rows == 0 || row_bytes == 0) return;
    if (!constant_pad && (left_pad || right_pad) && row_bytes < element_bytes)
        issue.fail(format("len = %lld; pads repeat the first element of a row, which has %d bytes", static_cast<long long>(row_bytes),
                          element_bytes));
    if (rows > 1) issue.field("destination stride", dst_stride, 0, kUbBytes);
    // Rows that follow each other without a gap are the compact form, which has no pads.
    if (rows > 1 && dst_stride % kUnitBytes && (dst_stride != row_bytes || left_pad || right_pad))
        issue.fail(format("destination stride %lld is not a multiple of 32 bytes, nor the row's length", static_cast<long long>(dst_stride)));
    const GmFootprint footprint{reinterpret_cast<uint64_t>(gm), src_stride, 0, static_cast<uint32_t>(row_bytes),
                                static_cast<uint32_t>(rows)};
    issue.global("source", footprint, 1);
    Memory& memory = issue.core.ai.ub_of(issue.core);
    const int64_t offset = static_cast<const uint8_t*>(ub) - memory.at(0);
    const int64_t span = (rows - 1) * dst_stride + row_bytes + (left_pad + right_pad) * element_bytes;
    issue.local(memory, "destination", offset, span, kUnitBytes);
    Record record = gm_record(op_gm2ub, Pipe::MTE2, Path::gm_to_ub, footprint, offset,
                              static_cast<uint32_t>(rows * row_bytes));
    record.gm.gm.outer_stride =
        pack_pads(static_cast<int>(left_pad), static_cast<int>(right_pad), element_bytes, constant_pad,
                  static_cast<uint32_t>(issue.core.registers[reg_pad_value]));
    record.gm.n_stride = static_cast<uint16_t>(dst_stride);
    record.gm.c0_stride = static_cast<uint16_t>(static_cast<uint32_t>(dst_stride) >> 16);
    record.gm.l2_hint = static_cast<uint8_t>(l2_mode);
    issue.core.issue(record, pc);
}

// ---- MTE3 -----------------------------------------------------------------------------------------------------------

void set_atomic(int kind) { this_core().registers[reg_atomic] = static_cast<uint64_t>(kind); }

namespace {

template <class T, class Combine>
void apply_each(uint8_t* gm, const uint8_t* data, uint32_t bytes, Combine combine) {
    for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
        T old, value;
        std::memcpy(&old, gm + at, sizeof(T));
        std::memcpy(&value, data + at, sizeof(T));
        value = combine(old, value);
        std::memcpy(gm + at, &value, sizeof(T));
    }
}

// Extremes as everywhere: NaN propagates, -0 orders below +0.
template <int operation>
float combine_float(float old, float value) {
    if constexpr (operation == 0) return old + value;
    if (value != value || old != old) return value != value ? value : old;
    if (old == value) return std::signbit(value) == (operation == 1) ? old : value;
    return (old > value) == (operation == 1) ? old : value;
}

template <class T, int operation>
void apply_number(uint8_t* gm, const uint8_t* data, uint32_t bytes) {
    apply_each<T>(gm, data, bytes, [](T old, T value) -> T {
        if constexpr (std::is_same_v<T, float>) return combine_float<operation>(old, value);
        if constexpr (operation == 0) return static_cast<T>(old + value);
        if constexpr (operation == 1) return std::max(old, value);
        return std::min(old, value);
    });
}

// 16-bit floats add in fp32 and round once, to nearest even.
template <int operation>
void apply_bf16(uint8_t* gm, const uint8_t* data, uint32_t bytes) {
    apply_each<uint16_t>(gm, data, bytes, [](uint16_t old, uint16_t value) {
        return f32_to_bf16(combine_float<operation>(bf16_to_f32(old), bf16_to_f32(value)));
    });
}
template <int operation>
void apply_f16(uint8_t* gm, const uint8_t* data, uint32_t bytes) {
    apply_each<uint16_t>(gm, data, bytes, [](uint16_t old, uint16_t value) {
        return f32_to_f16(combine_float<operation>(f16_to_f32(old), f16_to_f32(value)));
    });
}

using Apply = void (*)(uint8_t*, const uint8_t*, uint32_t);
// [operation add, max, min][type float, half, bfloat16, int8, int16, int32]
constexpr Apply kApply[3][6] = {
    {apply_number<float, 0>, apply_f16<0>, apply_bf16<0>, apply_number<int8_t, 0>, apply_number<int16_t, 0>,
     apply_number<int32_t, 0>},
    {apply_number<float, 1>, apply_f16<1>, apply_bf16<1>, apply_number<int8_t, 1>, apply_number<int16_t, 1>,
     apply_number<int32_t, 1>},
    {apply_number<float, 2>, apply_f16<2>, apply_bf16<2>, apply_number<int8_t, 2>, apply_number<int16_t, 2>,
     apply_number<int32_t, 2>},
};

}  // namespace

void store_row(Core& core, uint64_t gm, const uint8_t* data, uint32_t bytes, int atomic_kind) {
    auto* target = reinterpret_cast<uint8_t*>(gm);
    if (atomic_kind == 0) {
        std::memcpy(target, data, bytes);
        return;
    }
    const Apply apply = kApply[(atomic_kind - 1) / 6][(atomic_kind - 1) % 6];
    AiCore& ai = core.ai;
    if (!ai.launch->buffers_atomics()) {
        apply(target, data, bytes);
        return;
    }
    ai.atomics.push_back({apply, target, bytes, ai.atomic_data.size()});
    ai.atomic_data.insert(ai.atomic_data.end(), data, data + bytes);
}

namespace {

void ub2gm_effect(Core& core, const Record& record) {
    const GmPayload& p = record.gm;
    Memory& ub = core.ai.ub_of(core);
    const uint32_t src_stride = uint32_t{p.n_stride} | uint32_t{p.c0_stride} << 16;
    reads(core, record, ub, {p.local, p.gm.row_bytes, p.gm.rows, src_stride});
    if (ub.valid.byte_bits()) [[unlikely]]
        for (uint32_t row = 0; row < p.gm.rows; ++row)
            require_defined(core, record, ub, p.local + row * src_stride, p.gm.row_bytes);
    if (p.nz_stride == 0)
        return host::store_rows(reinterpret_cast<uint8_t*>(p.gm.address), p.gm.row_stride, ub.at(p.local), src_stride,
                                static_cast<int>(p.gm.rows), p.gm.row_bytes);
    for (uint32_t row = 0; row < p.gm.rows; ++row)
        store_row(core, p.gm.address + static_cast<uint64_t>(row * p.gm.row_stride), ub.at(p.local + row * src_stride),
                  p.gm.row_bytes, p.nz_stride);
}
const uint16_t op_ub2gm = register_op("asc_copy_ub2gm_align", ub2gm_effect);

// Under the memory check what is undefined in UB stays so in L1, as units: kernels compute whole tiles there, too, and store the rows that exist.
void follow_undefined(Core& core, const Record& record, const Memory& ub, uint32_t from, uint32_t to, uint32_t units) {
    const void* read_at = last_undefined_read(core);
    if (ub.valid.first_undefined_byte(from, units * kUnitBytes) < 0) return;
    for (uint32_t unit = 0; unit < units; ++unit) {
        const int64_t at = ub.valid.first_undefined_byte(from + unit * kUnitBytes, kUnitBytes);
        if (at < 0) continue;
        core.ai.l1.valid.undefine_granule(to + unit * kUnitBytes);
        core.ai.undefined_transfer = {ub.name(), static_cast<uint32_t>(at), record.site, read_at};
    }
}

void ub2l1_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& ub = core.ai.ub_of(core);
    Memory& l1 = core.ai.l1;
    const uint32_t bytes = p.inner_steps * kUnitBytes;
    reads(core, record, ub, {p.src, bytes, p.outer_steps, bytes + p.src_stride * kUnitBytes});
    writes(core, record, l1, {p.dst, bytes, p.outer_steps, bytes + p.dst_stride * kUnitBytes});
    if (CubeQueue* queue = CubeQueue::of(core.ai))
        queue->before_write_l1(p.dst, p.dst + p.outer_steps * (bytes + p.dst_stride * kUnitBytes), false);
    for (uint32_t burst = 0; burst < p.outer_steps; ++burst) {
        const uint32_t from = p.src + burst * (bytes + p.src_stride * kUnitBytes);
        const uint32_t to = p.dst + burst * (bytes + p.dst_stride * kUnitBytes);
        std::memcpy(l1.at(to), ub.at(from), bytes);
        l1.valid.set(to, bytes);
        if (ub.valid.byte_bits()) [[unlikely]] follow_undefined(core, record, ub, from, to, p.inner_steps);
    }
}
const uint16_t op_ub2l1 = register_op("asc_copy_ub2l1", ub2l1_effect, nullptr, true);

}  // namespace

void copy_ub2gm(const void* gm, const void* ub, int64_t rows, int64_t row_bytes, int l2_mode, int64_t dst_stride,
                int64_t src_stride, const void* pc) {
    const Issue issue{this_core(), "asc_copy_ub2gm_align", Pipe::MTE3, pc};
    issue.on(CoreKind::aiv0);
    issue.field("n", rows, 0, 4095);
    issue.field("len", row_bytes, 0, 2097151);
    issue.field("l2 mode", l2_mode, 0, 15);
    if (rows == 0 || row_bytes == 0) return;
    if (rows > 1) issue.field("source stride", src_stride, 0, kUbBytes);
    // Rows that follow each other without a gap are the compact form; TileLang emits it for rows shorter than a unit.
    if (rows > 1 && src_stride % kUnitBytes && src_stride != row_bytes)
        issue.fail(format("source stride %lld is not a multiple of 32 bytes, nor the row's length", static_cast<long long>(src_stride)));
    const GmFootprint footprint{reinterpret_cast<uint64_t>(gm), dst_stride, 0, static_cast<uint32_t>(row_bytes),
                                static_cast<uint32_t>(rows)};
    issue.global("destination", footprint, 1);
    Memory& memory = issue.core.ai.ub_of(issue.core);
    const int64_t offset = static_cast<const uint8_t*>(ub) - memory.at(0);
    issue.local(memory, "source", offset, (rows - 1) * src_stride + row_bytes, kUnitBytes);
    Record record = gm_record(op_ub2gm, Pipe::MTE3, Path::ub_to_gm, footprint, offset,
                              static_cast<uint32_t>(rows * row_bytes));
    record.gm.n_stride = static_cast<uint16_t>(src_stride);
    record.gm.c0_stride = static_cast<uint16_t>(static_cast<uint32_t>(src_stride) >> 16);
    record.gm.nz_stride = static_cast<uint16_t>(issue.core.registers[reg_atomic]);
    record.gm.l2_hint = static_cast<uint8_t>(l2_mode);
    record.gm.is_write = 1;
    record.gm.accumulates = issue.core.registers[reg_atomic] != 0;
    issue.core.issue(record, pc);
}

void copy_ub2l1(const void* l1, const void* ub, int64_t bursts, int64_t units, int64_t src_gap, int64_t dst_gap,
                const void* pc) {
    const Issue issue{this_core(), "asc_copy_ub2l1", Pipe::MTE3, pc};
    issue.on(CoreKind::aiv0);
    issue.field("n", bursts, 0, 4095);
    issue.field("len", units, 0, 65535);
    issue.field("src gap", src_gap, 0, 65535);
    issue.field("dst gap", dst_gap, 0, 65535);
    if (bursts == 0 || units == 0) return;
    Memory& memory = issue.core.ai.ub_of(issue.core);
    const int64_t offset = static_cast<const uint8_t*>(ub) - memory.at(0);
    const auto span = [&](int64_t gap) { return ((bursts - 1) * (units + gap) + units) * kUnitBytes; };
    issue.local(memory, "source", offset, span(src_gap), kUnitBytes);
    issue.local(issue.core.ai.l1, "destination", offset_of(l1), span(dst_gap), kUnitBytes);
    Record record{};
    record.op = op_ub2l1;
    record.pipe = Pipe::MTE3;
    record.path = Path::ub_to_l1;
    record.amount = static_cast<uint32_t>(bursts * units * kUnitBytes);
    record.move.src = static_cast<uint32_t>(offset);
    record.move.dst = static_cast<uint32_t>(offset_of(l1));
    record.move.outer_steps = static_cast<uint16_t>(bursts);
    record.move.inner_steps = static_cast<uint16_t>(units);
    record.move.src_stride = static_cast<uint16_t>(src_gap);
    record.move.dst_stride = static_cast<uint16_t>(dst_gap);
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
