# SPDX-License-Identifier: MIT
"""Which flag ids, lock ids, modes and counts are there? The first and the last of each work, the ones beside them are refused by name.

What missing synchronisation does, and what waits for whom: test_faults.py.
"""

import pytest
import torch
from ascend_sim import LaunchError, jit
from support.edges import edges

SOURCE = """
#include "c_api/asc_simd.h"
// what: 0 flag, 1 wait alone, 2 lock, 3 lock alone, 4 cube to a vector core, 5 a vector core to the cube, 6 grid, 7 vector cores, 8 cube and both, 9 by mode
extern "C" __global__ __mix__(1, 2) void synchronise(__gm__ int32_t* out, int what, int id, int count, int mode) {
    const int core = ASC_IS_AIC ? 2 : asc_get_sub_block_id();
    if ASC_IS_AIC {
        switch (what) {
            case 0: asc_sync_notify(PIPE_MTE2, PIPE_MTE1, id); asc_sync_wait(PIPE_MTE2, PIPE_MTE1, id); break;
            case 1: asc_sync_wait(PIPE_MTE2, PIPE_MTE1, id); break;
            case 2: asc_unlock(PIPE_MTE1, id); asc_lock(PIPE_M, id); break;
            case 3: asc_lock(PIPE_M, id); break;
            case 4: for (int i = 0; i < count; ++i) asc_sync_intra_arrive(PIPE_FIX, id); break;
            case 5: for (int i = 0; i < count; ++i) asc_sync_intra_wait(PIPE_S, id + 16 * mode); break;
            case 8: for (int i = 0; i < count; ++i) asc_sync_block_arrive(PIPE_S, id); asc_sync_block_wait(PIPE_S, id); break;
            case 9: if (mode != 1) asc_sync_cross_set(PIPE_S, mode, id);
                    if (mode == 4) asc_sync_cross_set(PIPE_S, mode, id + 16);
                    break;
            case 10: asc_sync_cross_wait(PIPE_S, mode, id); break;
        }
    }
    if ASC_IS_AIV {
        switch (what) {
            case 0: asc_sync_notify(PIPE_MTE2, PIPE_V, id); asc_sync_wait(PIPE_MTE2, PIPE_V, id); break;
            case 4: if (core == id / 16) for (int i = 0; i < count; ++i) asc_sync_intra_wait(PIPE_S, id % 16); break;
            case 5: if (core == mode) for (int i = 0; i < count; ++i) asc_sync_intra_arrive(PIPE_MTE3, id); break;
            case 6: asc_sync_inter_arrive(PIPE_MTE3, id); asc_sync_inter_wait(PIPE_MTE3, id); break;
            case 7: asc_sync_subblock_arrive(PIPE_S, id); asc_sync_subblock_wait(PIPE_S, id); break;
            case 8: for (int i = 0; i < count; ++i) asc_sync_block_wait(PIPE_S, id); asc_sync_block_arrive(PIPE_S, id); break;
            case 9: if (mode == 1 || mode == 0) asc_sync_cross_set(PIPE_S, mode, id); asc_sync_cross_wait(PIPE_S, mode, id); break;
        }
    }
    out[core] = id + 1;
}
"""
FLAG, WAIT, LOCK, LOCK_ONLY, TO_VECTOR, TO_CUBE, GRID, VECTORS, BLOCK, BY_MODE, WAIT_BY_MODE = range(11)


@pytest.fixture(scope="module")
def kernel():
    return jit.compile(SOURCE)


