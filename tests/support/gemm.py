# SPDX-License-Identifier: MIT
"""Whether a GEMM's result is right: against float64, element by element and as a whole, a slab of rows at a time.

Every element must be the exact result, rounded to D's dtype, unless two ways of summing in fp32 may round to different sides of a tie:
it has to lie in round([exact - error, exact + error]), and where that is one value it has to be that one. The error is that of summing
k products in fp32 in any order; where no order has to round, because all sums fit 24 bits, it is 0.
"""

from dataclasses import dataclass

import numpy as np
import torch
from support.cases import Operand

_SLAB = 4096                    # rows and columns of D at a time: the largest shapes would need tens of gigabytes of float64 otherwise
UNIT = 2.0**-24                 # of fp32: half a step, relative
# Rounding errors of k additions add up like a random walk: one has a standard deviation below UNIT / sqrt(3) of its sum, the sums are
# as large as the result plus a walk over the products. Five times that is nearly nine standard deviations of the total.
_DEVIATIONS = 5.0


@dataclass
class Interval:
    """What an element of D may be: between low and high, in D's dtype."""

    low: torch.Tensor
    high: torch.Tensor

    def is_one_value(self) -> torch.Tensor:
        return self.low == self.high


def assert_gemm(d: torch.Tensor, a: Operand, b: Operand, *, alpha: float | None = None, before: torch.Tensor | None = None) -> float:
    """d = before + alpha * A @ B.T, rounded as docs/deep_gemm.md says; calc_diff < 1e-5. Returns which part of D could be one value only."""
    m, n = d.shape
    result = d.cpu()
    dot = squares = decided = 0.0
    for rows in slabs(m):
        for columns in slabs(n):
            exact, error = products(a, b, rows, columns)
            old = None if before is None else before[rows, columns]
            got, accepted = result[rows, columns], interval(exact, error, d.dtype, alpha, old)
            _assert_inside(got, accepted, (rows.start, columns.start))
            want = rounded(exact, d.dtype, alpha, old).double()
            dot += (got.double() * want).sum().item()
            squares += (got.double().square() + want.square()).sum().item()
            decided += accepted.is_one_value().sum().item()
    diff = 1 - 2 * dot / squares if squares else 0.0
    assert diff < 1e-5, f"calc_diff is {diff:.3g}"
    return decided / (m * n) if m * n else 1.0


def slabs(size: int) -> list[slice]:
    return [slice(begin, begin + _SLAB) for begin in range(0, size, _SLAB)]


def rounded(product: torch.Tensor, dtype: torch.dtype, alpha: float | None, before: torch.Tensor | None) -> torch.Tensor:
    """The float64 product times alpha, rounded to D's dtype; with C, added to it and rounded again."""
    scaled = product if alpha is None else product * float(np.float32(alpha))
    result = scaled.float().to(dtype)
    return result if before is None else (result.double() + before.double()).to(dtype)


def interval(product: torch.Tensor, error: torch.Tensor, dtype: torch.dtype, alpha: float | None, before: torch.Tensor | None) -> Interval:
    """`rounded` of the ends of product +- error: rounding keeps the order."""
    if alpha is not None:
        error = error + UNIT * product.abs()        # the multiplication by alpha rounds to fp32
    ends = [rounded(product + sign * error, dtype, alpha, before) for sign in ((-1, 1) if alpha is None or alpha >= 0 else (1, -1))]
    return Interval(*ends)


def _assert_inside(got: torch.Tensor, accepted: Interval, first: tuple[int, int]) -> None:
    assert got.shape == accepted.low.shape, f"shapes: {list(got.shape)}, expected {list(accepted.low.shape)}"
    off = ~((got >= accepted.low) & (got <= accepted.high))        # NaN is off, too
    if not off.any():
        return
    i, j = off.nonzero()[0].tolist()
    raise AssertionError(f"{int(off.sum())} of {off.numel()} elements are off, the first at {[i + first[0], j + first[1]]}: {got[i, j].item()!r}, "
                         f"expected {accepted.low[i, j].item()!r} to {accepted.high[i, j].item()!r}")


def product(a: Operand, b: Operand) -> torch.Tensor:
    """A @ B.T in float64."""
    return products(a, b)[0]


def sum_error(a: Operand, b: Operand) -> torch.Tensor:
    """What summing k fp32 products can be off by, whatever the order, per element of D."""
    return products(a, b)[1]


_last: dict[tuple, tuple] = {}


def products(a: Operand, b: Operand, rows: slice = slice(None), columns: slice = slice(None)) -> tuple[torch.Tensor, torch.Tensor]:
    """(product, sum_error) of a part of D. The last ones are kept: neighbouring tests share their operands (cases.py)."""
    key = (id(a.values), id(b.values), rows.start, columns.start)
    if key not in _last:
        x, y = a.values[rows], b.values[columns]
        exact = x.astype(np.float64) @ y.astype(np.float64).T
        _last.clear()
        _last[key] = torch.from_numpy(exact), torch.from_numpy(_sum_error(x, y, exact)), a.values, b.values     # the values stay, so ids stay theirs
    return _last[key][:2]


def _sum_error(x: np.ndarray, y: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Three bounds: the textbook's for any order, the random walk's, and 0 where every sum of products is a multiple of one unit that fits 24 bits."""
    k = x.shape[1]
    magnitude = (np.abs(x) @ np.abs(y).T).astype(np.float64)       # fp32 is good enough for bounds
    walk = np.sqrt((x * x) @ (y * y).T, dtype=np.float64)
    error = np.minimum(k * UNIT * magnitude, _DEVIATIONS * UNIT * np.sqrt(k) * (np.abs(exact) + walk)) * 1.01
    for some in (4, None):          # a few rows show in most cases that there is no such unit
        is_exact = magnitude * 1.01 < 2.0**24 * _granule(x[:some]) * _granule(y[:some])
        if not is_exact.any():
            return error
    error[is_exact] = 0
    return error


def _granule(values: np.ndarray) -> float:
    """The largest power of two that every value is a multiple of."""
    bits = values.view(np.uint32) & 0x7FFFFFFF
    rest = bits & (bits - 1)                        # without its lowest one: of a power of two, which has none in its mantissa, all of it is
    rest[(bits & 0x7FFFFF) == 0] = 0
    lowest = bits.view(np.float32) - rest.view(np.float32)
    return float(lowest.min(where=lowest > 0, initial=np.inf)) if bits.any() else 1.0
