# SPDX-License-Identifier: MIT
"""How long does fp8_fp4_gemm_nt take on the chip, in FP8 x FP8, FP8 x FP4 and FP4 x FP4?

`python -m ascend_sim.bench.deep_gemm.fp8_fp4_gemm [m n k [fp8|fp4 fp8|fp4]]` measures a shape of one's own; the formats are those of a and b,
fp8 if not given.
"""

import ascend_sim.npu  # noqa: F401
import deep_gemm
import torch

from ascend_sim.bench import report
from ascend_sim.bench.deep_gemm._gemm_rows import group_of, main, measure, rows

FORMATS = ("fp8", "fp4")
PAIRS = (("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4"))


def run(m: int, n: int, k: int, a_format: str, b_format: str) -> report.Measured:
    """In timing mode: operands are never read. Scales are in their final layout: the published time is the GEMM kernel's alone."""
    a, b = operand(m, k, a_format), operand(n, k, b_format)
    d = torch.empty(m, n, dtype=torch.bfloat16, device="npu")
    return measure(lambda: deep_gemm.fp8_fp4_gemm_nt(a, b, d), "gemm_impl")


def operand(mn: int, k: int, number_format: str) -> tuple[torch.Tensor, torch.Tensor]:
    if number_format == "fp4":
        data = torch.empty(mn, k // 2, dtype=torch.int8, device="npu")
    else:
        data = torch.empty(mn, k, dtype=torch.float8_e4m3fn, device="npu")
    sf = torch.empty(-(-k // 64), mn, dtype=torch.int16, device="npu").T
    return data, sf


ROWS = [row for a, b in PAIRS for row in rows(a, b, lambda m, n, k, a=a, b=b: run(m, n, k, a, b))]


def own_row(m: int, n: int, k: int, a: str = "fp8", b: str = "fp8") -> report.Row:
    if "fp4" in (a, b) and k % 2:
        raise ValueError(f"k is {k}; expected an even number with fp4, of which a byte holds two")
    name = a if a == b else f"{a}x{b}"
    return report.Row(f"{name} {m}x{n}x{k}", group_of(m, n, k), lambda: run(m, n, k, a, b))


if __name__ == "__main__":
    main("deep_gemm.fp8_fp4_gemm", ROWS, own_row, FORMATS)
