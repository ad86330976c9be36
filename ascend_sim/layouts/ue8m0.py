# SPDX-License-Identifier: MIT
"""Exponent bytes in tensors: to and from the bits of fp32 numbers, and packed into wider integers, the first in the lowest byte.

A byte e is 2^(e - 127); 255 is NaN. As an fp32 number 2^-127 is subnormal, and exact.
"""

import torch

_SMALLEST = 0x00400000              # 2^-127
_NAN = 0x7FC00000


def to_fp32_bits(codes: torch.Tensor) -> torch.Tensor:
    """int32 of codes 0 to 255 (int32): the fp32 number each stands for."""
    bits = torch.where(codes == 0, _SMALLEST, codes << 23)
    return torch.where(codes == 255, _NAN, bits)


def from_fp32_bits(bits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(int32 codes, bool where there is none). A NaN has code 255."""
    exponent, mantissa = bits >> 23 & 0xFF, bits & 0x7FFFFF
    is_nan = (exponent == 255) & (mantissa != 0)
    is_power = (bits >= 0) & (mantissa == 0) & (exponent > 0) & (exponent < 255)
    is_smallest = bits == _SMALLEST
    codes = torch.where(is_nan, 255, torch.where(is_power, exponent, 0))
    return codes, ~(is_nan | is_power | is_smallest)


def why_not(bits: int) -> str:
    """Why an fp32 number, given by its bits, has no code."""
    if bits < 0:
        return "which is negative"
    if bits == 0:
        return "and UE8M0 has no zero (kernels that are handed fp32 zero read it as 2^-127)"
    if bits == 0x7F800000:
        return "and UE8M0 has no infinity"
    return "which is no power of two" if bits >= 0x00800000 or bits & (bits - 1) else "which is below 2^-127"


def is_transformable(bits: torch.Tensor) -> torch.Tensor:
    """bool: what the libraries' own transforms take, sign and mantissa bits 0: powers of two, +0 and inf."""
    return (bits & 0x807FFFFF) == 0


def unpack(packed: torch.Tensor, per_element: int) -> torch.Tensor:
    """int32 codes [.., columns * per_element] of int16 or int32 [.., columns]."""
    wide = packed.to(torch.int32)
    shifts = torch.arange(per_element, dtype=torch.int32, device=packed.device) * 8
    return (wide[..., None] >> shifts & 0xFF).flatten(-2)


def pack(codes: torch.Tensor, per_element: int) -> torch.Tensor:
    """The inverse: int16 (2 a piece) or int32 (4); missing ones at the end are 0."""
    dtype = {2: torch.int16, 4: torch.int32}[per_element]
    if codes.numel() == 0:
        return codes.new_empty((*codes.shape[:-1], -(-codes.shape[-1] // per_element)), dtype=dtype)
    padded = torch.nn.functional.pad(codes, (0, -codes.shape[-1] % per_element)).to(torch.uint8)
    return padded.contiguous().view(dtype)
