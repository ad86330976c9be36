# SPDX-License-Identifier: MIT
"""Do constructs that TileLang shares between targets do on the chip's threads what they should? Against numpy."""

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.tilelang


def test_thread_values(load_programs, unwritten):
    random = np.random.default_rng(5)
    x = random.integers(-100, 100, 64, dtype=np.int32)
    f = random.standard_normal((4, 64)).astype(np.float32)
    io, fo = unwritten(9, 64, dtype=torch.int32), unwritten(9, 64)
    totals = torch.tensor([1000, 17, -17], dtype=torch.int32).npu()
    load_programs("shared_constructs").thread_values()(torch.from_numpy(x).npu(), torch.from_numpy(f).npu(), io, fo, totals)
    io, fo = io.cpu().numpy(), fo.cpu().numpy()
    lane, warps = np.arange(64), x.reshape(2, 32)

    def bits(chosen):
        return (chosen.reshape(2, 32).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1).astype(np.uint32).view(np.int32)
    equal = np.testing.assert_array_equal
    equal(io[0], np.clip(x, -5, 5))
    for row, values in ((1, warps.sum(1)), (2, warps.max(1)), (3, warps.min(1)), (4, bits(x > 0)), (5, bits((x > 0) & (lane % 32 < 16)))):
        equal(io[row], values.repeat(32))
    equal(io[6], np.where(lane % 3 == 0, bits(lane % 3 == 0).repeat(32), 0))
    equal(np.sort(io[7]), 100 + lane)               # each thread had a turn, in whatever order
    equal(io[8], np.maximum(np.minimum(x, 7), lane))
    assert totals.tolist() == [1000 + x.sum(), max(17, x.max()), min(-17, x.min())]
    equal(fo[:4], np.float32(2) + np.maximum(f, 0))
    equal(fo[4:8], np.zeros((4, 64)))
    np.testing.assert_allclose(fo[8], 1 + f.sum(0), rtol=1e-6, atol=1e-6)
