# SPDX-License-Identifier: MIT
"""How long does fp8_gemm_nt take on the chip? `python benchmarks/deep_gemm/fp8_gemm.py [m n k]`; without sizes, the published rows."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import deep_gemm
import report
import torch
from gemm_rows import group_of, measure, rows


def run(m: int, n: int, k: int) -> report.Measured:
    """In timing mode: operands are never read. Scales are in their final layout: the published time is the GEMM kernel's alone."""
    a, b = (operand(size, k) for size in (m, n))
    d = torch.empty(m, n, dtype=torch.bfloat16, device="npu")
    return measure(lambda: deep_gemm.fp8_gemm_nt(a, b, d), "fp8_gemm")


def operand(mn: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    data = torch.empty(mn, k, dtype=torch.float8_e4m3fn, device="npu")
    sf = torch.empty(-(-k // 64), mn, dtype=torch.int16, device="npu").T
    return data, sf


ROWS = rows("fp8", "fp8", run)
ROWS_TO_COME = rows("fp8", "fp4", None) + rows("fp4", "fp4", None)

if __name__ == "__main__":
    import ascend_sim
    ascend_sim.mode("timing")
    shape = [int(size) for size in sys.argv[1:4]]
    own = [report.Row(f"fp8 {'x'.join(map(str, shape))}", group_of(*shape), lambda: run(*shape))] if shape else ROWS
    print(report.table(report.run(own)))
