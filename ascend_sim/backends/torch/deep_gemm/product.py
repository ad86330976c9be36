# SPDX-License-Identifier: MIT
"""How a product becomes D: shared by the dense GEMMs."""

import torch


def store(product: torch.Tensor, d: torch.Tensor, accumulate: bool, alpha: float | None) -> None:
    """Rounds a float64 product to float32, as the accumulator holds it, scales it there, and rounds to d's dtype.

    The chip adds C in d's dtype, after that rounding (an atomic add), hence the second rounding: not round(C + product).
    """
    accumulator = product.float()
    if alpha is not None:
        accumulator = accumulator * alpha
    result = accumulator.to(d.dtype)
    d.copy_(d + result if accumulate else result)
