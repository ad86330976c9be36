# SPDX-License-Identifier: MIT
"""Scale tensors into the layout the chip reads: signature and checks. Definition: ascend_sim/backends/torch/deep_gemm/transform_sf.py."""

import torch

from ascend_sim import backends
from ascend_sim.backends import host, settings
from deep_gemm._door import Door
from deep_gemm._scales import GRAN_K, check_granularity, check_scale_values, unit_stride

__all__ = ["transform_sf_into_required_layout"]

_ALIGNMENT = 256        # rows of a group in an m-grouped layout start at multiples of it


def transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False, psum_layout=None) -> torch.Tensor:
    """The scales of one operand as int16 pairs of UE8M0 exponents, MN-major: what the GEMM kernels read.

    sf: [(num_groups,) ceil(mn / gran_mn), ceil(k / 32)] fp32, or [.., ceil(k / 64)] int16; unit stride on either of the last two axes
    recipe: (gran_m, gran_n, 32); is_sfa says which of gran_m (True) and gran_n (False) is gran_mn, a power of two up to 128
    num_groups: given for a batch of tensors, of which sf then holds as many
    disable_ue8m0_cast: True refuses fp32
    psum_layout: int32 [groups] contiguous, end row of each group of an m-grouped operand; scales of the rows from there to the next
       multiple of 256 become 0 and may hold anything before. Not with num_groups

    Returns int16 [(num_groups,) mn, P], P = ceil(ceil(k / 32) / 2), strides (P * mn, 1, mn): scale of row r and block kb in byte kb % 2
    of element [r, kb // 2]; drawn in docs/layouts.md, "Scale pairs". An int16 sf that is so already is returned itself.
    Edges: mn = 0 or k = 0 gives an empty tensor. An odd number of blocks leaves the last high byte 0. mn is not padded (unlike CUDA).
    Values: the exponent byte as it is; 0 means 2^-127, 255 NaN.
    Parity: a two-number recipe (gran_mn, 32) without is_sfa, as CUDA has it, warns.
    Raises: ValueError for shapes, strides, recipes and fp32 values other than non-negative powers of two, TypeError for types.
    Source: DeepGEMM-Ascend 0.1.0; docs/deep_gemm.md, "Scale factors".
    """
    door = Door("transform_sf_into_required_layout")
    fine = [_check_size(door, name, value) for name, value in (("mn", mn), ("k", k))]
    gran_mn = _gran_mn(door, recipe, is_sfa)
    if num_groups is not None:
        fine.append(_check_size(door, "num_groups", num_groups))
    fine.append(_check_psum(door, psum_layout, sf, num_groups))
    fine.append(door.tensor("sf", sf, (2,) if num_groups is None else (3,)) and door.dtype("sf", sf, torch.float32, torch.int16))
    if all(fine) and gran_mn is not None:
        _check_sf(door, sf, mn, k, gran_mn, num_groups, disable_ue8m0_cast)
        if door.is_open and mn and k:
            gaps = None if psum_layout is None else _gap_rows(psum_layout, gran_mn, sf.shape[-2])
            check_scale_values(door, "sf", sf, gaps)
    door.close()

    batch, pairs = tuple(sf.shape[:-2]), (k + 63) // 64
    if mn * pairs == 0 or 0 in batch or settings.deep_gemm.dry_run:
        return torch.empty((*batch, pairs, mn), dtype=torch.int16, device=sf.device).transpose(-2, -1)
    if _is_in_layout(sf, gran_mn):
        return sf
    backends.check_tensors(door.function, {"sf": sf} | ({} if psum_layout is None else {"psum_layout": psum_layout}))
    run = backends.operation("deep_gemm", "transform_sf", "transform_sf_into_required_layout")
    return run(sf, mn, k, (gran_mn, GRAN_K), num_groups=num_groups, psum_layout=psum_layout)


def _is_in_layout(sf: torch.Tensor, gran_mn: int) -> bool:
    return (sf.dtype == torch.int16 and gran_mn == 1 and sf.stride(-2) == 1 and sf.stride(-1) == sf.size(-2)
            and (sf.dim() == 2 or sf.stride(0) == sf.size(-2) * sf.size(-1)))


def _check_size(door: Door, name: str, value) -> bool:
    if type(value) is int and value >= 0:
        return True
    return door.refuse(f"{name} is {value!r}; expected an int of at least 0.", ValueError if type(value) is int else TypeError)


def _gran_mn(door: Door, recipe, is_sfa) -> int | None:
    if isinstance(recipe, (tuple, list)) and len(recipe) == 2 and is_sfa is None:
        door.differs("two-number recipe", f"recipe = {tuple(recipe)} has two numbers, which only the CUDA library takes.")
        return recipe[0] if check_granularity(door, "recipe", tuple(recipe)) else None
    if not isinstance(recipe, (tuple, list)) or len(recipe) != 3:
        door.refuse(f"recipe is {recipe!r}; expected three ints (gran_m, gran_n, 32).")
        return None
    if not isinstance(is_sfa, bool):
        door.refuse(f"is_sfa is {is_sfa!r}; expected True (gran_m counts) or False (gran_n counts) with a recipe of three numbers.")
        return None
    gran_mn = recipe[0] if is_sfa else recipe[1]
    return gran_mn if check_granularity(door, "recipe", (gran_mn, recipe[2])) else None


def _check_psum(door: Door, psum_layout, sf, num_groups) -> bool:
    if psum_layout is None:
        return True
    if num_groups is not None:
        return door.refuse("psum_layout and num_groups are exclusive: a grouped operand has one scale tensor without a group axis.")
    if not door.tensor("psum_layout", psum_layout, (1,)) or not door.dtype("psum_layout", psum_layout, torch.int32):
        return False
    if psum_layout.numel() == 0 or not psum_layout.is_contiguous():
        return door.refuse(f"psum_layout has shape {list(psum_layout.shape)} and strides {list(psum_layout.stride())}; "
                           "expected at least one element, contiguous.")
    return not isinstance(sf, torch.Tensor) or door.same_device({"sf": sf, "psum_layout": psum_layout})


def _check_sf(door: Door, sf: torch.Tensor, mn: int, k: int, gran_mn: int, num_groups: int | None, disable_ue8m0_cast: bool) -> None:
    per_column = GRAN_K if sf.dtype == torch.float32 else 2 * GRAN_K
    shape, meaning = (-(-mn // gran_mn), -(-k // per_column)), f"ceil(mn / {gran_mn}), ceil(k / {per_column})"
    if num_groups is not None:
        shape, meaning = (num_groups, *shape), f"num_groups, {meaning}"
    if door.shape("sf", sf, shape, f"[{meaning}] with mn = {mn}, k = {k}, {str(sf.dtype).removeprefix('torch.')}") and sf.numel():
        unit_stride(door, "sf", sf)
    if disable_ue8m0_cast and sf.dtype == torch.float32:
        door.refuse("sf is float32 and would be converted, which disable_ue8m0_cast=True forbids; pass int16 pairs.")


def _gap_rows(psum: torch.Tensor, gran_mn: int, scale_rows: int) -> torch.Tensor:
    """bool [scale_rows]: scale rows that lie between the end of a group and the start of the next."""
    gaps = torch.zeros(scale_rows, dtype=torch.bool)
    for end in host.view(psum).tolist():
        aligned = -(-end // _ALIGNMENT) * _ALIGNMENT
        gaps[-(-end // gran_mn):aligned // gran_mn] = True
    return gaps
