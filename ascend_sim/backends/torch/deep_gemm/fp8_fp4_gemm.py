# SPDX-License-Identifier: MIT
"""What deep_gemm.fp8_fp4_gemm_nt computes."""

import torch

from ascend_sim.backends import fp4
from ascend_sim.backends.torch.deep_gemm.product import store
from ascend_sim.backends.torch.deep_gemm.transform_sf import scale_exponents


@torch.no_grad()
def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False, alpha=None, epilogue=None) -> None:
    """d = round(alpha * A @ B.T), plus d itself if c is d, where A and B are the exactly dequantised operands."""
    store(dequantise(*a, recipe_a[0]) @ dequantise(*b, recipe_b[0]).T, d, accumulate=c is not None, alpha=alpha)


def dequantise(data: torch.Tensor, sf: torch.Tensor, gran_mn: int) -> torch.Tensor:
    """data [mn, k], e4m3 or packed e2m1, times 2^(exponent of its row and of its 32-element block of k - 127), in float64: exact.

    Exponent 255 is NaN.
    """
    values = fp4.unpack(data) if fp4.is_packed(data) else data.double()
    mn, k = values.shape
    exponents = scale_exponents(sf, mn, k, gran_mn).to(torch.int64)
    scales = (exponents - 127 + 1023 << 52).view(torch.float64)     # exact: the exponent field of a float64
    scales = torch.where(exponents == 255, torch.nan, scales)
    return values * scales.repeat_interleave(32, dim=1)[:, :k]
