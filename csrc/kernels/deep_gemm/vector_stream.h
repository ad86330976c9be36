// SPDX-License-Identifier: MIT
// What do kernels on vector cores share that read tiles, change them and write them? The two stages and their flags:
// MTE2 loads tile i + 1 while V works on tile i and MTE3 stores tile i - 1.
#pragma once

#include "isa/kernel.h"
#include "kernels/deep_gemm/tile.h"

namespace ascend::deep_gemm {
inline namespace ASCEND_SIM_LEVEL {

constexpr int kStreamStages = 2;

// The tiles of this core, every `cores`-th. load(tile, stage) issues MTE2, compute V and S, store MTE3.
template <class Load, class Compute, class Store>
void stream_tiles(int64_t tiles, int cores, Load load, Compute compute, Store store) {
    for (int stage = 0; stage < kStreamStages; ++stage) {
        asc_sync_notify(PIPE_V, PIPE_MTE2, stage);
        asc_sync_notify(PIPE_MTE3, PIPE_V, stage);
    }
    int step = 0;
    for (int64_t tile = block_idx; tile < tiles; tile += cores, ++step) {
        const int stage = step % kStreamStages;
        asc_sync_wait(PIPE_V, PIPE_MTE2, stage);
        load(tile, stage);
        asc_sync_notify(PIPE_MTE2, PIPE_V, stage);
        asc_sync_wait(PIPE_MTE2, PIPE_V, stage);
        asc_sync_wait(PIPE_MTE3, PIPE_V, stage);
        compute(tile, stage);
        asc_sync_notify(PIPE_V, PIPE_MTE2, stage);
        asc_sync_notify(PIPE_V, PIPE_MTE3, stage);
        asc_sync_wait(PIPE_V, PIPE_MTE3, stage);
        store(tile, stage);
        asc_sync_notify(PIPE_MTE3, PIPE_V, stage);
    }
    for (int stage = 0; stage < kStreamStages; ++stage) {
        asc_sync_wait(PIPE_V, PIPE_MTE2, stage);
        asc_sync_wait(PIPE_MTE3, PIPE_V, stage);
    }
}

inline int vector_cores_for(int64_t tiles) {
    return static_cast<int>(std::min<int64_t>(tiles, 2 * chip_spec().cores));
}

}  // namespace ASCEND_SIM_LEVEL
}  // namespace ascend::deep_gemm
