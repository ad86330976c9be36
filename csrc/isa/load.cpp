// SPDX-License-Identifier: MIT
// MTE1: fractals, scales and parameters from L1 to the memories beside the cube (ascend950.md 2.2, 4.1, 6).
#include "isa/load.h"

#include <algorithm>
#include <cstring>

#include "chip/races.h"
#include "formats/bf16.h"
#include "formats/f16.h"
#include "host/copy.h"
#include "isa/cube_queue.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

// What is undefined moves as zeros: a block's results do not depend on what the memory held before it.
void clear_undefined(Memory& memory, uint32_t begin, uint32_t bytes) {
    for (uint32_t at = begin; at < begin + bytes; at += kUnitBytes)
        if (!memory.valid.test(at)) std::memset(memory.at(at), 0, kUnitBytes);
}

void copy_defined(Memory& to, PartsOfK& parts, uint32_t dst, Memory& from, uint32_t src, int count) {
    const auto bytes = static_cast<uint32_t>(count) * kFractalBytes;
    if (from.valid.first_undefined(src, bytes) < 0) return to.valid.set(dst, bytes);
    clear_undefined(from, src, bytes);
    for (int i = 0; i < count; ++i) {
        const uint32_t step = static_cast<uint32_t>(i) * kFractalBytes;
        to.valid.set_fractal(dst + step, from.valid.fractal(src + step));
        parts.of(dst + step) = 0;
    }
}

template <bool b_side>
void load_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& to = b_side ? core.ai.l0b : core.ai.l0a;
    Memory& l1 = core.ai.l1;
    const uint32_t first = p.src + (p.src_outer * p.src_stride + p.src_inner) * kFractalBytes;
    const uint32_t src_step = p.src_stride * kFractalBytes, dst_step = p.dst_stride * kFractalBytes;
    reads(core, record, l1, {first, p.inner_steps * kFractalBytes, p.outer_steps, src_step});
    writes(core, record, to, {p.dst, p.inner_steps * kFractalBytes, p.outer_steps, dst_step});
    for (uint32_t k = 0; k < p.outer_steps; ++k)
        copy_defined(to, b_side ? core.ai.l0b_parts : core.ai.l0a_parts, p.dst + k * dst_step, l1, first + k * src_step, p.inner_steps);
    if (CubeQueue* queue = CubeQueue::of(core.ai)) {
        const LoadedFractals fractals{first, src_step, p.dst, dst_step, p.inner_steps, p.outer_steps, p.flags != 0};
        if (queue->load_l0(b_side ? side_b : side_a, fractals)) return;
    }
    for (uint32_t k = 0; k < p.outer_steps; ++k)
        std::memcpy(to.at(p.dst + k * dst_step), l1.at(first + k * src_step), size_t{p.inner_steps} * kFractalBytes);
}
const uint16_t op_l0a = register_op("asc_copy_l12l0a", load_effect<false>, nullptr, true);
const uint16_t op_l0b = register_op("asc_copy_l12l0b", load_effect<true>, nullptr, true);

// Rows of 32 bytes from the first one on that are defined, of fractals one behind the other. The rest of them becomes zeros.
uint32_t leading_rows(Memory& memory, uint32_t begin, int fractals) {
    const auto bytes = static_cast<uint32_t>(fractals) * kFractalBytes;
    const int64_t missing = memory.valid.first_undefined(begin, bytes);
    if (missing < 0) return bytes / kUnitBytes;
    clear_undefined(memory, begin, bytes);
    return (static_cast<uint32_t>(missing) - begin) / kUnitBytes;
}

// A transposed fractal mixes the rows of its source, which are its k: all of it is defined, or as much of k as leading rows are there.
void set_transposed(Memory& to, PartsOfK& parts, uint32_t dst, uint32_t defined_bytes) {
    to.valid.set_fractal(dst, defined_bytes == kUnitBytes ? 0xffff : 0);
    parts.of(dst) = static_cast<uint8_t>(defined_bytes);
}

