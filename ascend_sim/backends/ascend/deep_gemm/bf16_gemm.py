# SPDX-License-Identifier: MIT
"""How deep_gemm.bf16_gemm_nt is launched; the kernel is csrc/kernels/deep_gemm/bf16_gemm.cpp."""

from ascend_sim.backends.ascend.launch import gemm_fields, launch


def bf16_gemm_nt(a, b, d, c=None, compiled_dims="nk", alpha=None, epilogue=None) -> None:
    launch("bf16_gemm", d, gemm_fields(a, b, d, c is not None, alpha))
