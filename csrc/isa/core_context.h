// SPDX-License-Identifier: MIT
// Which core is executing this instruction? The built-in variables of a kernel, answered by the running fiber.
#pragma once

#include <cstdint>

#include "chip/core.h"

namespace ascend::isa {

// Where UB pointers of the running core start. On a cube core: UB of vector core 0, so that the offset a kernel forms
// there (for a FIX into UB) is right.
inline uint8_t* ub_base() {
    Core& core = *running_core;
    return core.ai.ub[core.kind == CoreKind::aiv1 ? 1 : 0].at(0);
}
inline bool on_cube_core() { return running_core->kind == CoreKind::aic; }
inline bool on_vector_core() { return running_core->kind != CoreKind::aic; }
inline int block_index() { return running_core->block; }
inline int sub_block_index() { return running_core->kind == CoreKind::aiv1 ? 1 : 0; }

}  // namespace ascend::isa
