# SPDX-License-Identifier: MIT
"""Whether a GEMM's result is right: against float64, element by element and as a whole, a slab of rows at a time."""

import numpy as np
import torch
from support.cases import Operand
from support.compare import assert_close

_SLAB = 4096                    # rows and columns of D at a time: the largest shapes would need tens of gigabytes of float64 otherwise
_HALF_STEP = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24}


def assert_gemm(d: torch.Tensor, a: Operand, b: Operand, *, alpha: float | None = None, before: torch.Tensor | None = None) -> None:
    """d = before + alpha * A @ B.T up to the order of fp32 sums and the roundings of docs/deep_gemm.md; calc_diff < 1e-5."""
    m, n = d.shape
    result = d.cpu()
    dot = squares = 0.0
    for rows in slabs(m):
        for columns in slabs(n):
            exact, allowed = expected(*products(a, b, rows, columns), d.dtype, alpha, None if before is None else before[rows, columns])
            got = result[rows, columns]
            assert_close(got, exact, ulp=1, floor=allowed, why="fp32 sum in another order, then one rounding, and one more with C")
            want = exact.to(d.dtype).double()
            dot += (got.double() * want).sum().item()
            squares += (got.double().square() + want.square()).sum().item()
    diff = 1 - 2 * dot / squares if squares else 0.0
    assert diff < 1e-5, f"calc_diff is {diff:.3g}"


def slabs(size: int) -> list[slice]:
    return [slice(begin, begin + _SLAB) for begin in range(0, size, _SLAB)]


def expected(product: torch.Tensor, error: torch.Tensor, dtype: torch.dtype, alpha: float | None,
             before: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """(float64 D before its last rounding, how far off it may be before that)."""
    factor = 1.0 if alpha is None else alpha
    scaled, allowed = product * factor, error * abs(factor)
    if before is None:
        return scaled, allowed
    # The product is rounded to D's dtype before C is added: another order of the sum may tip that rounding by a step.
    return scaled.float().to(dtype).double() + before.double(), allowed + 2 * _HALF_STEP[dtype] * scaled.abs()


def product(a: Operand, b: Operand) -> torch.Tensor:
    """A @ B.T in float64."""
    return products(a, b)[0]


def sum_error(a: Operand, b: Operand) -> torch.Tensor:
    """What summing k fp32 products in any order can be off by: k eps sum |a||b|, an allowance per element of D."""
    return products(a, b)[1]


_last: dict[tuple, tuple] = {}


def products(a: Operand, b: Operand, rows: slice = slice(None), columns: slice = slice(None)) -> tuple[torch.Tensor, torch.Tensor]:
    """(product, sum_error) of a part of D. The last ones are kept: neighbouring tests share their operands (cases.py)."""
    key = (id(a.values), id(b.values), rows.start, columns.start)
    if key not in _last:
        x, y = a.values[rows].astype(np.float64), b.values[columns].astype(np.float64)
        error = (np.abs(x) @ np.abs(y).T) * (x.shape[1] * 2.0**-24)
        _last.clear()
        _last[key] = torch.from_numpy(x @ y.T), torch.from_numpy(error), a.values, b.values      # the values stay, so ids stay theirs
    return _last[key][:2]
