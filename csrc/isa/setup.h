// SPDX-License-Identifier: MIT
// Scalar set-up instructions: what a kernel does first, and which vector core it is.
#pragma once

#include "isa/sync.h"

// Mode registers are zero at the start of a block already.
inline void asc_init() {}
inline int asc_get_sub_block_id() { return ascend::isa::sub_block_index(); }
