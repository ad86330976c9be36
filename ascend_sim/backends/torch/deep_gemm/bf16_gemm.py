# SPDX-License-Identifier: MIT
"""What deep_gemm.bf16_gemm_nt computes."""

import torch

from ascend_sim.backends.torch.deep_gemm.product import store


@torch.no_grad()
def bf16_gemm_nt(a, b, d, c=None, compiled_dims="nk", alpha=None, epilogue=None) -> None:
    """d = round(alpha * a @ b.T), or d = round(d + round(alpha * a @ b.T)) if c is d. Products and sums in float64."""
    store(a.double() @ b.double().T, d, accumulate=c is not None, alpha=alpha)
