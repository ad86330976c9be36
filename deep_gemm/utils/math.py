# SPDX-License-Identifier: MIT
"""Casts to FP8 and FP4 with block scales, in plain PyTorch; any device. Source: DeepGEMM 2.6.1; docs/deep_gemm.md, "Casts".

All take a matrix x [m, n]. Per block of elements: amax = max |x|, at least 1e-4; sf = amax / 448 (FP8) or / 6 (FP4), rounded up to a
power of two with use_ue8m0; q = x * (1 / sf), rounded to nearest even (FP8) or to nearest, midpoints towards 0 (FP4).
For the Ascend kernels use gran_k=32 and use_ue8m0=True.
"""

import torch

from ascend_sim import arguments
from deep_gemm._differences import report_helper

__all__ = [
    "ceil_div", "align", "ceil_to_ue8m0", "pack_ue8m0_to_int", "unpack_ue8m0_from_int",
    "per_token_cast_to_fp8", "per_channel_cast_to_fp8", "per_block_cast_to_fp8", "per_custom_dims_cast_to_fp8",
    "per_token_cast_to_fp4", "transpose_packed_fp4", "cast_back_from_fp4", "cast_back_from_fp8",
]

_SMALLEST_AMAX = 1e-4
_LARGEST_E4M3, _LARGEST_E2M1 = 448.0, 6.0
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)                # value of codes 0..7; bit 3 is the sign
_E2M1_BOUNDARIES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)      # midpoints of neighbours


def ceil_div(x: int, y: int) -> int:
    """x / y rounded up."""
    _check_whole("ceil_div", x, y)
    report_helper("ceil_div")
    return (x + y - 1) // y


def align(x: int, y: int) -> int:
    """The smallest multiple of y that is at least x."""
    _check_whole("align", x, y)
    report_helper("align")
    return ceil_div(x, y) * y


def ceil_to_ue8m0(x: torch.Tensor) -> torch.Tensor:
    """|x| rounded up to a power of two, as fp32; results are 2^-126 to 2^127."""
    arguments.tensor("ceil_to_ue8m0", "x", x)
    report_helper("ceil_to_ue8m0")
    bits = x.abs().float().view(torch.int32)
    exponent = (bits >> 23 & 0xFF) + (bits & 0x7FFFFF != 0).int()
    return (exponent.clamp(1, 254) << 23).view(torch.float32)


def pack_ue8m0_to_int(x: torch.Tensor) -> torch.Tensor:
    """fp32 powers of two [.., 4 p] to int32 [.., p]: four exponent bytes each, the first in the lowest byte (CUDA's packing). 0 gives byte 0, inf 255."""
    arguments.tensor("pack_ue8m0_to_int", "x", x)
    report_helper("pack_ue8m0_to_int")
    if x.dtype != torch.float32 or x.dim() == 0 or x.shape[-1] % 4:
        raise ValueError(f"pack_ue8m0_to_int: x is {x.dtype} {list(x.shape)}; expected float32 with a last dimension that is a multiple of 4.")
    bits = x.contiguous().view(torch.int32)
    if (bits & 0x807FFFFF).any():
        raise ValueError("pack_ue8m0_to_int: x holds values that are not powers of two; round them up with ceil_to_ue8m0.")
    return (bits >> 23).to(torch.uint8).view(torch.int32)


def unpack_ue8m0_from_int(packed_sf: torch.Tensor) -> torch.Tensor:
    """The inverse of pack_ue8m0_to_int: int32 [.., p] to fp32 [.., 4 p]."""
    if arguments.tensor("unpack_ue8m0_from_int", "packed_sf", packed_sf).dtype != torch.int32 or packed_sf.dim() == 0:
        raise TypeError(f"unpack_ue8m0_from_int: packed_sf is {packed_sf.dtype} {list(packed_sf.shape)}; expected int32 [.., p].")
    report_helper("unpack_ue8m0_from_int")
    return (packed_sf.contiguous().view(torch.uint8).to(torch.int32) << 23).view(torch.float32)


