# SPDX-License-Identifier: MIT
"""How long do vector functions take, from the instructions that ran to the cycles of V? Sums of docs/timing.md, and what others measured."""

from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit

CALL = 23 + 12


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(Path(__file__).with_name("vector_time.cpp"))


def cycles(kernel, times):
    """V's busy cycles on the one core that runs, and how many instructions it had."""
    x = torch.zeros(64).npu()
    with ascend_sim.profile() as p:
        kernel[1](x, times)
    record, = (record for record in p.records if not record.is_estimate)
    return record.aiv["V"].busy_cycles, record.aiv["V"].instructions


# Cycles a row that TileLang's estimator was fitted to on a 950DT (TL-LAT), and ours. A block store takes two cycles of the store port, a fp32 row of
# 128 elements two block stores; what it measured of those is less than DK-REG's rate for them allows.
@pytest.mark.parametrize("kernel, measured, ours", [("same_type", 2, 2), ("fp32_to_bf16", 2, 2), ("bf16_to_fp32", 3.25, 4)])
def test_reordering_a_row_for_the_cube(kernels, kernel, measured, ours):
    (once, _), (twice, _) = cycles(kernels[kernel], 512), cycles(kernels[kernel], 1024)
    assert twice - once == ours * 512
    assert ours == pytest.approx(measured, rel=0.25)


# `times` stores take as long as 2 * times additions. Masks and the first value come on top.
@pytest.mark.parametrize("kernel, calls, body", [("as_one", 1, 1000), ("apart", 1, 2000), ("functions", 3, 2000)],
                         ids=["in one loop side by side", "in loops that follow each other one after the other", "in functions too"])
def test_stores_and_calculations(kernels, kernel, calls, body):
    took, instructions = cycles(kernels[kernel], 1000)
    assert calls * CALL + body <= took <= calls * CALL + body + 2 * calls
    assert instructions == 1