// 64 x 64 elements of 4 bits; rows of 32 bytes, an even column in the low nibble. By way of two 32 x 32 bytes that hold
// the nibbles of two rows: those of the even, and those of the odd columns.
void transpose_b4(uint8_t* dst, const uint8_t* src) {
    alignas(64) uint8_t even[32][32], odd[32][32];
    for (int pair = 0; pair < 32; ++pair)
        for (int i = 0; i < 32; ++i) {
            const uint8_t first = src[64 * pair + i], second = src[64 * pair + 32 + i];
            even[pair][i] = static_cast<uint8_t>((first & 0xf) | second << 4);
            odd[pair][i] = static_cast<uint8_t>(first >> 4 | (second & 0xf0));
        }
    host::transpose_b8(dst, 64, even[0], 32);
    host::transpose_b8(dst + 32, 64, odd[0], 32);
}

// Row blocks that are transposed together: a square of elements. 32-bit: one, with two column blocks.
constexpr int transposed_blocks(int element_bits) { return element_bits == 32 ? 1 : 16 / element_bits; }

// Source fractal (k, m): 16 rows of 32 bytes, row blocks m inside column blocks k. 16-bit: its transpose is one fractal,
// at m * dst_stride + k. 8-bit: two row blocks (32 x 32 elements) become two fractals, at (m/2) * dst_stride + 2k, +1.
// 4-bit: four row blocks (64 x 64) become four, at (m/4) * dst_stride + 4k, +1, +2, +3.
template <bool b_side, int bits>
void load_transposed_effect(Core& core, const Record& record) {
    constexpr uint32_t kBlocks = transposed_blocks(bits);
    const MovePayload& p = record.move;
    Memory& to = b_side ? core.ai.l0b : core.ai.l0a;
    PartsOfK& parts = b_side ? core.ai.l0b_parts : core.ai.l0a_parts;
    Memory& l1 = core.ai.l1;
    for (uint32_t k = 0; k < p.outer_steps; ++k)
        for (uint32_t m = 0; m < p.inner_steps; m += kBlocks) {
            const uint32_t src = p.src + ((p.src_outer + k) * p.src_stride + p.src_inner + m) * kFractalBytes;
            const uint32_t dst = p.dst + (m / kBlocks * p.dst_stride + kBlocks * k) * kFractalBytes;
            reads(core, record, l1, {src, kBlocks * kFractalBytes});
            writes(core, record, to, {dst, kBlocks * kFractalBytes});
            const uint32_t rows = leading_rows(l1, src, kBlocks);
            if constexpr (bits == 16)
                host::transpose_b16(to.at(dst), 32, l1.at(src), 32);
            else if constexpr (bits == 8)
                host::transpose_b8(to.at(dst), 32, l1.at(src), 32);
            else
                transpose_b4(to.at(dst), l1.at(src));
            for (uint32_t i = 0; i < kBlocks; ++i) set_transposed(to, parts, dst + i * kFractalBytes, rows * bits / 8);
        }
}
// 32-bit: column blocks 2k and 2k + 1 of row block m are 16 x 16 elements; transposed they are row block k of the column
// blocks 2m and 2m + 1, at 2m * dst_stride + k and (2m + 1) * dst_stride + k.
template <bool b_side>
void load_transposed_b32_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& to = b_side ? core.ai.l0b : core.ai.l0a;
    PartsOfK& parts = b_side ? core.ai.l0b_parts : core.ai.l0a_parts;
    Memory& l1 = core.ai.l1;
    for (uint32_t k = 0; k < p.outer_steps; k += 2)
        for (uint32_t m = 0; m < p.inner_steps; ++m) {
            const uint32_t left = p.src + ((p.src_outer + k) * p.src_stride + p.src_inner + m) * kFractalBytes;
            const uint32_t right = left + p.src_stride * kFractalBytes;
            reads(core, record, l1, {left, kFractalBytes, 2, right - left});
            writes(core, record, to, {p.dst + (2 * m * p.dst_stride + k / 2) * kFractalBytes, kFractalBytes, 2, p.dst_stride * kFractalBytes});
            const uint32_t rows = std::min(leading_rows(l1, left, 1), leading_rows(l1, right, 1));
            for (uint32_t half = 0; half < 2; ++half) {
                const uint32_t dst = p.dst + ((2 * m + half) * p.dst_stride + k / 2) * kFractalBytes;
                host::transpose_b32(to.at(dst), 32, l1.at(left + half * 256), 32);
                host::transpose_b32(to.at(dst + 256), 32, l1.at(right + half * 256), 32);
                set_transposed(to, parts, dst, std::min(8u, rows - std::min(rows, 8 * half)) * 4);
            }
        }
}
// By element size: 16, 8, 4, 32 bits.
const uint16_t op_l0a_transpose[] = {register_op("asc_copy_l12l0a_transpose", load_transposed_effect<false, 16>),
                                     register_op("asc_copy_l12l0a_transpose", load_transposed_effect<false, 8>),
                                     register_op("asc_copy_l12l0a_transpose", load_transposed_effect<false, 4>),
                                     register_op("asc_copy_l12l0a_transpose", load_transposed_b32_effect<false>)};
