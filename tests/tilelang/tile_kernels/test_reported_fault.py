# SPDX-License-Identifier: MIT
"""Does ASCEND_SIM_CHECK=memory find what is wrong in a kernel of the wheel? Everything else here runs under it without a report (make test-tilelang)."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.tilelang

PROGRAM = """
import ascend_sim.tilelang
import tile_kernels, torch
streams, hidden = 2, 4160
given = [torch.randn(2, 35, hidden).bfloat16(), torch.randn(2, 35, streams, hidden).bfloat16(), torch.rand(2, 35, streams, 1), torch.rand(2, 35, streams, streams),
         torch.randn(2, 35, streams, hidden).bfloat16()]
tile_kernels.mhc.mhc_post_bwd(*[x.npu() for x in given])
"""


def test_columns_that_nobody_loaded_enter_the_gradients_of_the_mixes(tk):
    """mhc_post_bwd takes 4160 columns as two tiles of 2112 and sums over both in full; the last 64 are whatever UB held."""
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], env=os.environ | {"ASCEND_SIM_CHECK": "memory"}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "mhc_post_bwd_asc_kernel" in done.stderr and "holds undefined data: nothing has written it since the block began" in done.stderr, done.stderr[-2000:]
