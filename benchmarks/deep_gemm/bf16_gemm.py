# SPDX-License-Identifier: MIT
"""How long does bf16_gemm_nt take on the chip? `python benchmarks/deep_gemm/bf16_gemm.py [m n k]`; without sizes, the published rows."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import deep_gemm
import report
import torch
from gemm_rows import group_of, measure, rows


def run(m: int, n: int, k: int) -> report.Measured:
    """In timing mode: operands are never read."""
    a, b = (torch.empty(size, k, dtype=torch.bfloat16, device="npu") for size in (m, n))
    d = torch.empty(m, n, dtype=torch.bfloat16, device="npu")
    return measure(lambda: deep_gemm.bf16_gemm_nt(a, b, d), "bf16_gemm")


ROWS = rows("bf16", "bf16", run)

if __name__ == "__main__":
    import ascend_sim
    ascend_sim.mode("timing")
    shape = [int(size) for size in sys.argv[1:4]]
    own = [report.Row(f"bf16 {'x'.join(map(str, shape))}", group_of(*shape), lambda: run(*shape))] if shape else ROWS
    print(report.table(report.run(own)))
