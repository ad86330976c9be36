# SPDX-License-Identifier: MIT
"""What deep_gemm.fp8_fp4_gemm_nt computes."""

import torch

from ascend_sim.backends import fp4, scales
from ascend_sim.backends.torch.deep_gemm.product import store


@torch.no_grad()
def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False, alpha=None, epilogue=None) -> None:
    """d = round(alpha * A @ B.T), plus d itself if c is d, where A and B are the exactly dequantised operands."""
    are_fp32 = any(scales.stay_fp32(sf, gran_k, disable_ue8m0_cast) for (_, sf), (_, gran_k) in ((a, recipe_a), (b, recipe_b)))
    store(dequantise(*a, recipe_a, are_fp32) @ dequantise(*b, recipe_b, are_fp32).T, d, accumulate=c is not None, alpha=alpha)


def dequantise(data: torch.Tensor, sf: torch.Tensor, recipe: tuple[int, int], is_fp32: bool = False) -> torch.Tensor:
    """data [mn, k], e4m3 or packed e2m1, times the scale of its gran_mn rows and gran_k elements of k, in float64: exact.

    A scale is 2^(exponent - 127), NaN for exponent 255, also if sf is fp32; with is_fp32 it is the fp32 number.
    """
    values = fp4.unpack(data) if fp4.is_packed(data) else data.double()
    (mn, k), (gran_mn, gran_k) = values.shape, recipe
    if is_fp32:
        return values * sf.double().repeat_interleave(gran_mn, dim=0)[:mn].repeat_interleave(gran_k, dim=1)[:, :k]
    return values * scales.powers(scales.exponents(sf, mn, k, recipe)).repeat_interleave(32, dim=1)[:, :k]