const uint16_t op_l0b_transpose[] = {register_op("asc_copy_l12l0b_transpose", load_transposed_effect<true, 16>),
                                     register_op("asc_copy_l12l0b_transpose", load_transposed_effect<true, 8>),
                                     register_op("asc_copy_l12l0b_transpose", load_transposed_effect<true, 4>),
                                     register_op("asc_copy_l12l0b_transpose", load_transposed_b32_effect<true>)};

// Scale fractals of 32 bytes (16 rows x 2 scales): source x * src_stride + y, destination x * dst_stride + y.
template <bool b_side>
void load_mx_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& to = b_side ? core.ai.l0b_mx : core.ai.l0a_mx;
    const Memory& l1 = core.ai.l1;
    for (uint32_t x = 0; x < p.outer_steps; ++x)
        for (uint32_t y = 0; y < p.inner_steps; ++y) {
            const uint32_t src = p.src + ((p.src_outer + x) * p.src_stride + p.src_inner + y) * kUnitBytes;
            const uint32_t dst = p.dst + (x * p.dst_stride + y) * kUnitBytes;
            reads(core, record, l1, {src, kUnitBytes});
            writes(core, record, to, {dst, kUnitBytes});
            std::memcpy(to.at(dst), l1.at(src), kUnitBytes);
            if (l1.valid.test(src)) to.valid.set(dst, kUnitBytes);
            else to.valid.undefine_granule(dst);
        }
}
const uint16_t op_l0a_mx = register_op("asc_copy_l12l0a_mx", load_mx_effect<false>);
const uint16_t op_l0b_mx = register_op("asc_copy_l12l0b_mx", load_mx_effect<true>);

// word: bytes of L1. Undefined units of L1 leave their place in BT or FB undefined.
template <bool bias>
void load_parameters_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& to = bias ? core.ai.bt : core.ai.fb;
    const Memory& l1 = core.ai.l1;
    const uint32_t factor = p.flags ? 2 : 1;
    reads(core, record, l1, {p.src, p.word});
    writes(core, record, to, {p.dst, p.word * factor});
    if (p.flags == 0) std::memcpy(to.at(p.dst), l1.at(p.src), p.word);
    for (uint32_t i = 0; p.flags && i < p.word / 2; ++i) {
        uint16_t code;
        std::memcpy(&code, l1.at(p.src + 2 * i), 2);
        const float value = p.flags == 1 ? f16_to_f32(code) : bf16_to_f32(code);
        std::memcpy(to.at(p.dst + 4 * i), &value, 4);
    }
    for (uint32_t at = 0; at < p.word; at += kUnitBytes) {
        const uint32_t place = p.dst + at * factor, bytes = std::min(kUnitBytes, p.word - at) * factor;
        if (l1.valid.test(p.src + at)) to.valid.set(place, bytes);
        else for (uint32_t i = 0; i < bytes; i += kUnitBytes) to.valid.undefine_granule(place + i);
    }
}
const uint16_t op_bt = register_op("asc_copy_l12bt", load_parameters_effect<true>);
const uint16_t op_fb = register_op("asc_copy_l12fb", load_parameters_effect<false>);

