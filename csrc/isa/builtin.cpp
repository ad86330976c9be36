// SPDX-License-Identifier: MIT
// Which core is running, and how do faults of vector and scalar code, which are no records, end a launch?
#include "isa/builtin.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "isa/instruction.h"
#include "isa/local_arrays.h"

namespace ascend::isa {

uint8_t* ub_base() {
    Core& core = *running_core;
    return core.ai.ub_of(core).at(0);
}
uint8_t* ub_base(const char* name) {
    running_core->ub_name = name;
    return ub_base();
}
bool on_cube_core() { return running_core->kind == CoreKind::aic; }
bool on_vector_core() { return running_core->kind != CoreKind::aic; }
int block_index() { return running_core->block; }
int sub_block_index() { return running_core->kind == CoreKind::aiv1 ? 1 : 0; }

void vector_fault(const char* instruction, const char* what, const void* address) {
    if (!running_core) throw LaunchError(format("%s: %s (outside a kernel)", instruction, what));
    Core& core = *running_core;
    const auto offset = static_cast<const uint8_t*>(address) - core.ai.ub_of(core).at(0);
    const std::string thread = simt_thread_name();
    core.fail(instruction, Pipe::V, __builtin_return_address(0),
              format("%s%s%s; UB address 0x%llx", thread.c_str(), thread.empty() ? "" : ": ", what, static_cast<long long>(offset)));
}

void device_print(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, pattern, again);
    va_end(again);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
    va_end(arguments);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);  // Python's own output goes through another buffer
    if (running_core) running_core->printed_last = std::move(text);
}

namespace {

// In one line, and not too long for a message.
std::string in_one_line(const std::string& text) {
    constexpr size_t kMost = 400;
    std::string line;
    for (const char c : text) {
        const bool is_space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (is_space && (line.empty() || line.back() == ' ')) continue;
        if (line.size() == kMost) return line + " ..";
        line += is_space ? ' ' : c;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

}  // namespace

// A constant says nothing: code that prints why and then ends itself, as TileLang's device_assert with a message does.
void device_assert_failed(const char* condition) {
    const bool is_constant = std::strcmp(condition, "false") == 0 || std::strcmp(condition, "0") == 0;
    std::string what = std::string("assertion failed: ") + condition;
    if (!running_core) throw LaunchError(what + " (outside a kernel)");
    const std::string printed = in_one_line(running_core->printed_last);
    if (!printed.empty()) what = is_constant ? printed : what + " (this core printed last: " + printed + ")";
    const std::string thread = simt_thread_name();
    running_core->fail("assert", thread.empty() ? Pipe::S : Pipe::V, __builtin_return_address(0),
                       thread.empty() ? what : thread + ": " + what);
}

void local_index_fault(const CheckedIndex& where, uint64_t index, const void* pc) {
    const int bits = where.index->kind == 0 ? 1 << (where.index->integer >> 1) : 64;
    auto value = static_cast<int64_t>(index);
    if (bits < 64) value = where.index->integer & 1 ? value << (64 - bits) >> (64 - bits) : value & ((int64_t{1} << bits) - 1);
    const std::string thread = running_core ? simt_thread_name() : std::string();
    const std::string what = format("%s%sindex %lld is outside a local array, %s", thread.c_str(), thread.empty() ? "" : ": ",
                                    static_cast<long long>(value), where.array->name);
    if (!running_core) throw LaunchError(what + " (outside a kernel)");
    running_core->fail(thread.empty() ? "scalar code" : "SIMT code", thread.empty() ? Pipe::S : Pipe::V, pc, what);
}

}  // namespace ascend::isa
