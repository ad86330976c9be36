// SPDX-License-Identifier: MIT
// How does a test look at, or damage, what a kernel works on while it runs? A callback after every instruction, and bytes
// of the on-chip memories by name. Plain C functions for ctypes; tests/support/observe.py is the other side.
#include <cstdint>
#include <cstring>

#include "chip/core.h"

using namespace ascend;

namespace {

using Callback = void (*)(void* core, int ai_core, int kind, int block, const char* instruction, const Record* record);
Callback callback = nullptr;

void forward(Core& core, const Record& record) {
    callback(&core, core.ai.index, static_cast<int>(core.kind), core.block, instruction_name(record), &record);
}

}  // namespace

extern "C" {

// Null ends it. The callback may run on several host threads at once. Not while a kernel runs.
void ascend_sim_observe(Callback function) {
    callback = function;
    set_record_observer(function ? forward : nullptr);
}

// Bytes [offset, offset + bytes) of a memory of the core that a callback was given: "L1", "L0A", "L0B", "L0C", .., "UB".
// Null if it has no such memory or the range leaves it.
uint8_t* ascend_sim_memory_of(void* core, const char* name, uint32_t offset, uint32_t bytes) {
    Core& of = *static_cast<Core*>(core);
    AiCore& ai = of.ai;
    Memory* found = std::strcmp(name, "UB") == 0 ? &ai.ub_of(of) : nullptr;
    for (Memory* memory : {&ai.l1, &ai.l0a, &ai.l0b, &ai.l0a_mx, &ai.l0b_mx, &ai.l0c, &ai.bt, &ai.fb})
        if (std::strcmp(name, memory->name()) == 0) found = memory;
    return found && offset <= found->bytes() && bytes <= found->bytes() - offset ? found->at(offset) : nullptr;
}

}  // extern "C"