void l12ub_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& ub = core.ai.ub[p.flags];
    const Memory& l1 = core.ai.l1;
    const uint32_t bytes = p.inner_steps * kUnitBytes;
    reads(core, record, l1, {p.src, bytes, p.outer_steps, bytes + p.src_stride * kUnitBytes});
    writes(core, record, ub, {p.dst, bytes, p.outer_steps, bytes + p.dst_stride * kUnitBytes});
    for (uint32_t burst = 0; burst < p.outer_steps; ++burst) {
        const uint32_t from = p.src + burst * (bytes + p.src_stride * kUnitBytes);
        const uint32_t to = p.dst + burst * (bytes + p.dst_stride * kUnitBytes);
        std::memcpy(ub.at(to), l1.at(from), bytes);
        for (uint32_t at = 0; at < bytes; at += kUnitBytes)
            if (l1.valid.test(from + at)) ub.valid.set(to + at, kUnitBytes);
    }
}
const uint16_t op_l12ub = register_op("asc_copy_l12ub", l12ub_effect);

template <bool b_side>
void fill_l0_effect(Core& core, const Record& record) {
    const MovePayload& p = record.move;
    Memory& to = b_side ? core.ai.l0b : core.ai.l0a;
    const uint32_t bytes = p.inner_steps * kFractalBytes;
    writes(core, record, to, {p.dst, bytes, p.outer_steps, bytes + p.dst_stride * kFractalBytes});
    for (uint32_t repeat = 0; repeat < p.outer_steps; ++repeat) {
        const uint32_t begin = p.dst + repeat * (bytes + p.dst_stride * kFractalBytes);
        for (uint32_t at = 0; at < bytes; at += 4) std::memcpy(to.at(begin + at), &p.word, 4);
        to.valid.set(begin, bytes);
    }
}
const uint16_t op_fill_l0a = register_op("asc_fill_l0a", fill_l0_effect<false>);
const uint16_t op_fill_l0b = register_op("asc_fill_l0b", fill_l0_effect<true>);

Record move_record(uint16_t op, Path path, int64_t src, int64_t dst) {
    Record record{};
    record.op = op;
    record.pipe = Pipe::MTE1;
    record.path = path;
    record.move.src = static_cast<uint32_t>(src);
    record.move.dst = static_cast<uint32_t>(dst);
    return record;
}

}  // namespace

void copy_l12l0(const LoadL0& load, const void* pc) {
    static const char* const names[2][2] = {{"asc_copy_l12l0a", "asc_copy_l12l0a_transpose"},
                                            {"asc_copy_l12l0b", "asc_copy_l12l0b_transpose"}};
    const Issue issue{this_core(), names[load.b_side][load.transpose], Pipe::MTE1, pc};
    issue.on(CoreKind::aic);
    issue.field("m_start", load.m_start, 0, 65535);
    issue.field("k_start", load.k_start, 0, 65535);
    issue.field("m_step", load.m_step, 0, 255);
    issue.field("k_step", load.k_step, 0, 255);
    issue.field("src_stride", load.src_stride, 0, 65535);
    issue.field("dst_stride", load.dst_stride, 0, 65535);
    if (load.m_step == 0 || load.k_step == 0) return;
    if (load.transpose && load.element_bits > 32)
        issue.fail(format("%d-bit elements; the transposing load takes 4-, 8-, 16- and 32-bit ones", load.element_bits));
    const bool wide = load.transpose && load.element_bits == 32;
    if (wide && (load.k_start % 2 || load.k_step % 2))
        issue.fail(format("k_start = %lld, k_step = %lld; transposing loads of 32-bit elements take pairs of column blocks",
                          static_cast<long long>(load.k_start), static_cast<long long>(load.k_step)));
    const int blocks = load.transpose ? transposed_blocks(load.element_bits) : 1;
    if (load.m_step % blocks || load.m_start % blocks)
        issue.fail(format("m_start = %lld, m_step = %lld; transposing loads of %d-bit elements take multiples of %d row blocks",
                          static_cast<long long>(load.m_start), static_cast<long long>(load.m_step), load.element_bits,
                          blocks));
    Memory& to = load.b_side ? issue.core.ai.l0b : issue.core.ai.l0a;
    const int64_t src = offset_of(load.l1), dst = offset_of(load.l0);
    const int64_t first = load.k_start * load.src_stride + load.m_start;
    const int64_t last = (load.k_start + load.k_step - 1) * load.src_stride + load.m_start + load.m_step - 1;
    if (src % kUnitBytes) issue.local(issue.core.ai.l1, "source", src, 0, kUnitBytes);
    issue.local(issue.core.ai.l1, "source", src, 0, kFractalBytes);
    issue.local(issue.core.ai.l1, "source", src + first * kFractalBytes, (last - first + 1) * kFractalBytes,
                kFractalBytes);
    const int64_t fractals = wide             ? (2 * load.m_step - 1) * load.dst_stride + load.k_step / 2
                             : load.transpose ? (load.m_step / blocks - 1) * load.dst_stride + blocks * load.k_step
                                              : (load.k_step - 1) * load.dst_stride + load.m_step;
    issue.local(to, "destination", dst, fractals * kFractalBytes, kFractalBytes);
    const int size = wide ? 3 : blocks == 1 ? 0 : blocks == 2 ? 1 : 2;
    const uint16_t op = load.transpose ? (load.b_side ? op_l0b_transpose : op_l0a_transpose)[size]
                                       : (load.b_side ? op_l0b : op_l0a);
    const Path path = !load.b_side     ? Path::l1_to_l0a
                      : load.transpose ? Path::l1_to_l0b_transposed
                                       : Path::l1_to_l0b;
    Record record = move_record(op, path, src, dst);
    record.amount = static_cast<uint32_t>(load.m_step * load.k_step * kFractalBytes);
    record.move.outer_steps = static_cast<uint16_t>(load.k_step);
    record.move.inner_steps = static_cast<uint16_t>(load.m_step);
    record.move.src_stride = static_cast<uint16_t>(load.src_stride);
    record.move.dst_stride = static_cast<uint16_t>(load.dst_stride);
    record.move.src_outer = static_cast<uint16_t>(load.k_start);
    record.move.src_inner = static_cast<uint16_t>(load.m_start);
    record.move.flags = load.is_bf16;
    issue.core.issue(record, pc);
}

