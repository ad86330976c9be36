# SPDX-License-Identifier: MIT
"""What deep_gemm.bf16_gemm_nt computes on NVIDIA's chips: exact products, fp32 sums, one rounding; C is added in d's dtype."""

from ascend_sim.backends.torch.deep_gemm.bf16_gemm import bf16_gemm_nt

__all__ = ["bf16_gemm_nt"]
