// SPDX-License-Identifier: MIT
// Which pipes does a core have? Kernels see no more of the chip than this: each header that they include costs every compilation.
#pragma once

#include <cstdint>

namespace ascend {

enum class Pipe : uint8_t { S, M, V, MTE1, MTE2, MTE3, FIX, all };
constexpr int kPipes = 7;  // without `all`
const char* pipe_name(Pipe);

// How a flag between cores was written: asc_sync_intra_*, asc_sync_inter_*; asc_sync_cross_* with a mode; asc_sync_subblock_* (mode 1), asc_sync_block_* (2).
enum class Spelling : uint8_t { partner, cross_mode, scope };

}  // namespace ascend
