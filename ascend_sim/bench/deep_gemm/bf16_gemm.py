# SPDX-License-Identifier: MIT
"""How long does bf16_gemm_nt take on the chip?

`python -m ascend_sim.bench.deep_gemm.bf16_gemm [m n k]` measures a shape of one's own.
"""

import ascend_sim.npu  # noqa: F401
import deep_gemm
import torch

from ascend_sim.bench import report
from ascend_sim.bench.deep_gemm._gemm_rows import group_of, main, measure, rows


def run(m: int, n: int, k: int) -> report.Measured:
    """In timing mode: operands are never read."""
    a, b = (torch.empty(size, k, dtype=torch.bfloat16, device="npu") for size in (m, n))
    d = torch.empty(m, n, dtype=torch.bfloat16, device="npu")
    return measure(lambda: deep_gemm.bf16_gemm_nt(a, b, d), "bf16_gemm")


ROWS = rows("bf16", "bf16", run)


def own_row(m: int, n: int, k: int) -> report.Row:
    return report.Row(f"bf16 {m}x{n}x{k}", group_of(m, n, k), lambda: run(m, n, k))


if __name__ == "__main__":
    main("deep_gemm.bf16_gemm", ROWS, own_row)
