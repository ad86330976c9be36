// SPDX-License-Identifier: MIT
// Which core is running, and how do faults of vector and scalar code, which are no records, end a launch?
#include "isa/builtin.h"

#include "isa/instruction.h"
#include "isa/local_arrays.h"

namespace ascend::isa {

uint8_t* ub_base() {
    Core& core = *running_core;
    return core.ai.ub_of(core).at(0);
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

void device_assert_failed(const char* condition) {
    if (!running_core) throw LaunchError(format("assertion failed: %s (outside a kernel)", condition));
    const std::string thread = simt_thread_name();
    running_core->fail("assert", thread.empty() ? Pipe::S : Pipe::V, __builtin_return_address(0),
                       format("%s%sassertion failed: %s", thread.c_str(), thread.empty() ? "" : ": ", condition));
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
