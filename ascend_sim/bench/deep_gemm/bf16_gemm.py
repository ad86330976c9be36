# SPDX-License-Identifier: MIT
"""How long does bf16_gemm_nt take on the chip?

`python -m ascend_sim.bench.deep_gemm.bf16_gemm [m n k]` measures a shape of one's own.
"""

import sys

import ascend_sim.npu  # noqa: F401
import deep_gemm
import torch

from ascend_sim.bench import report
from ascend_sim.bench.deep_gemm._gemm_rows import group_of, measure, rows


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