void copy_l12l0_mx(bool b_side, uint64_t address, const void* l1, int64_t x_start, int64_t y_start, int64_t x_step,
                   int64_t y_step, int64_t src_stride, int64_t dst_stride, const void* pc) {
    const Issue issue{this_core(), b_side ? "asc_copy_l12l0b_mx" : "asc_copy_l12l0a_mx", Pipe::MTE1, pc};
    issue.on(CoreKind::aic);
    issue.field("x_start", x_start, 0, 65535);
    issue.field("y_start", y_start, 0, 65535);
    issue.field("x_step", x_step, 0, 255);
    issue.field("y_step", y_step, 0, 255);
    issue.field("src_stride", src_stride, 0, 65535);
    issue.field("dst_stride", dst_stride, 0, 65535);
    if (x_step == 0 || y_step == 0) return;
    const int64_t src = offset_of(l1), first = x_start * src_stride + y_start;
    const int64_t last = (x_start + x_step - 1) * src_stride + y_start + y_step - 1;
    issue.local(issue.core.ai.l1, "source", src + first * kUnitBytes, (last - first + 1) * kUnitBytes, kUnitBytes);
    issue.local(b_side ? issue.core.ai.l0b_mx : issue.core.ai.l0a_mx, "destination", static_cast<int64_t>(address),
                ((x_step - 1) * dst_stride + y_step) * kUnitBytes, kUnitBytes);
    Record record = move_record(b_side ? op_l0b_mx : op_l0a_mx, Path::l1_to_l0_mx, src, static_cast<int64_t>(address));
    record.amount = static_cast<uint32_t>(x_step * y_step * kUnitBytes);
    record.move.outer_steps = static_cast<uint16_t>(x_step);
    record.move.inner_steps = static_cast<uint16_t>(y_step);
    record.move.src_stride = static_cast<uint16_t>(src_stride);
    record.move.dst_stride = static_cast<uint16_t>(dst_stride);
    record.move.src_outer = static_cast<uint16_t>(x_start);
    record.move.src_inner = static_cast<uint16_t>(y_start);
    record.move.flags = b_side;
    issue.core.issue(record, pc);
}

