# SPDX-License-Identifier: MIT
"""Are results the same whatever the host: bit for bit for any number of threads, within rounding for any SIMD level?"""

import importlib.util

import deep_gemm
import pytest
import torch
from ascend_sim import config
from support.cases import bf16, fp4, fp8, poisoned
from support.compare import assert_close, assert_same_bytes
from support.gemm import product, sum_error

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ascend_sim._C") is None, reason="the extension is not built here; make build")


@pytest.fixture
def native():
    from ascend_sim import _C
    torch.npu.init()                        # applies the environment first, so that it does not undo what a test sets
    level = _C.host_isa()
    yield _C
    _C.set_threads(config.threads())
    _C.set_host_isa(level)


def bf16_gemm():
    a, b, d = bf16(600, 500, "npu", 1), bf16(700, 500, "npu", 2), poisoned(600, 700, "npu", torch.float32)
    deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d)
    return d, a, b


def fp8_gemm():
    a, b, d = fp8(600, 500, "npu", 1), fp8(700, 500, "npu", 2), poisoned(600, 700, "npu", torch.float32)
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
    return d, a, b


def fp8_fp4_gemm():
    a, b, d = fp8(600, 500, "npu", 1), fp4(700, 500, "npu", 2), poisoned(600, 700, "npu", torch.float32)
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
    return d, a, b


def fp4_gemm():
    a, b, d = fp4(600, 500, "npu", 1), fp4(700, 500, "npu", 2), poisoned(600, 700, "npu", torch.float32)
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
    return d, a, b


def accumulating_gemm():
    a, b = bf16(260, 4096, "npu", 1), bf16(300, 4096, "npu", 2)
    d = torch.zeros(260, 300).npu()
    for _ in range(2):
        deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d, c=d, alpha=0.5)
    return d, a, b


GEMMS = [bf16_gemm, fp8_gemm, fp8_fp4_gemm, fp4_gemm, accumulating_gemm]


@pytest.mark.parametrize("gemm", GEMMS)
def test_same_bits_for_1_2_and_7_threads(native, gemm):
    results = []
    for threads in (1, 2, 7):
        native.set_threads(threads)
        results.append(gemm()[0].cpu())
    assert_same_bytes(results[1], results[0])
    assert_same_bytes(results[2], results[0])


@pytest.fixture(params=[level for level in config.HOST_ISAS if level != "auto"])
def level(request, native):
    try:
        native.set_host_isa(request.param)
    except ValueError as error:
        pytest.skip(str(error))
    assert native.host_isa() == request.param
    return request.param


@pytest.mark.parametrize("gemm", GEMMS)
def test_every_level_is_within_rounding(level, gemm):
    d, a, b = gemm()
    assert_close(d, product(a, b), ulp=1, floor=2 * sum_error(a, b), why="fp32 sums in the level's own order, twice when accumulating")


def test_scale_transform_is_bit_exact_on_every_level(level):
    sf = torch.ldexp(torch.ones(300, 11), torch.randint(-126, 127, (300, 11)))
    packed = deep_gemm.transform_sf_into_required_layout(sf.npu(), 300, 352, (1, 1, 32), is_sfa=True)
    from ascend_sim import backends
    with backends.use("torch"):
        expected = deep_gemm.transform_sf_into_required_layout(sf, 300, 352, (1, 1, 32), is_sfa=True)
    assert_same_bytes(packed, expected)
