# SPDX-License-Identifier: MIT
"""How far two results are apart, and how many bytes tensors have."""

import torch

from ascend_sim import arguments
from deep_gemm._differences import report_helper

__all__ = ["calc_diff", "count_bytes", "assert_bitwise_equal"]


def calc_diff(x: torch.Tensor, y: torch.Tensor) -> float:
    """1 - 2 * sum(x y) / sum(x^2 + y^2) in float64: 0 for equal tensors, near half the squared relative error. 0.0 if both are 0."""
    _check_tensors("calc_diff", x, y)
    report_helper("calc_diff")
    try:
        torch.broadcast_shapes(x.shape, y.shape)
        fits = x.device == y.device or not (x.dim() and y.dim())
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"calc_diff: x is {list(x.shape)} on {x.device}, y {list(y.shape)} on {y.device}; expected one shape and one device.")
    x, y = x.double(), y.double()
    denominator = (x * x + y * y).sum()
    if denominator == 0:
        return 0.0
    return (1 - 2 * (x * y).sum() / denominator).item()


def count_bytes(*tensors) -> int:
    """Bytes of all tensors in it, tuples and lists looked into; None counts 0."""
    report_helper("count_bytes")
    total = 0
    for item in tensors:
        if isinstance(item, (tuple, list)):
            total += count_bytes(*item)
        elif item is not None:
            arguments.instance("count_bytes", "tensors", item, torch.Tensor, "tensors, None, or tuples and lists of them")
            total += item.numel() * item.element_size()
    return total


def assert_bitwise_equal(x: torch.Tensor, y: torch.Tensor, label: str = "") -> None:
    """Shape, dtype and every byte are the same; NaN equals NaN of the same bits. Raises AssertionError naming the first difference."""
    _check_tensors("assert_bitwise_equal", x, y)
    report_helper("assert_bitwise_equal")
    prefix = f"{label}: " if label else ""
    if x.shape != y.shape:
        raise AssertionError(f"{prefix}shapes differ: {list(x.shape)} and {list(y.shape)}")
    if x.dtype != y.dtype:
        raise AssertionError(f"{prefix}dtypes differ: {x.dtype} and {y.dtype}")
    size = x.element_size()
    bytes_x, bytes_y = (t.detach().cpu().contiguous().reshape(-1).view(torch.uint8).view(-1, size) for t in (x, y))
    wrong = (bytes_x != bytes_y).any(dim=1)
    if wrong.any():
        flat = int(wrong.nonzero()[0])
        index = [int(i) for i in torch.unravel_index(torch.tensor(flat), x.shape)] if x.dim() else []
        raise AssertionError(f"{prefix}{int(wrong.sum())} of {x.numel()} elements differ, the first at {index}: "
                             f"bytes {bytes_x[flat].tolist()} and {bytes_y[flat].tolist()}")


def _check_tensors(function: str, x, y) -> None:
    arguments.tensor(function, "x", x)
    arguments.tensor(function, "y", y)
