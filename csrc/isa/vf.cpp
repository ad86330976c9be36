// SPDX-License-Identifier: MIT
// Storage of the vector-function counters, and how a rule broken inside a vector function is reported.
#include "isa/vf.h"

#include "chip/core.h"

namespace ascend::isa {

__thread VfCounts vf_counts __attribute__((tls_model("initial-exec"), visibility("default")));

void vector_fault(const char* instruction, const char* what, const void* address) {
    const void* pc = __builtin_return_address(0);
    if (!running_core) throw LaunchError(format("%s: %s (outside a kernel)", instruction, what));
    Core& core = *running_core;
    const auto offset = static_cast<const uint8_t*>(address) - core.ai.ub_of(core).at(0);
    core.fail(instruction, Pipe::V, pc, format("%s; UB address 0x%llx", what, static_cast<long long>(offset)));
}

}  // namespace ascend::isa