@edges("bounds", "asc_sync_{notify,wait} asc_{lock,unlock} asc_sync_{intra,inter,subblock,block}_{arrive,wait} asc_sync_cross_{set,wait}")
@pytest.mark.parametrize("what, id, count, mode", [
    (FLAG, 0, 1, 0), (FLAG, 7, 1, 0), (LOCK, 0, 1, 0), (LOCK, 31, 1, 0), *((TO_VECTOR, id, count, 0) for id in (0, 15, 16, 31) for count in (1, 15)),
    *((TO_CUBE, id, count, core) for id in (0, 15) for count in (1, 15) for core in (0, 1)), (GRID, 0, 1, 0), (GRID, 15, 1, 0), (VECTORS, 0, 1, 0),
    (VECTORS, 15, 1, 0), (BLOCK, 0, 15, 0), (BLOCK, 15, 1, 0), *((BY_MODE, id, 1, mode) for id in (0, 15) for mode in (0, 1, 2, 4))])
def test_the_first_and_the_last_id_and_as_many_sets_as_a_counter_holds(kernel, what, id, count, mode):
    out = torch.zeros(3, dtype=torch.int32).npu()
    kernel[1](out, what, id, count, mode)
    assert out.tolist() == [id + 1] * 3


@edges("bounds", "asc_sync_{notify,wait} asc_{lock,unlock} asc_sync_{intra,inter,subblock,block}_{arrive,wait} asc_sync_cross_{set,wait}")
@pytest.mark.parametrize("what, id, mode, message", [
    *((what, id, 0, f"{name}: id = {id}; the field holds 0 to {top}") for what, name, top in (
        (FLAG, "asc_sync_notify", 7), (WAIT, "asc_sync_wait", 7), (LOCK, "asc_unlock", 31), (LOCK_ONLY, "asc_lock", 31), (TO_VECTOR, "asc_sync_intra_arrive", 31),
        (TO_CUBE, "asc_sync_intra_wait", 31), (GRID, "asc_sync_inter_arrive", 15), (VECTORS, "asc_sync_subblock_arrive", 15), (BLOCK, "asc_sync_block_arrive", 15))
      for id in (-1, top + 1)),
    *((BY_MODE, id, mode, f"asc_sync_cross_set: id = {id}; the field holds 0 to {31 if mode == 4 else 15}") for mode in (0, 1, 2, 4) for id in (-1, 32)),
    (WAIT_BY_MODE, 32, 4, "asc_sync_cross_wait: id = 32; the field holds 0 to 31"), (WAIT_BY_MODE, 16, 2, "asc_sync_cross_wait: id = 16; the field holds 0 to 15"),
    (BY_MODE, 0, 3, "mode = 3; the modes are 0, 1, 2 and 4"), (BY_MODE, 0, -1, "mode = -1; the field holds 0 to 4"), (BY_MODE, 0, 5, "mode = 5; the field holds 0 to 4"),
    (WAIT_BY_MODE, 0, 3, "asc_sync_cross_wait: mode = 3; the modes are 0, 1, 2 and 4"), (WAIT_BY_MODE, 0, -1, "asc_sync_cross_wait: mode = -1; the field holds 0 to 4")])
def test_other_ids_and_modes_are_refused(kernel, what, id, mode, message):
    out = torch.zeros(3, dtype=torch.int32).npu()
    with pytest.raises(LaunchError, match=message):
        kernel[1](out, what, id, 1, mode)
    test_the_first_and_the_last_id_and_as_many_sets_as_a_counter_holds(kernel, FLAG, 0, 1, 0)


@edges("bounds", "asc_sync_intra_{arrive,wait}")
@pytest.mark.parametrize("what, id", [(TO_VECTOR, 0), (TO_VECTOR, 31), (TO_CUBE, 15)])
def test_a_sixteenth_set_that_nobody_has_consumed_is_refused(kernel, what, id):
    """The counters have 4 bits. Whoever waits is made to wait for one set less than there are."""
    text = SOURCE.replace("i < count; ++i) asc_sync_intra_wait", "i < 0; ++i) asc_sync_intra_wait")
    with pytest.raises(LaunchError, match="has not consumed 16 sets; .*at most 15"):
        jit.compile(text)[1](torch.zeros(3, dtype=torch.int32).npu(), what, id, 16, 0)
