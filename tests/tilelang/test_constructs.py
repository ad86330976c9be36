# SPDX-License-Identifier: MIT
"""Do the constructs that no example needs do what they should? Each against numpy; scripts/tilelang_constructs.py lists what is used nowhere."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.tilelang


@pytest.fixture(scope="module")
def constructs(load_programs):
    return load_programs("constructs")


def test_every_construct_of_the_ascend_language_is_in_a_checked_program(tilelang):
    spec = importlib.util.spec_from_file_location("tilelang_constructs", Path(__file__).parents[2] / "scripts" / "tilelang_constructs.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert len(script.constructs()) > 130 and script.unused() == []


def test_simd_values(constructs, unwritten):
    random = np.random.default_rng(1)
    f = random.standard_normal((2, 64)).astype(np.float32)
    u = random.integers(0, 2**32, (2, 64), dtype=np.uint32)
    u[:, 0] = 0, 0xFFFFFFFF
    b = random.integers(0, 256, 256, dtype=np.uint8)
    outs = unwritten(8, 64, dtype=torch.float32), unwritten(19, 64, dtype=torch.uint32), unwritten(3, 128, dtype=torch.uint16)
    constructs.simd_values()(*[torch.from_numpy(x).npu() for x in (f, u, b)], *outs)
    fo, uo, ho = (x.cpu().numpy() for x in outs)
    x, y = f
    np.testing.assert_allclose(fo[0], np.exp(x.astype(np.float64)), rtol=2e-7)
    np.testing.assert_allclose(fo[1], np.log(np.abs(x).astype(np.float64)), rtol=3e-7, atol=1e-7)
    np.testing.assert_array_equal(fo[2], np.where(x >= 0, x, x * np.float32(0.25)))
    np.testing.assert_array_equal(fo[3], np.where(x >= 0, x, x * y))
    np.testing.assert_array_equal(fo[4], np.abs(x - y))
    np.testing.assert_array_equal(fo[5][:8], x.reshape(8, 8).min(1))
    np.testing.assert_array_equal(fo[6][:32], x[0::2] + x[1::2])
    np.testing.assert_array_equal(fo[7], x)

    p, q = u.astype(np.uint64)
    ones = np.uint64(1)
    carry = (p + q) >> np.uint64(32)
    whole = (p >= q).astype(np.uint64)
    wide = p + q + carry, p - q, p - q - (ones - whole), p * q
    np.testing.assert_array_equal(uo[0], (p + q).astype(np.uint32))
    np.testing.assert_array_equal(uo[1], carry)
    np.testing.assert_array_equal(uo[2], wide[0].astype(np.uint32))
    np.testing.assert_array_equal(uo[3], wide[0] >> np.uint64(32))
    np.testing.assert_array_equal(uo[4], wide[1].astype(np.uint32))
    np.testing.assert_array_equal(uo[5], whole)
    np.testing.assert_array_equal(uo[6], wide[2].astype(np.uint32))
    np.testing.assert_array_equal(uo[7], (p >= q + (ones - whole)).astype(np.uint64))
    np.testing.assert_array_equal(uo[8], wide[3].astype(np.uint32))
    np.testing.assert_array_equal(uo[9], wide[3] >> np.uint64(32))
    np.testing.assert_array_equal(uo[10], ~u[0])

    positive, lane = x > 0, np.arange(64)
    np.testing.assert_array_equal(uo[11], np.cumsum(positive) - positive)
    np.testing.assert_array_equal(uo[12], np.where(lane < 8, positive, lane < 20))
    np.testing.assert_array_equal(uo[13], positive | (lane < 8))
    np.testing.assert_array_equal(uo[14], np.stack([positive[:32], lane[:32] < 20], axis=1).reshape(64))
    for row in (15, 16, 17):
        np.testing.assert_array_equal(uo[row], positive)
    np.testing.assert_array_equal(uo[18], u[0].reshape(8, 8)[::-1].reshape(64))

    counts = np.bincount(b, minlength=256)
    np.testing.assert_array_equal(ho[0], counts[:128])
    np.testing.assert_array_equal(ho[1], np.cumsum(counts)[128:])
    np.testing.assert_array_equal(ho[2], b[128:])


def test_reductions(constructs, unwritten):
    x, i = torch.randn(8, 64), torch.randint(-1000, 1000, (8, 64), dtype=torch.int32)
    fo, io = unwritten(5, 8, dtype=torch.float32), unwritten(3, 8, dtype=torch.int32)
    constructs.reductions()(x.npu(), i.npu(), fo, io)
    fo, io = fo.cpu(), io.cpu()
    for got, want in zip(fo, (x.amax(1), x.amin(1), x.sum(1), x.abs().amax(1), x.abs().sum(1))):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    for got, want in zip(io, (i.amax(1), i.sum(1), i.amin(1))):
        assert torch.equal(got, want.int())


@pytest.mark.parametrize("mode, tolerance", [(None, 1e-6), ("nearest_even", 2**-10)])
def test_gemm_in_fp32_and_hf32(constructs, unwritten, mode, tolerance):
    m, n, k = 256, 384, 128
    a, b = torch.randn(m, k), torch.randn(n, k)
    c = unwritten(m, n, dtype=torch.float32)
    constructs.scheduled_gemm(m, n, k, mode)(a.npu(), b.npu(), c)
    want = a.double() @ b.double().T
    error = ((c.cpu() - want).abs().max() / want.abs().max()).item()
    assert error <= tolerance and (mode is None or error > 1e-6)


def test_thread_indices_and_printing(constructs, unwritten, capfd):
    x = unwritten(256, dtype=torch.int32)
    constructs.threads()(x)
    t = torch.arange(256)
    assert torch.equal(x.cpu(), (t % 64 + 1000 * (t // 64 % 2) + 100000 * (t // 128)).int())
    assert "fifth" in capfd.readouterr().out
