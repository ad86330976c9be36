// SPDX-License-Identifier: MIT
// Where do the packed operands of one MMAD live? Grow-only buffers of the calling thread, 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ascend::host {

enum class ScratchSlot { a, b, wide_a, wide_b, kCount };

// Contents are undefined and last until the same thread asks for the slot again. Compiled for the baseline,
// so that no standard library template is instantiated under a level's flags and shared with code that must
// run without them.
uint8_t* scratch(ScratchSlot slot, size_t bytes);

}  // namespace ascend::host
