# SPDX-License-Identifier: MIT
"""Is the simulated time of the dense GEMMs the published one? Cold L2, timing mode; the figures of ascend_sim/bench/published_performance.json."""

import statistics

import ascend_sim
import deep_gemm
import pytest
import torch
from ascend_sim import _C

PEAK = [("bf16", 4096, 7168, 16384, 2229.9), ("fp8", 4096, 7168, 16384, 1117.6), ("fp8xfp4", 4096, 7168, 16384, 1117.8),
        ("fp4", 4096, 7168, 16384, 565.6)]
LARGE = [("fp8", 4096, 24576, 1536, 362.2), ("fp8", 4096, 4096, 7168, 282.9)]
# Limited by how much a core can have under way; hbm.latency was chosen on these.
THIN = [("fp8", 128, 2112, 7168, 15.0), ("fp8", 128, 24576, 1536, 20.6), ("fp8", 128, 7168, 16384, 54.8),
        ("fp8", 128, 7168, 2048, 10.1), ("fp8", 4096, 576, 7168, 54.6)]


def operand(number_format: str, mn: int, k: int):
    if number_format == "bf16":
        return torch.empty(mn, k, dtype=torch.bfloat16, device="npu")
    dtype, bytes_of_k = (torch.int8, k // 2) if number_format == "fp4" else (torch.float8_e4m3fn, k)
    return torch.empty(mn, bytes_of_k, dtype=dtype, device="npu"), torch.empty(-(-k // 64), mn, dtype=torch.int16, device="npu").T


def gemm(formats: str, m: int, n: int, k: int):
    a_format, b_format = formats.split("x") if "x" in formats else (formats, formats)
    a, b, d = operand(a_format, m, k), operand(b_format, n, k), torch.empty(m, n, dtype=torch.bfloat16, device="npu")
    function = deep_gemm.bf16_gemm_nt if formats == "bf16" else deep_gemm.fp8_fp4_gemm_nt
    with ascend_sim.mode("timing"):
        _C.flush_l2(0)
        with ascend_sim.profile(timeline=False) as p:
            function(a, b, d)
    record, = (record for record in p.records if "gemm_impl" in record.name)
    return record


def error(row) -> float:
    return gemm(*row[:4]).simulated_us / row[4] - 1


@pytest.mark.parametrize("row", PEAK, ids=str)
def test_the_peak_shape_is_within_3_percent(row):
    assert abs(error(row)) < 0.03


@pytest.mark.parametrize("row", LARGE + THIN, ids=str)
def test_the_other_shapes_are_within_15_percent(row):
    assert abs(error(row)) < 0.15


def test_the_thin_shapes_are_within_10_percent_in_the_median():
    assert statistics.median(abs(error(row)) for row in THIN) < 0.10


def test_what_limits_128x7168x16384_is_the_reads_under_way():
    record = gemm("fp8", 128, 7168, 16384)
    assert record.limit == "aic.MTE2" and record.busy["aic.MTE2"] > 0.9
    # Far from the limits that cores share: L2 takes 5.2 TB/s, HBM 3.5.
    assert record.l2_bytes / record.simulated_us * 1e6 < 0.75 * 5.2e12
    assert record.hbm_bytes / record.simulated_us * 1e6 < 0.75 * 3.5e12
