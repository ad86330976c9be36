# SPDX-License-Identifier: MIT
"""Scale tensors into the layout the chip reads: signature and checks. Definition: ascend_sim/backends/torch/deep_gemm/transform_sf.py."""

import torch

from ascend_sim import arguments, backends
from ascend_sim.backends import host, settings
from deep_gemm._door import Door
from deep_gemm._scales import PER_ELEMENT, is_ints, unit_stride

__all__ = ["transform_sf_into_required_layout"]


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
    Values: the exponent byte as it is; 0 means 2^-127, 255 NaN. So fp32 0 becomes 2^-127 and fp32 inf becomes NaN.
    Parity: what only CUDA takes warns (docs/parity.md): a two-number recipe (gran_mn, gran_k) without is_sfa, gran_k = 128, int32 sf. fp32 sf of
       gran_k = 128 that has no int16 pairs (no powers of two, or disable_ue8m0_cast) is returned itself; the GEMMs take it.
       On the backend cuda the result is what NVIDIA's kernels read (docs/layouts.md, "Scales on NVIDIA").
    Raises: ValueError for shapes, strides, recipes and fp32 values other than non-negative powers of two, TypeError for types.
    Source: DeepGEMM-Ascend 0.1.0; docs/deep_gemm.md, "Scale factors".
    """
    door, limits = Door("transform_sf_into_required_layout"), backends.limits("deep_gemm")
    fine = [_check_size(door, name, value) for name, value in (("mn", mn), ("k", k))]
    fine.append(door.flag("disable_ue8m0_cast", disable_ue8m0_cast))
    chosen = _recipe(door, recipe, is_sfa)
    if num_groups is not None:
        fine.append(_check_size(door, "num_groups", num_groups))
    fine.append(_check_psum(door, psum_layout, sf, num_groups))
    fine.append(door.tensor("sf", sf, (2,) if num_groups is None else (3,)) and door.dtype("sf", sf, *limits.SCALE_DTYPES, hint=limits.SCALE_HINT))
    keeps = False
    if all(fine) and chosen is not None and _check_sf(door, sf, mn, k, chosen, num_groups) and \
            limits.check_transform(door, sf, mn, k, chosen, disable_ue8m0_cast, num_groups, psum_layout) and mn and k:
        gaps = None if psum_layout is None else limits.gap_rows(host.view(psum_layout).tolist(), chosen[0], sf.shape[-2])
        keeps = limits.check_transform_values(door, sf, chosen, disable_ue8m0_cast, gaps)
    door.close()

    tensors = {"sf": sf} | ({} if psum_layout is None else {"psum_layout": psum_layout})
    if keeps:
        if not settings.deep_gemm.dry_run:
            backends.check_tensors(door.function, tensors)
        return sf
    result = limits.transformed(mn, k, chosen, sf, disable_ue8m0_cast)
    if result.numel() == 0 or settings.deep_gemm.dry_run:
        return result
    backends.check_tensors(door.function, tensors)
    if limits.is_transformed(sf, mn, k, chosen):
        return sf
    run = backends.operation("deep_gemm", "transform_sf", "transform_sf_into_required_layout")
    return run(sf, mn, k, chosen, num_groups=num_groups, disable_ue8m0_cast=disable_ue8m0_cast, psum_layout=psum_layout)


def _check_size(door: Door, name: str, value) -> bool:
    if type(value) is int and 0 <= value < 1 << 48:
        return True
    return door.refuse(f"{name} is {arguments.shown(value)}; expected an int of at least 0, below 2^48.", ValueError if type(value) is int else TypeError)


def _recipe(door: Door, recipe, is_sfa) -> tuple[int, int] | None:
    """(gran_mn, gran_k)"""
    limits = backends.limits("deep_gemm")
    if is_ints(recipe, 2) and is_sfa is None:
        door.differs("two-number recipe", f"recipe = {tuple(recipe)} has two numbers, which only the CUDA library takes.")
        return tuple(recipe) if limits.check_recipe(door, "recipe", tuple(recipe)) else None
    if not is_ints(recipe, 3):
        door.refuse(f"recipe is {arguments.shown(recipe)}; expected three ints (gran_m, gran_n, gran_k) with is_sfa, or two (gran_mn, gran_k) without.")
        return None
    if not isinstance(is_sfa, bool):
        door.refuse(f"is_sfa is {arguments.shown(is_sfa)}; expected True (gran_m counts) or False (gran_n counts) with a recipe of three numbers.")
        return None
    chosen = (recipe[0] if is_sfa else recipe[1], recipe[2])
    return chosen if limits.check_recipe(door, "recipe", chosen) else None


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


def _check_sf(door: Door, sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int], num_groups: int | None) -> bool:
    gran_mn, per_column = recipe[0], recipe[1] * PER_ELEMENT[sf.dtype]
    shape, meaning = (-(-mn // gran_mn), -(-k // per_column)), f"ceil(mn / {gran_mn}), ceil(k / {per_column})"
    if num_groups is not None:
        shape, meaning = (num_groups, *shape), f"num_groups, {meaning}"
    if not door.shape("sf", sf, shape, f"[{meaning}] with mn = {mn}, k = {k}, {str(sf.dtype).removeprefix('torch.')}"):
        return False
    return sf.numel() == 0 or unit_stride(door, "sf", sf)
