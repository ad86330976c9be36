# SPDX-License-Identifier: MIT
"""Does zero_ write zeros, exactly where it should? Large tensors take another way than small ones."""

import deep_gemm
import pytest
import torch

LARGE = 32 << 20        # bytes from which on pages are given back


@pytest.mark.parametrize("size, begin, end", [(LARGE + 4096, 0, LARGE + 4096), (LARGE + 10000, 1, LARGE + 9999), (LARGE + 9000, 4095, LARGE + 4097),
                                              (1000, 3, 900), (LARGE, 0, LARGE - 1)])
def test_the_bytes_named_and_no_others(size, begin, end):
    x = torch.full((size,), 7, dtype=torch.uint8, device="npu")
    x[begin:end].zero_()
    host = x.cpu()
    assert not host[begin:end].any()
    assert (host[:begin] == 7).all() and (host[end:] == 7).all()
    x[begin:end].fill_(9)
    assert (x.cpu()[begin:end] == 9).all()


def test_strides_and_versions():
    x = torch.ones(4, 6, device="npu")
    version = x._version
    assert x[:, ::2].zero_().sum() == 0
    assert x.sum().item() == 12 and x._version == version + 1
    y = torch.ones(3, LARGE // 4, device="npu").t()
    assert not y.zero_().cpu().any()


def elapsed_us(run):
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    return begin.elapsed_time(end) * 1e3


def test_zeroing_takes_simulated_time():
    cache = torch.empty(64 << 20, dtype=torch.int32, device="npu")
    assert elapsed_us(cache.zero_) == pytest.approx((256 << 20) / 3.5e6, rel=0.1)


def test_clearing_more_than_the_l2_holds_cools_it():
    a, b = (torch.randn(2048, 512, device="npu").bfloat16() for _ in range(2))
    d = torch.empty(2048, 2048, dtype=torch.bfloat16, device="npu")
    cache = torch.empty(64 << 20, dtype=torch.int32, device="npu")

    def gemm():
        deep_gemm.bf16_gemm_nt(a, b, d)
    cache.zero_()
    cold = elapsed_us(gemm)
    warm = elapsed_us(gemm)
    torch.empty(1 << 20, dtype=torch.int32, device="npu").zero_()       # fits beside it
    still_warm = elapsed_us(gemm)
    cache.zero_()
    # Differences of a clock that earlier tests have moved far: its last bits are lost.
    assert still_warm == pytest.approx(warm, rel=1e-6) and cold == pytest.approx(elapsed_us(gemm), rel=1e-6) and warm < 0.99 * cold
