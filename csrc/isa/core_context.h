// SPDX-License-Identifier: MIT
// Which core is executing this instruction? The built-in variables of a kernel, answered by the running fiber.
#pragma once

#include <cstdint>

namespace ascend::isa {

// Where UB pointers of the running core start. On a cube core: UB of vector core 0, so that the offset a kernel forms
// there (for a FIX into UB) is right.
uint8_t* ub_base();
// The same for the buffer that the text calls so.
uint8_t* ub_base(const char* name);
bool on_cube_core();
bool on_vector_core();
int block_index();
int sub_block_index();

}  // namespace ascend::isa
