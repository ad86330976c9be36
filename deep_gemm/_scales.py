# SPDX-License-Identifier: MIT
"""What the door asks of scale tensors and recipes. Layout: docs/layouts.md, "Scale pairs"."""

import torch

from ascend_sim.backends import host, settings
from deep_gemm._door import Door

GRAN_K = 32


def granularities(door: Door, recipe, recipe_a, recipe_b) -> tuple[int, int] | None:
    """(gran_m, gran_n) of recipe = (gran_m, gran_n, gran_k), or of recipe_a and recipe_b = (gran_mn, gran_k) each."""
    if recipe is not None and (recipe_a is not None or recipe_b is not None):
        door.refuse(f"recipe = {recipe} and recipe_a / recipe_b are exclusive; pass one kind.")
        return None
    if recipe is not None:
        if not _is_ints(recipe, 3):
            door.refuse(f"recipe is {recipe!r}; expected three ints (gran_m, gran_n, gran_k), such as (1, 1, 32).")
            return None
        pairs = [("recipe", (recipe[0], recipe[2])), ("recipe", (recipe[1], recipe[2]))]
    else:
        pairs = [(name, (1, GRAN_K) if pair is None else pair) for name, pair in (("recipe_a", recipe_a), ("recipe_b", recipe_b))]
    fine = [check_granularity(door, name, pair) for name, pair in pairs]
    return (pairs[0][1][0], pairs[1][1][0]) if all(fine) else None


def check_granularity(door: Door, name: str, pair) -> bool:
    """(gran_mn, gran_k) as the chip can apply it."""
    if not _is_ints(pair, 2):
        return door.refuse(f"{name} is {pair!r}; expected two ints (gran_mn, gran_k), such as (1, 32).")
    gran_mn, gran_k = pair
    fine = True
    if not (1 <= gran_mn <= 128 and gran_mn & (gran_mn - 1) == 0):
        fine = door.refuse(f"{name} has gran_mn = {gran_mn}; expected a power of two from 1 to 128.")
    if gran_k != GRAN_K:
        fine = door.refuse(f"{name} has gran_k = {gran_k}; expected 32: the chip applies one scale to 32 elements of k. "
                           "Quantise with gran_k=32.")
    return fine


def check_scale(door: Door, name: str, sf, mn: int, k: int, gran_mn: int, axes: str, disable_ue8m0_cast: bool) -> bool:
    """sf [ceil(mn / gran_mn), ceil(k / 32)] fp32 or [.., ceil(k / 64)] int16, its axes in the order of its data's."""
    if not door.tensor(name, sf, (2,)):
        return False
    if not door.dtype(name, sf, torch.float32, torch.int16):
        return False
    rows, per_column = -(-mn // gran_mn), GRAN_K if sf.dtype == torch.float32 else 2 * GRAN_K
    columns = -(-k // per_column)
    row_axis = axes.replace("k", "")
    shape, meaning = (rows, columns), f"[ceil({row_axis} / {gran_mn}), ceil(k / {per_column})]"
    if axes[0] == "k":
        shape, meaning = shape[::-1], f"[ceil(k / {per_column}), ceil({row_axis} / {gran_mn})]"
    if not door.shape(name, sf, shape, f"{meaning} for {str(sf.dtype).removeprefix('torch.')}"):
        return False
    if disable_ue8m0_cast and sf.dtype == torch.float32:
        return door.refuse(f"{name} is float32 and would be converted, which disable_ue8m0_cast=True forbids; pass int16 pairs "
                           "(transform_sf_into_required_layout makes them).")
    return sf.numel() == 0 or unit_stride(door, name, sf)


def unit_stride(door: Door, name: str, sf: torch.Tensor) -> bool:
    """Scales may have any major, also an ambiguous one: their transform asks for one unit stride only."""
    if 1 in (sf.stride(-1), sf.stride(-2)):
        return True
    return door.refuse(f"{name} has strides {list(sf.stride())}; one of the last two must be 1. Call .contiguous().")


def check_scale_values(door: Door, name: str, sf: torch.Tensor, ignored_rows: torch.Tensor | None = None) -> bool:
    """fp32 scales are 2^e or +0 (exponent byte 0, so 2^-127): sign and mantissa bits are 0. inf is exponent byte 255."""
    if sf.dtype != torch.float32 or sf.numel() == 0 or not host.holds_values() or settings.deep_gemm.dry_run:
        return True
    values = host.view(sf)
    wrong = (values.contiguous().view(torch.int32) & 0x807FFFFF) != 0
    if ignored_rows is not None:
        wrong &= ~ignored_rows[:, None]
    if not wrong.any():
        return True
    at = wrong.nonzero()[0].tolist()
    return door.refuse(f"{name} is {values[tuple(at)].item():.9g} at {at}, one of {int(wrong.sum())} such among {wrong.numel()} scales; expected "
                       "non-negative powers of two. Round them up with deep_gemm.utils.ceil_to_ue8m0 before quantising.")


def _is_ints(value, count: int) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == count and all(type(x) is int for x in value)
