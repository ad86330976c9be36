# SPDX-License-Identifier: MIT
"""Does a launch leave anything behind for the next one? Only what was used is cleared between them."""

import pytest
import torch
from ascend_sim import jit
from ascend_sim.errors import LaunchError

TEXT = """
extern "C" __global__ __vector__ void sets(__gm__ float* x) { asc_sync_notify(PIPE_V, PIPE_MTE3, 0); }
extern "C" __global__ __vector__ void waits(__gm__ float* x) {
    asc_sync_wait(PIPE_V, PIPE_MTE3, 0);
    asc_copy_ub2gm_align(x, reinterpret_cast<float*>(ascend::isa::ub_base()), 1, 32, asc_store_l2_cache_mode{0}, 0, 0);
}
extern "C" __global__ __cube__ void cube(__gm__ float* x) { asc_sync_pipe(PIPE_ALL); }
extern "C" __global__ __mix__(1, 2) void tells(__gm__ float* x) {
    if (running_is_cube()) asc_sync_intra_arrive(PIPE_FIX, 3);
}
extern "C" __global__ __mix__(1, 2) void listens(__gm__ float* x) {
    if (!running_is_cube()) asc_sync_intra_wait(PIPE_MTE3, 3);
}
""".replace("running_is_cube()", "ascend::isa::on_cube_core()")


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(TEXT)


@pytest.mark.parametrize("leaves, between, needs", [
    ("sets", (), "waits"),
    ("sets", ("cube",), "waits"),              # vector cores that did not run meanwhile
    ("sets", ("cube", "cube"), "waits"),
    ("tells", (), "listens"),                  # a counter of another core
    ("tells", ("cube",), "listens"),
])
def test_a_flag_of_the_launch_before_is_not_set(kernels, leaves, between, needs):
    x = torch.zeros(64, device="npu")
    for name in (leaves, *between):
        kernels[name][4](x)
    with pytest.raises(LaunchError, match="no core can continue"):
        kernels[needs][4](x)