void copy_l12_parameters(bool bias, uint64_t address, const void* l1, int64_t bytes, int widen, const void* pc) {
    const Issue issue{this_core(), bias ? "asc_copy_l12bt" : "asc_copy_l12fb", Pipe::MTE1, pc};
    issue.on(CoreKind::aic);
    issue.field("bytes", bytes, 0, 4096);
    if (bytes == 0) return;
    const int64_t landed = widen ? bytes * 2 : bytes;
    issue.local(issue.core.ai.l1, "source", offset_of(l1), bytes, kUnitBytes);
    issue.local(bias ? issue.core.ai.bt : issue.core.ai.fb, "destination", static_cast<int64_t>(address), landed, 64);
    Record record = move_record(bias ? op_bt : op_fb, bias ? Path::l1_to_bt : Path::l1_to_fb, offset_of(l1),
                                static_cast<int64_t>(address));
    record.amount = static_cast<uint32_t>(landed);
    record.move.word = static_cast<uint32_t>(bytes);
    record.move.flags = static_cast<uint8_t>(widen);
    issue.core.issue(record, pc);
}

void copy_l12ub(const void* ub, const void* l1, int64_t sub_block, int64_t bursts, int64_t units, int64_t src_gap,
                int64_t dst_gap, const void* pc) {
    const Issue issue{this_core(), "asc_copy_l12ub", Pipe::MTE1, pc};
    issue.on(CoreKind::aic);
    issue.field("sub_block", sub_block, 0, 1);
    issue.field("n", bursts, 0, 4095);
    issue.field("len", units, 0, 65535);
    issue.field("src gap", src_gap, 0, 65535);
    issue.field("dst gap", dst_gap, 0, 65535);
    if (bursts == 0 || units == 0) return;
    const int64_t offset = static_cast<const uint8_t*>(ub) - ub_base();
    const auto span = [&](int64_t gap) { return ((bursts - 1) * (units + gap) + units) * kUnitBytes; };
    issue.local(issue.core.ai.l1, "source", offset_of(l1), span(src_gap), kUnitBytes);
    issue.local(issue.core.ai.ub[sub_block], "destination", offset, span(dst_gap), kUnitBytes);
    Record record = move_record(op_l12ub, Path::l1_to_ub, offset_of(l1), offset);
    record.amount = static_cast<uint32_t>(bursts * units * kUnitBytes);
    record.move.outer_steps = static_cast<uint16_t>(bursts);
    record.move.inner_steps = static_cast<uint16_t>(units);
    record.move.src_stride = static_cast<uint16_t>(src_gap);
    record.move.dst_stride = static_cast<uint16_t>(dst_gap);
    record.move.flags = static_cast<uint8_t>(sub_block & 1);
    issue.core.issue(record, pc);
}

void fill_l0(bool b_side, const void* l0, uint32_t word, int element_bytes, uint64_t repeat, uint64_t blocks, uint64_t gap,
             const void* pc) {
    const Issue issue{this_core(), b_side ? "asc_fill_l0b" : "asc_fill_l0a", Pipe::MTE1, pc};
    issue.on(CoreKind::aic);
    issue.field("repeat", static_cast<int64_t>(repeat), 0, 32767);
    issue.field("blk_num", static_cast<int64_t>(blocks), 0, 32767);
    issue.field("dst_gap", static_cast<int64_t>(gap), 0, 32767);
    if (repeat == 0 || blocks == 0) return;
    const int64_t span = static_cast<int64_t>((repeat - 1) * (blocks + gap) + blocks) * kFractalBytes;
    issue.local(b_side ? issue.core.ai.l0b : issue.core.ai.l0a, "destination", offset_of(l0), span, kFractalBytes);
    Record record = move_record(b_side ? op_fill_l0b : op_fill_l0a, b_side ? Path::l1_to_l0b : Path::l1_to_l0a, 0,
                                offset_of(l0));
    record.amount = static_cast<uint32_t>(repeat * blocks * kFractalBytes);
    record.move.outer_steps = static_cast<uint16_t>(repeat);
    record.move.inner_steps = static_cast<uint16_t>(blocks);
    record.move.dst_stride = static_cast<uint16_t>(gap);
    record.move.word = element_bytes == 2 ? (word & 0xffff) * 0x10001u : word;
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
