// SPDX-License-Identifier: MIT
// FIX: results out of L0C, converted on the way (ascend950.md 2.2, 4.4). What happens to a value: fixpipe_convert.h.
// Here: which elements are read, where they go, what they cost.
#include "isa/fixpipe.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "chip/races.h"
#include "host/copy.h"
#include "isa/cube_undefined.h"
#include "isa/dma.h"
#include "isa/fixpipe_convert.h"
#include "isa/instruction.h"

namespace ascend::isa {

namespace {

int matrices_of(const Record& record) { return std::max<int>(record.matrices, 1); }
FixOutput output_of(const Record& record) { return quant_mode(record.quant)->output; }
int bytes_of(const Record& record) { return output_bytes(output_of(record)); }

// Rows of L0C from one row of a matrix to the next.
uint32_t c0_stride(const Core& core, const FixPayload& p) {
    return p.c0_strided ? static_cast<uint32_t>(core.fix_registers[fix_c0_stride]) : 1;
}

// Columns of an NZ block of the result.
int block_columns(int bytes, bool split) { return split ? 8 : bytes == 1 ? 32 : 16; }

// ---- what is read ---------------------------------------------------------------------------------------------------

// f(offset, bytes) for every contiguous piece of L0C that is read: all m rows of each block of 16 columns.
template <class F>
void each_source(const Record& record, F f) {
    const FixPayload& p = record.fix;
    for (int matrix = 0; matrix < matrices_of(record); ++matrix)
        for (int n1 = 0; n1 * 16 < p.n; ++n1)
            f(p.l0c + static_cast<uint32_t>(matrix * p.matrix_rows + n1 * p.src_stride) * 64,
              static_cast<uint32_t>(p.m) * 64);
}

bool fix_ready(Core& core, const Record& record) {
    if (!(record.fix.unit_flag & 2)) return true;
    bool ready = true;
    each_source(record, [&](uint32_t at, uint32_t bytes) { ready &= core.ai.unit_flags.all_equal(at, bytes, true); });
    return ready;
}

void release(Core& core, const Record& record) {
    if (record.fix.unit_flag != 3) return;
    each_source(record, [&](uint32_t at, uint32_t bytes) { core.ai.unit_flags.assign(at, bytes, false); });
    core.advance(Pipe::M);
}

// First undefined byte of what is read, or -1.
int64_t undefined_source(const Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    const Validity& valid = core.ai.l0c.valid;
    const uint32_t stride = c0_stride(core, p) * 64;
    int64_t at = -1;
    for (int matrix = 0; matrix < matrices_of(record) && at < 0; ++matrix)
        for (int n1 = 0; n1 * 16 < p.n && at < 0; ++n1) {
            const int columns = std::min(16, p.n - n1 * 16);
            const uint32_t block = p.l0c + static_cast<uint32_t>(matrix * p.matrix_rows + n1 * p.src_stride) * 64;
            if (columns == 16 && stride == 64)
                at = valid.first_undefined(block, static_cast<uint32_t>(p.m) * 64);
            else
                for (uint32_t row = 0; row < p.m && at < 0; ++row)
                    at = valid.first_undefined(block + row * stride, static_cast<uint32_t>(columns) * 4);
        }
    return at;
}

[[noreturn]] void fail_on_source(Core& core, const Record& record, int64_t at) {
    core.fail(record, format("source: L0C address 0x%llx holds undefined data%s", static_cast<long long>(at), undefined_factor(core.ai).c_str()));
}

// All that is read of L0C: a column block of a matrix, row by row if rows are skipped.
void note_source(const Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    for (int matrix = 0; matrix < matrices_of(record); ++matrix)
        for (int n1 = 0; n1 * 16 < p.n; ++n1)
            reads(core, record, core.ai.l0c, {p.l0c + static_cast<uint32_t>(matrix * p.matrix_rows + n1 * p.src_stride) * 64,
                                              static_cast<uint32_t>(std::min(16, p.n - n1 * 16)) * 4, p.m, c0_stride(core, p) * 64});
}

void check_source(Core& core, const Record& record) {
    if (const int64_t at = undefined_source(core, record); at >= 0) [[unlikely]] fail_on_source(core, record, at);
}

uint32_t address_of(const Core& core, const FixPayload& p, int matrix, int row, int column) {
    return p.l0c + static_cast<uint32_t>(matrix * p.matrix_rows + column / 16 * p.src_stride) * 64 +
           static_cast<uint32_t>(row) * c0_stride(core, p) * 64 + static_cast<uint32_t>(column % 16) * 4;
}

// Whether some of what is read is undefined: whole tiles may be moved on, unless nothing of them is defined.
bool is_partial(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    const int64_t at = undefined_source(core, record);
    if (at < 0) [[likely]] return false;
    for (int matrix = 0; matrix < matrices_of(record); ++matrix)
        for (int row = 0; row < p.m; ++row)
            for (int column = 0; column < p.n; column += 8)
                if (core.ai.l0c.valid.test(address_of(core, p, matrix, row, column))) return true;
    fail_on_source(core, record, at);
}

// ---- conversion -----------------------------------------------------------------------------------------------------

const uint8_t* parameters(Core& core, const Record& record, FixRegister which, int element_bytes, const char* what) {
    const Memory& fb = core.ai.fb;
    const uint64_t address = core.fix_registers[which];
    const uint64_t bytes = static_cast<uint64_t>(record.fix.n) * static_cast<uint64_t>(element_bytes);
    if (address % 64 || address > fb.bytes() || bytes > fb.bytes() - address)
        core.fail(record, format("%s of %d columns at FB address 0x%llx; it is 64-byte aligned and FB ends at 0x%x", what,
                                 record.fix.n, static_cast<unsigned long long>(address), fb.bytes()));
    const int64_t missing = fb.valid.first_undefined(static_cast<uint32_t>(address), static_cast<uint32_t>(bytes));
    reads(core, record, fb, {static_cast<uint32_t>(address), static_cast<uint32_t>(bytes)});
    if (missing >= 0)
        core.fail(record, format("%s: FB address 0x%llx holds undefined data", what, static_cast<long long>(missing)));
    return fb.at(static_cast<uint32_t>(address));
}

FixConversion conversion_of(Core& core, const Record& record) {
    const QuantMode& mode = *quant_mode(record.quant);
    FixConversion c;
    c.output = mode.output;
    c.int32 = record.type == ElementType::s32;
    c.scaled = mode.scaled;
    c.relu = record.fix.relu;
    c.clip = record.fix.clip;
    c.word = core.fix_registers[fix_quant_word];
    c.slope = f32_from_bits(static_cast<uint32_t>(core.fix_registers[fix_slope]));
    c.limit = f32_from_bits(static_cast<uint32_t>(core.fix_registers[fix_limit]));
    if (mode.per_column)
        c.words = reinterpret_cast<const uint64_t*>(parameters(core, record, fix_quant_vector, 8, "quantisation words"));
    if (c.relu == ASC_RELU_PRE_VECTOR)
        c.slopes = reinterpret_cast<const float*>(parameters(core, record, fix_slope_vector, 4, "PReLU slopes"));
    return c;
}

// A part of a matrix: `column` is a multiple of 16.
struct Part {
    int first, rows, column, columns;
};

// Whether host::nz2nd_* do this conversion: what GEMM and attention kernels use.
bool is_plain(const Record& record, const FixConversion& c) {
    return !c.int32 && c.relu <= ASC_RELU_PRE_NORMAL && !c.clip && !record.fix.c0_strided &&
           (c.output == FixOutput::as_is || c.output == FixOutput::f32 || c.output == FixOutput::f16 ||
            c.output == FixOutput::bf16);
}

// The part's codes, row-major at `to`.
void convert(Core& core, const Record& record, const FixConversion& c, int matrix, const Part& part, uint8_t* to,
             int64_t row_stride) {
    const FixPayload& p = record.fix;
    const uint8_t* source = core.ai.l0c.at(p.l0c) + static_cast<int64_t>(matrix) * p.matrix_rows * 64;
    if (is_plain(record, c)) {
        host::Nz2NdArgs args{};
        args.src = reinterpret_cast<const float*>(source) + part.first * 16 + part.column / 16 * p.src_stride * 16;
        args.column_block_stride = int64_t{p.src_stride} * 16;
        args.m = part.rows;
        args.n = part.columns;
        args.relu = c.relu != 0;
        static thread_local std::vector<float> scales;
        if (c.scaled) args.scale = quant_scale(c.word);
        if (c.scaled && c.words) {
            scales.resize(static_cast<size_t>(part.columns));
            for (int j = 0; j < part.columns; ++j) scales[static_cast<size_t>(j)] = quant_scale(c.words[part.column + j]);
            args.scales = scales.data();
        }
        switch (c.output) {
            case FixOutput::f16: host::nz2nd_f16(to, row_stride, args); break;
            case FixOutput::bf16: host::nz2nd_bf16(to, row_stride, args); break;
            default: host::nz2nd_f32(to, row_stride, args);
        }
        return;
    }
    const int bytes = output_bytes(c.output);
    const int64_t stride = int64_t{c0_stride(core, p)} * 64;
    for (int i = 0; i < part.rows; ++i)
        for (int j = 0; j < part.columns; ++j) {
            const int column = part.column + j;
            uint32_t bits;
            std::memcpy(&bits, source + int64_t{column / 16} * p.src_stride * 64 + (part.first + i) * stride + column % 16 * 4,
                        4);
            c.store(to + i * row_stride + j * bytes, bits, column);
        }
}

// ---- where it goes --------------------------------------------------------------------------------------------------

// Codes of a part, row-major, to their places in the result: f(byte offset, codes, bytes) for every contiguous run.
template <class F>
void each_run(const Record& record, const Part& part, const uint8_t* codes, F f) {
    const FixPayload& p = record.fix;
    const int bytes = bytes_of(record), row_bytes = part.columns * bytes;
    if (p.nz2dn) {
        static thread_local std::vector<uint8_t> column;
        column.resize(static_cast<size_t>(part.rows * bytes));
        for (int j = 0; j < part.columns; ++j) {
            for (int i = 0; i < part.rows; ++i) std::memcpy(&column[i * bytes], codes + i * row_bytes + j * bytes, bytes);
            f(j * p.gm.row_stride, column.data(), part.rows * bytes);
        }
    } else if (p.nz2nd) {
        for (int i = 0; i < part.rows; ++i) f(i * p.gm.row_stride, codes + i * row_bytes, row_bytes);
    } else {
        const int width = block_columns(bytes, p.split);
        for (int j = 0; j < part.columns; j += width)
            for (int i = 0; i < part.rows; ++i)
                f(j / width * p.gm.row_stride + i * width * bytes, codes + i * row_bytes + j * bytes,
                  std::min(width, part.columns - j) * bytes);
    }
}

template <class F>
void convert_and_place(Core& core, const Record& record, const FixConversion& c, int matrix, const Part& part, F f) {
    static thread_local std::vector<uint8_t> codes;
    const int64_t row_bytes = int64_t{part.columns} * bytes_of(record);
    codes.resize(static_cast<size_t>(row_bytes * part.rows));
    convert(core, record, c, matrix, part, codes.data(), row_bytes);
    each_run(record, part, codes.data(), f);
}

// Straight to `to`, for the layouts whose rows host::nz2nd_* can write themselves. False: nothing was done.
bool convert_in_place(Core& core, const Record& record, const FixConversion& c, int matrix, const Part& part, uint8_t* to) {
    const FixPayload& p = record.fix;
    const int bytes = bytes_of(record);
    if (!is_plain(record, c) || p.nz2dn || p.split) return false;
    if (p.nz2nd) {
        convert(core, record, c, matrix, part, to, p.gm.row_stride);
        return true;
    }
    for (int j = 0; j < part.columns; j += 16)
        convert(core, record, c, matrix, {part.first, part.rows, part.column + j, std::min(16, part.columns - j)},
                to + j / 16 * p.gm.row_stride, 16 * bytes);
    return true;
}

// Where element (i, j) of a part goes, as each_run() has it.
int64_t place_of(const Record& record, int i, int j) {
    const FixPayload& p = record.fix;
    const int bytes = bytes_of(record), width = block_columns(bytes, p.split);
    if (p.nz2dn) return j * p.gm.row_stride + i * bytes;
    if (p.nz2nd) return i * p.gm.row_stride + j * bytes;
    return j / width * p.gm.row_stride + (i * width + j % width) * bytes;
}

// Results that are undefined, of a part that has been placed as if they were not: eight columns of a row at a time.
void undefine(Core& core, const Record& record, int matrix, const Part& part, Memory& memory, uint32_t at) {
    const auto bytes = static_cast<uint32_t>(bytes_of(record));
    const auto each = [&](bool defined, auto f) {
        for (int i = 0; i < part.rows; ++i)
            for (int j = 0; j < part.columns; ++j)
                if (core.ai.l0c.valid.test(address_of(core, record.fix, matrix, part.first + i, part.column + j)) == defined)
                    f(at + static_cast<uint32_t>(place_of(record, i, j)));
    };
    each(false, [&](uint32_t place) {
        if (memory.valid.byte_bits()) {
            memory.valid.undefine_bytes(place, bytes);
            for (uint32_t i = 0; i + 1 < bytes; i += 2) std::memcpy(memory.at(place + i), &kUndefined, 2);
        } else {
            memory.valid.undefine_granule(place);
        }
    });
    if (!memory.valid.byte_bits()) each(true, [&](uint32_t place) { memory.valid.set(place, bytes); });
}

void to_memory(Core& core, const Record& record, const FixConversion& c, int matrix, const Part& part, Memory& memory,
               uint32_t at, bool partial) {
    if (part.rows <= 0 || part.columns <= 0) return;
    const auto define = [&](int64_t offset, const uint8_t*, int bytes) {
        writes(core, record, memory, {at + static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
        memory.valid.set(at + static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes));
    };
    if (convert_in_place(core, record, c, matrix, part, memory.at(at)))
        each_run(record, part, memory.at(at), define);
    else
        convert_and_place(core, record, c, matrix, part, [&](int64_t offset, const uint8_t* codes, int bytes) {
            std::memcpy(memory.at(at + static_cast<uint32_t>(offset)), codes, static_cast<size_t>(bytes));
            define(offset, codes, bytes);
        });
    if (partial) [[unlikely]] undefine(core, record, matrix, part, memory, at);
}

uint32_t matrix_at(const FixPayload& p, int matrix) {
    return p.local + static_cast<uint32_t>(matrix * p.gm.outer_stride);
}

void l0c2ub_effect(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    AiCore& ai = core.ai;
    if (ai.races) [[unlikely]] note_source(core, record);
    const bool partial = is_partial(core, record);
    const FixConversion c = conversion_of(core, record);
    const int half_m = p.m / 2, half_n = p.n / 2;
    if (p.dual == 1) {  // upper half of the rows to vector core 0, lower half to vector core 1
        to_memory(core, record, c, 0, {0, half_m, 0, p.n}, ai.ub[0], p.local, partial);
        to_memory(core, record, c, 0, {half_m, half_m, 0, p.n}, ai.ub[1], p.local, partial);
    } else if (p.dual == 2) {
        to_memory(core, record, c, 0, {0, p.m, 0, half_n}, ai.ub[0], p.local, partial);
        to_memory(core, record, c, 0, {0, p.m, half_n, half_n}, ai.ub[1], p.local, partial);
    } else {
        for (int matrix = 0; matrix < matrices_of(record); ++matrix)
            to_memory(core, record, c, matrix, {0, p.m, 0, p.n}, ai.ub[p.sub_block], matrix_at(p, matrix), partial);
    }
    release(core, record);
}
const uint16_t op_l0c2ub = register_op("asc_copy_l0c2ub", l0c2ub_effect, fix_ready);

void l0c2l1_effect(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    if (core.ai.races) [[unlikely]] note_source(core, record);
    const bool partial = is_partial(core, record);
    const FixConversion c = conversion_of(core, record);
    for (int matrix = 0; matrix < matrices_of(record); ++matrix)
        to_memory(core, record, c, matrix, {0, p.m, 0, p.n}, core.ai.l1, matrix_at(p, matrix), partial);
    release(core, record);
}
const uint16_t op_l0c2l1 = register_op("asc_copy_l0c2l1", l0c2l1_effect, fix_ready);

void l0c2gm_effect(Core& core, const Record& record) {
    const FixPayload& p = record.fix;
    if (core.ai.races) [[unlikely]] note_source(core, record);
    check_source(core, record);
    const FixConversion c = conversion_of(core, record);
    const int atomic_kind = static_cast<int>(p.local);
    for (int matrix = 0; matrix < matrices_of(record); ++matrix) {
        const uint64_t gm = p.gm.address + static_cast<uint64_t>(matrix * p.gm.outer_stride);
        const Part whole{0, p.m, 0, p.n};
        if (atomic_kind == 0 && convert_in_place(core, record, c, matrix, whole, reinterpret_cast<uint8_t*>(gm))) continue;
        convert_and_place(core, record, c, matrix, whole, [&](int64_t offset, const uint8_t* codes, int bytes) {
            store_row(core, gm + static_cast<uint64_t>(offset), codes, static_cast<uint32_t>(bytes), atomic_kind);
        });
    }
    release(core, record);
}
const uint16_t op_l0c2gm = register_op("asc_copy_l0c2gm", l0c2gm_effect, fix_ready);

void parameter_effect(Core& core, const Record& record) {
    core.fix_registers[record.parameter.index] = record.parameter.value;
}
const uint16_t op_parameter[] = {
    register_op("asc_set_l0c_copy_quant", parameter_effect), register_op("asc_set_l0c_copy_quant_vector", parameter_effect),
    register_op("asc_set_l0c_copy_leaky_relu", parameter_effect),
    register_op("asc_set_l0c_copy_prelu_vector", parameter_effect),
    register_op("asc_set_l0c_copy_clip", parameter_effect), register_op("asc_set_l0c_copy_c0_stride", parameter_effect),
};  // in the order of FixRegister

// ---- rules ----------------------------------------------------------------------------------------------------------

void check_conversion(const Issue& issue, const Fix& fix) {
    const QuantMode* mode = quant_mode(fix.quant);
    if (!mode) {
        std::string known;
        for (const QuantMode& m : kQuantModes) known += format("%s%d %s", known.empty() ? "" : ", ", m.number, m.name);
        issue.fail(format("quant mode %d; available are %s", fix.quant, known.c_str()));
    }
    if (!mode->any_source && mode->int32_source != fix.int32)
        issue.fail(format("quant mode %d (%s) converts %s; the accumulator holds %s", fix.quant, mode->name,
                          mode->int32_source ? "int32" : "fp32", fix.int32 ? "int32" : "fp32"));
    if (fix.relu < 0 || fix.relu > ASC_RELU_PRE_VECTOR)
        issue.fail(format("relu mode %d; available are 0 none, 1 relu, 2 one slope, 3 a slope a column", fix.relu));
    if (fix.int32 && mode->output == FixOutput::as_is && (fix.relu > ASC_RELU_PRE_NORMAL || fix.clip))
        issue.fail("int32 results take ReLU only: slopes and limits go with a quant mode");
    if (fix.dual && (fix.quant != ASC_QUANT_NONE || fix.relu || fix.clip))
        issue.fail("a dual destination allows neither conversion nor ReLU");
}

void check_layout(const Issue& issue, const Fix& fix, int bytes, int64_t matrices) {
    if (fix.nz2nd && fix.nz2dn) issue.fail("nz2nd and nz2dn at once; a result is row-major or column-major");
    if (fix.split && (bytes != 4 || fix.nz2nd || fix.nz2dn)) issue.fail("channel split takes 4-byte results in NZ order");
    if (matrices > 1 && !fix.nz2nd && !fix.nz2dn) issue.fail("several matrices go with nz2nd or nz2dn");
    if (fix.dual == 0) return;
    if (fix.nz2dn) issue.fail("a dual destination takes NZ and row-major results");
    if (matrices > 1) issue.fail("several matrices go to one destination");
    if (fix.dual == 1 && fix.m % 2) issue.fail(format("m = %lld; splitting rows needs an even m", (long long)fix.m));
    if (fix.dual == 2 && fix.n % 32)
        issue.fail(format("n = %lld; splitting columns needs a multiple of 32", (long long)fix.n));
}

}  // namespace

void set_l0c_copy_nz_para(int64_t count, int64_t src_stride, int64_t dst_stride, const void* pc) {
    const Issue issue{this_core(), "asc_set_l0c_copy_nz_para", Pipe::S, pc};
    issue.field("count", count, 0, 65535);
    issue.field("src_stride", src_stride, 0, 4096);
    issue.field("dst_stride", dst_stride, 0, 0xffffffff);
    uint64_t* registers = issue.core.registers;
    registers[reg_fix_count] = static_cast<uint64_t>(count);
    registers[reg_fix_src_stride] = static_cast<uint64_t>(src_stride);
    registers[reg_fix_dst_stride] = static_cast<uint64_t>(dst_stride);
}

void set_fix_parameter(const char* name, FixRegister which, uint64_t value, const void* pc) {
    const Issue issue{this_core(), name, Pipe::FIX, pc};
    issue.on(CoreKind::aic);
    if (which == fix_c0_stride) {
        issue.field("rows", static_cast<int64_t>(value), 0, 4095);
        issue.core.registers[reg_fix_c0_stride] = value;
    }
    Record record{};
    record.op = op_parameter[which];
    record.pipe = Pipe::FIX;
    record.path = Path::none;
    record.parameter = {value, which};
    issue.core.issue(record, pc);
}

void copy_l0c(const Fix& fix, const void* pc) {
    static const char* const names[] = {"asc_copy_l0c2ub", "asc_copy_l0c2gm", "asc_copy_l0c2l1"};
    const Issue issue{this_core(), names[static_cast<int>(fix.to)], Pipe::FIX, pc};
    issue.on(CoreKind::aic);
    issue.field("n", fix.n, 0, 4095);
    issue.field("m", fix.m, 0, 8191);
    issue.field("dst_stride", fix.dst_stride, 0, 0xffffffff);
    issue.field("src_stride", fix.src_stride, 0, 65535);
    issue.field("l2 mode", fix.l2_mode, 0, 15);
    issue.field("sub_block", fix.sub_block, 0, 1);
    issue.field("dual destination", fix.dual, 0, 2);
    if (fix.unit_flag != 0 && fix.unit_flag != 2 && fix.unit_flag != 3)
        issue.fail(format("unit flag %d; accepted are 0 off, 2 wait, 3 wait and flip", fix.unit_flag));
    check_conversion(issue, fix);
    if (fix.m == 0 || fix.n == 0) return;
    const uint64_t* registers = issue.core.registers;
    const int bytes = output_bytes(quant_mode(fix.quant)->output);
    const int64_t matrices = std::max<int64_t>(static_cast<int64_t>(registers[reg_fix_count]), 1);
    const int64_t c0_rows = fix.nz2dn ? std::max<int64_t>(static_cast<int64_t>(registers[reg_fix_c0_stride]), 1) : 1;
    check_layout(issue, fix, bytes, matrices);
    if (c0_rows > 1 && fix.unit_flag) issue.fail("unit flags with a C0 stride: blocks would be drained in part");

    const int64_t matrix_rows = matrices > 1 ? static_cast<int64_t>(registers[reg_fix_src_stride]) : 0;
    const int64_t matrix_bytes = matrices > 1 ? static_cast<int64_t>(registers[reg_fix_dst_stride]) * bytes : 0;
    AiCore& ai = issue.core.ai;
    const int64_t source_blocks = (fix.n + 15) / 16;
    const int64_t source_rows = (matrices - 1) * matrix_rows + (source_blocks - 1) * fix.src_stride + (fix.m - 1) * c0_rows + 1;
    issue.local(ai.l0c, "source", fix.l0c, source_rows * 64, 64);

    // The result as `rows` rows of row_bytes: rows, columns, or NZ blocks.
    const int64_t live_n = fix.dual == 2 ? fix.n / 2 : fix.n, live_m = fix.dual == 1 ? fix.m / 2 : fix.m;
    const int64_t width = block_columns(bytes, fix.split), blocks = (live_n + width - 1) / width;
    const bool is_nz = !fix.nz2nd && !fix.nz2dn;
    const int64_t row_stride = fix.dst_stride * (is_nz ? 32 : bytes);
    const int64_t rows = is_nz ? blocks : fix.nz2nd ? live_m : live_n;
    const int64_t row_bytes = (is_nz ? live_m * width : fix.nz2nd ? live_n : live_m) * bytes;
    const int64_t span = (matrices - 1) * matrix_bytes + (rows - 1) * row_stride + row_bytes;

    Record record{};
    record.pipe = Pipe::FIX;
    record.type = fix.int32 ? ElementType::s32 : ElementType::f32;
    record.quant = static_cast<uint8_t>(fix.quant);
    record.matrices = static_cast<uint16_t>(matrices > 1 ? matrices : 0);
    record.amount = static_cast<uint32_t>(std::min<int64_t>(fix.m * fix.n * bytes * matrices, 0xffffffff));
    FixPayload& p = record.fix;
    p.gm.row_stride = row_stride;
    p.gm.outer_stride = matrix_bytes;
    p.l0c = static_cast<uint32_t>(fix.l0c) & (kL0cBytes - 1);
    p.matrix_rows = static_cast<uint32_t>(matrix_rows) & 0x1fff;
    p.c0_strided = c0_rows > 1;
    p.m = static_cast<uint16_t>(fix.m);
    p.n = static_cast<uint16_t>(fix.n);
    p.src_stride = static_cast<uint16_t>(fix.src_stride);
    p.relu = static_cast<uint8_t>(fix.relu & 3);
    p.nz2nd = fix.nz2nd;
    p.nz2dn = fix.nz2dn;
    p.split = fix.split;
    p.clip = fix.clip;
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
        case FixTo::l1:
            record.op = op_l0c2l1;
            record.path = Path::l0c_to_l1;
            issue.local(ai.l1, "destination", offset_of(fix.destination), span, kUnitBytes);
            p.local = static_cast<uint32_t>(offset_of(fix.destination));
            break;
        case FixTo::gm:
            record.op = op_l0c2gm;
            record.path = Path::l0c_to_gm;
            p.gm.address = reinterpret_cast<uint64_t>(fix.destination);
            p.gm.rows = static_cast<uint32_t>(rows);
            p.gm.row_bytes = static_cast<uint32_t>(row_bytes);
            issue.global("destination", p.gm, static_cast<uint32_t>(matrices));
            p.local = static_cast<uint32_t>(registers[reg_atomic]);
            p.accumulates = p.local != 0;
            if (p.local && atomic_bytes(static_cast<int>(p.local)) != bytes)
                issue.fail(format("the armed store atomic takes %d-byte elements; the results have %d bytes",
                                  atomic_bytes(static_cast<int>(p.local)), bytes));
            break;
    }
    issue.core.issue(record, pc);
}

}  // namespace ascend::isa