def per_token_cast_to_fp8(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128, use_packed_ue8m0: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per row and gran_k columns. Returns (e4m3 [m, n], fp32 [m, ceil(n / gran_k)]), or int32 scales as pack_ue8m0_to_int."""
    report_helper("per_token_cast_to_fp8")
    _check_matrix("per_token_cast_to_fp8", x, gran_k, use_ue8m0, use_packed_ue8m0)
    blocks = _row_blocks(x, gran_k)
    sf = _scale(blocks.abs().amax(-1), _LARGEST_E4M3, use_ue8m0)
    return _to_e4m3(blocks, sf[..., None])[:, : x.shape[1]].contiguous(), _packed(sf) if use_packed_ue8m0 else sf


def per_channel_cast_to_fp8(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per column and gran_k rows; m is a multiple of gran_k. Returns (e4m3 [m, n], fp32 [m / gran_k, n])."""
    report_helper("per_channel_cast_to_fp8")
    _check_matrix("per_channel_cast_to_fp8", x, gran_k, use_ue8m0)
    m, n = x.shape
    if m % gran_k:
        raise ValueError(f"per_channel_cast_to_fp8: x has shape {list(x.shape)}; expected a multiple of gran_k = {gran_k} rows.")
    blocks = x.float().view(-1, gran_k, n)
    sf = _scale(blocks.abs().amax(1), _LARGEST_E4M3, use_ue8m0)
    return (blocks * (1.0 / sf[:, None])).to(torch.float8_e4m3fn).view(m, n), sf


def per_block_cast_to_fp8(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per gran_k x gran_k block. Returns (e4m3 [m, n], fp32 [ceil(m / gran_k), ceil(n / gran_k)])."""
    report_helper("per_block_cast_to_fp8")
    _check_matrix("per_block_cast_to_fp8", x, gran_k, use_ue8m0)
    m, n = x.shape
    padded = torch.zeros(align(m, gran_k), align(n, gran_k), dtype=torch.float32, device=x.device)
    padded[:m, :n] = x
    blocks = padded.view(padded.shape[0] // gran_k, gran_k, padded.shape[1] // gran_k, gran_k)
    sf = _scale(blocks.abs().amax((1, 3)), _LARGEST_E4M3, use_ue8m0)
    q = (blocks * (1.0 / sf[:, None, :, None])).to(torch.float8_e4m3fn)
    return q.view(padded.shape)[:m, :n].contiguous(), sf


def per_custom_dims_cast_to_fp8(x: torch.Tensor, dims: tuple, use_ue8m0: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per index of `dims`, over all other dimensions. Returns (e4m3 as x, fp32 of the sizes of `dims`)."""
    function = "per_custom_dims_cast_to_fp8"
    report_helper(function)
    if not arguments.tensor(function, "x", x).is_floating_point() or x.dim() == 0:
        raise TypeError(f"{function}: x is {x.dtype} {list(x.shape)}; expected a tensor of a floating-point dtype with at least one dimension.")
    dims = [arguments.whole(function, "dims", dim, -x.dim(), x.dim() - 1)
            for dim in arguments.instance(function, "dims", dims, (tuple, list), "a tuple of whole numbers")]
    arguments.flag(function, "use_ue8m0", use_ue8m0)
    kept = {dim % x.dim() for dim in dims}
    others = tuple(dim for dim in range(x.dim()) if dim not in kept)
    values = x.float()
    sf = _scale(values.abs().amax(others, keepdim=True) if others else values.abs(), _LARGEST_E4M3, use_ue8m0)
    return (values * (1.0 / sf)).to(torch.float8_e4m3fn), sf.squeeze()


def cast_back_from_fp8(x_fp8: torch.Tensor, sf: torch.Tensor, gran_k: int = 128, use_packed_ue8m0: bool = False) -> torch.Tensor:
    """The inverse of per_token_cast_to_fp8: fp32 [m, n]."""
    report_helper("cast_back_from_fp8")
    arguments.tensor("cast_back_from_fp8", "x_fp8", x_fp8, (2,))
    return x_fp8.float() * _spread("cast_back_from_fp8", sf, *x_fp8.shape, gran_k, use_packed_ue8m0)


def per_token_cast_to_fp4(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128, use_packed_ue8m0: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """One scale per row and gran_k columns; n is even. Returns (int8 [m, n / 2], fp32 [m, ceil(n / gran_k)] or packed int32).

    A byte holds two E2M1 codes, the even column in the low half.
    """
    report_helper("per_token_cast_to_fp4")
    _check_matrix("per_token_cast_to_fp4", x, gran_k, use_ue8m0, use_packed_ue8m0)
    if x.shape[1] % 2:
        raise ValueError(f"per_token_cast_to_fp4: x has shape {list(x.shape)}; expected an even number of columns.")
    blocks = _row_blocks(x, gran_k)
    sf = _scale(blocks.abs().amax(-1), _LARGEST_E2M1, use_ue8m0)
    scaled = (blocks * (1.0 / sf[..., None])).flatten(1)[:, : x.shape[1]]
    codes = _quantize_to_fp4_e2m1(scaled)
    packed = codes[:, 0::2] | codes[:, 1::2] << 4
    return packed.view(torch.int8).contiguous(), _packed(sf) if use_packed_ue8m0 else sf


def cast_back_from_fp4(packed: torch.Tensor, sf: torch.Tensor, gran_k: int = 128, use_packed_ue8m0: bool = False) -> torch.Tensor:
    """The inverse of per_token_cast_to_fp4: fp32 [m, n]."""
    report_helper("cast_back_from_fp4")
    _check_packed("cast_back_from_fp4", "packed", packed)
    values = _dequantize_from_fp4_e2m1(packed)
    return values * _spread("cast_back_from_fp4", sf, *values.shape, gran_k, use_packed_ue8m0)


def transpose_packed_fp4(a: torch.Tensor) -> torch.Tensor:
    """int8 [m, n / 2] to int8 [n, m / 2], m even: the transposed matrix, packed along its own rows again."""
    _check_packed("transpose_packed_fp4", "a", a)
    if a.shape[0] % 2:
        raise ValueError(f"transpose_packed_fp4: a has shape {list(a.shape)}; expected an even number of rows.")
    report_helper("transpose_packed_fp4")
    codes = _unpacked_codes(a).T
    return (codes[:, 0::2] | codes[:, 1::2] << 4).view(torch.int8).contiguous()


def _quantize_to_fp4_e2m1(x: torch.Tensor) -> torch.Tensor:
    """uint8 codes; a midpoint goes to the smaller magnitude, -0 is never made."""
    boundaries = torch.tensor(_E2M1_BOUNDARIES, device=x.device)
    code = torch.bucketize(x.abs(), boundaries).to(torch.uint8)         # boundaries strictly below |x|
    return torch.where((x < 0) & (code != 0), code | 8, code)


def _dequantize_from_fp4_e2m1(packed: torch.Tensor) -> torch.Tensor:
    table = torch.tensor(_E2M1 + tuple(-value for value in _E2M1), device=packed.device)
    return table[_unpacked_codes(packed).int()]


def _unpacked_codes(packed: torch.Tensor) -> torch.Tensor:
    pairs = packed.contiguous().view(torch.uint8)
    return torch.stack((pairs & 0xF, pairs >> 4), dim=-1).flatten(-2)


def _row_blocks(x: torch.Tensor, gran_k: int) -> torch.Tensor:
    """fp32 [m, ceil(n / gran_k), gran_k], zeros beyond n."""
    m, n = x.shape
    columns = align(n, gran_k)
    return torch.nn.functional.pad(x.float(), (0, columns - n)).view(m, columns // gran_k, gran_k)


def _check_whole(function: str, x, y) -> None:
    """Whole numbers of any kind, symbolic ones of torch.compile and tensors too, as in the original."""
    for name, value in (("x", x), ("y", y)):
        if isinstance(value, bool) or not (hasattr(type(value), "__index__") or isinstance(value, torch.SymInt)):
            raise TypeError(f"{function}: {name} is {arguments.shown(value)}; expected a whole number.")
    if type(y) is int and y < 1:
        raise ValueError(f"{function}: y is {arguments.shown(y)}; expected a whole number of at least 1.")


def _check_packed(function: str, name: str, value) -> None:
    if arguments.tensor(function, name, value, (2,)).dtype not in (torch.int8, torch.uint8):
        raise TypeError(f"{function}: {name} is {value.dtype}; expected int8, two FP4 codes a byte.")


def _check_matrix(function: str, x: torch.Tensor, gran_k: int, use_ue8m0: bool, use_packed_ue8m0: bool = False) -> None:
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        raise TypeError(f"{function}: x is {x.dtype if isinstance(x, torch.Tensor) else type(x).__name__}; expected a tensor of a floating-point dtype.")
    if x.dim() != 2:
        raise ValueError(f"{function}: x has shape {list(x.shape)}; expected two dimensions, [m, n].")
    arguments.whole(function, "gran_k", gran_k, 1, 2**31 - 1)
    is_rounded = arguments.flag(function, "use_ue8m0", use_ue8m0)
    if arguments.flag(function, "use_packed_ue8m0", use_packed_ue8m0) and not is_rounded:
        raise ValueError(f"{function}: use_packed_ue8m0=True needs use_ue8m0=True.")


def _scale(amax: torch.Tensor, largest: float, use_ue8m0: bool) -> torch.Tensor:
    sf = amax.clamp(_SMALLEST_AMAX) / largest
    return ceil_to_ue8m0(sf) if use_ue8m0 else sf


def _to_e4m3(blocks: torch.Tensor, sf: torch.Tensor) -> torch.Tensor:
    return (blocks * (1.0 / sf)).to(torch.float8_e4m3fn).flatten(1)


def _packed(sf: torch.Tensor) -> torch.Tensor:
    return pack_ue8m0_to_int(torch.nn.functional.pad(sf, (0, -sf.shape[1] % 4), value=1.0))


def _spread(function: str, sf: torch.Tensor, rows: int, columns: int, gran_k: int, use_packed_ue8m0: bool) -> torch.Tensor:
    arguments.whole(function, "gran_k", gran_k, 1, 2**31 - 1)
    arguments.tensor(function, "sf", sf, (2,))
    sf = unpack_ue8m0_from_int(sf) if arguments.flag(function, "use_packed_ue8m0", use_packed_ue8m0) else sf
    blocks = -(-columns // gran_k)
    if sf.shape[0] != rows or sf.shape[1] < blocks:
        raise ValueError(f"{function}: sf has {list(sf.shape)} scales; expected {[rows, blocks]} with gran_k = {gran_k}.")
    return sf.repeat_interleave(gran_k, dim=1)[:, :columns]
