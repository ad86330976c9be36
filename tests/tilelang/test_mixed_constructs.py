# SPDX-License-Identifier: MIT
"""Do the constructs of mixed_constructs.py do what they should? Each against float64."""

import ml_dtypes
import numpy as np
import pytest
import torch

pytestmark = pytest.mark.tilelang


@pytest.fixture(scope="module")
def programs(load_programs):
    return load_programs("mixed_constructs")


def test_mx_gemm_from_l0(programs, unwritten):
    random = np.random.default_rng(3)
    m = n = 64
    k = 128
    codes = [random.standard_normal((rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (m, n)]
    scales = [random.integers(120, 134, (rows, k // 32), dtype=np.uint8) for rows in (m, n)]
    c = unwritten(m, n)
    data = [torch.from_numpy(x.view(np.uint8)).view(torch.float8_e4m3fn).npu() for x in codes]
    pairs = [torch.from_numpy(x.view(np.uint16)).npu() for x in scales]
    programs.mx_from_l0()(*data, *pairs, c)
    wide = [x.astype(np.float64) * np.exp2(s.astype(np.float64) - 127).repeat(32, axis=1) for x, s in zip(codes, scales)]
    want, size = wide[0] @ wide[1].T, np.abs(wide[0]) @ np.abs(wide[1]).T
    assert (np.abs(c.cpu().numpy() - want) <= 2**-20 * size).all()


def test_synchronisation_by_hand(programs, unwritten):
    blocks, m, n, k = 2, 64, 64, 32
    half = m // 2
    a, b = torch.randn(blocks, m, k).bfloat16(), torch.randn(blocks, n, k).bfloat16()
    az = torch.full((blocks, 2, k // 16, half + 1, 16), torch.nan, dtype=torch.bfloat16)        # the row of padding goes nowhere
    az[:, :, :, :half] = a.view(blocks, 2, half, k // 16, 16).transpose(2, 3)
    c = unwritten(blocks, m, n)
    programs.by_hand()(az.npu(), b.npu(), c)
    torch.testing.assert_close(c.cpu().double(), a.double() @ b.double().mT + 1, rtol=1e-5, atol=1e-5)


def test_one_core_after_the_other(programs, unwritten):
    x, y = torch.randn(2, 64), unwritten(96)
    programs.one_after_the_other()(x.npu(), y)
    assert torch.equal(y.cpu(), torch.cat([x[0, :32], x[1]]))
