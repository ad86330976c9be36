# SPDX-License-Identifier: MIT
"""What deep_gemm.fp8_fp4_gemm_nt computes on NVIDIA's chips: SM90 scales the sums of every 128 elements of k, SM100 the elements."""

import torch

from ascend_sim.backends import cuda
from ascend_sim.backends.torch.deep_gemm.fp8_fp4_gemm import dequantise
from ascend_sim.backends.torch.deep_gemm.product import store

_BLOCK_K = 128


@torch.no_grad()
def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False, alpha=None, epilogue=None) -> None:
    """As the definition; on SM90 acc += fp32(sfa * sfb) * partial, with fp32 partial sums of 128 products, in the order of k."""
    if cuda.arch() == 100 or recipe_a[1] != _BLOCK_K or recipe_b[1] != _BLOCK_K:
        store(dequantise(*a, recipe_a) @ dequantise(*b, recipe_b).T, d, accumulate=c is not None, alpha=alpha)
        return
    (a_data, sfa), (b_data, sfb) = a, b
    (m, k), n = a_data.shape, b_data.shape[0]
    sum_ = torch.zeros((m, n), dtype=torch.float32, device=d.device)
    for block, begin in enumerate(range(0, k, _BLOCK_K)):
        part = slice(begin, begin + _BLOCK_K)
        partial = (a_data[:, part].double() @ b_data[:, part].double().T).float()
        scale = _column(sfa, block, recipe_a[0], m)[:, None] * _column(sfb, block, recipe_b[0], n)
        sum_ = torch.addcmul(sum_.double(), scale.double(), partial.double()).float()      # a fused multiply-add
    store(sum_.double(), d, accumulate=c is not None, alpha=alpha)


def _column(sf: torch.Tensor, block: int, gran_mn: int, mn: int) -> torch.Tensor:
    return sf[:, block].repeat_interleave(gran_mn)[:mn]
