# SPDX-License-Identifier: MIT
"""What may happen to a product between the accumulator and D. At most one of `alpha=` and `epilogue=` goes into a call.

Source: deep_gemm.md 10; docs/deep_gemm.md, "Epilogues".
"""

from numbers import Real

import torch

from ascend_sim import arguments

__all__ = ["Epilogue", "Identity", "Alpha", "FP8Quantization"]


class Epilogue:
    """The base of the epilogues; cannot be constructed."""

    def __new__(cls, *arguments, **keywords):
        if cls is Epilogue:
            raise TypeError("Epilogue is abstract; use Identity(), Alpha(alpha) or FP8Quantization(sfd).")
        return super().__new__(cls)


class Identity(Epilogue):
    """The accumulator is rounded to D's dtype: the default. D: bf16 or fp32."""

    def __repr__(self) -> str:
        return "Identity()"


class Alpha(Epilogue):
    """The fp32 accumulator times `alpha`, then rounded to D's dtype: the same as passing alpha=. D: bf16 or fp32."""

    def __init__(self, alpha: float):
        if not isinstance(alpha, Real) or isinstance(alpha, bool):
            raise TypeError(f"Alpha: alpha is of type {type(alpha).__name__}; expected a number.")
        try:
            self.alpha = float(alpha)
        except OverflowError:
            raise ValueError(f"Alpha: alpha is a whole number of {alpha.bit_length()} bits; expected one that a floating-point number can hold.") from None

    def __repr__(self) -> str:
        return f"Alpha({self.alpha})"


class FP8Quantization(Epilogue):
    """D becomes e4m3 with one UE8M0 scale per row and 32 columns, written into `sfd`. Only fp8_einsum takes it, not the dense GEMMs."""

    def __init__(self, sfd: torch.Tensor):
        if not isinstance(sfd, torch.Tensor) or sfd.dtype != torch.int16 or sfd.dim() != 2:
            what = f"a tensor of {str(sfd.dtype).removeprefix('torch.')} {list(sfd.shape)}" if isinstance(sfd, torch.Tensor) else arguments.shown(sfd)
            raise TypeError(f"FP8Quantization: sfd is {what}; expected an int16 tensor [m, batches * n / 64].")
        self.sfd = sfd

    def __repr__(self) -> str:
        return f"FP8Quantization(sfd={list(self.sfd.shape)})"
