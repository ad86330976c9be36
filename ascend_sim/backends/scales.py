# SPDX-License-Identifier: MIT
"""Whether fp32 scales of a GEMM can become exponents, and what scales of every dtype are as exponents of blocks of 32."""

import torch

from ascend_sim.backends import host, settings
from ascend_sim.layouts import ue8m0

_PER_ELEMENT = {torch.int16: 2, torch.int32: 4}


def stay_fp32(sf: torch.Tensor, gran_k: int, disable_ue8m0_cast: bool, ignored_rows: torch.Tensor | None = None) -> bool:
    """Scales of 128 elements of k that are no powers of two, or that the caller forbids to convert. In timing mode values are not looked at."""
    if sf.dtype != torch.float32 or gran_k != 128:
        return False
    if disable_ue8m0_cast:
        return True
    if not can_be_looked_at(sf):
        return False
    wrong = host.no_powers_of_two(host.view(sf))
    if ignored_rows is not None:
        wrong &= ~ignored_rows[:, None]
    return bool(wrong.any())


def can_be_looked_at(sf: torch.Tensor) -> bool:
    """False for tensors that hold no values: in timing mode, in a dry run, of no elements."""
    return sf.numel() > 0 and host.holds_values() and not settings.deep_gemm.dry_run and sf.device.type != "meta"


def check_powers_of_two(door, name: str, sf: torch.Tensor, ignored_rows: torch.Tensor | None = None) -> bool:
    """fp32 scales are 2^e or +0 (exponent byte 0, so 2^-127): sign and mantissa bits are 0. inf is exponent byte 255."""
    if sf.dtype != torch.float32 or not can_be_looked_at(sf):
        return True
    values = host.view(sf)
    wrong = host.no_powers_of_two(values)
    if ignored_rows is not None:
        wrong &= ~ignored_rows[:, None]
    if not wrong.any():
        return True
    return door.refuse(f"{name} is {host.first(values, wrong)}, one of {int(wrong.sum())} such among {wrong.numel()} scales; expected "
                       "non-negative powers of two. Round them up with deep_gemm.utils.ceil_to_ue8m0 before quantising.")


def exponents(sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int]) -> torch.Tensor:
    """uint8 [.., mn, ceil(k / 32)]: the exponent byte of each scale, repeated for its gran_mn rows and for each 32 of its gran_k elements."""
    gran_mn, gran_k = recipe
    if sf.dtype == torch.float32:
        codes = sf.contiguous().view(torch.int32) >> 23 & 0xFF
    else:
        codes = ue8m0.unpack(sf, _PER_ELEMENT[sf.dtype])
    codes = codes[..., : -(-k // gran_k)].repeat_interleave(gran_k // 32, dim=-1)[..., : -(-k // 32)]
    return codes.repeat_interleave(gran_mn, dim=-2)[..., :mn, :].to(torch.uint8)


def powers(codes: torch.Tensor) -> torch.Tensor:
    """float64 2^(code - 127), exact; 255 is NaN."""
    wide = codes.to(torch.int64)
    return torch.where(wide == 255, torch.nan, (wide - 127 + 1023 << 52).view(torch.float64))      # the exponent field of a float64
