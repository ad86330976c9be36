// SPDX-License-Identifier: MIT
// Which core is running, and how do faults of vector and scalar code, which are no records, end a launch?
#include "isa/builtin.h"

#include "isa/instruction.h"

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

}  // namespace ascend::isa
