# SPDX-License-Identifier: MIT
"""What the door asks of scale tensors and recipes, whatever the backend; the rest is asked by its limits (ascend_sim.backends.limits).

Layouts: docs/layouts.md, "Scale pairs" and "Scales on NVIDIA".
"""

import torch

from ascend_sim import arguments, backends
from deep_gemm._door import Door
from deep_gemm._operands import Quantised

PER_ELEMENT = {torch.float32: 1, torch.int16: 2, torch.int32: 4}        # scales in an element of each dtype


def recipes(door: Door, recipe, recipe_a, recipe_b) -> list | None:
    """[(name, (gran_mn, gran_k))] of a and b, given by recipe = (gran_m, gran_n, gran_k) or by recipe_a and recipe_b; None where left open."""
    if recipe is not None and (recipe_a is not None or recipe_b is not None):
        door.refuse(f"recipe = {arguments.shown(recipe)} and recipe_a / recipe_b are exclusive; pass one kind.")
        return None
    if recipe is not None:
        if not is_ints(recipe, 3):
            door.refuse(f"recipe is {arguments.shown(recipe)}; expected three ints (gran_m, gran_n, gran_k), such as (1, 1, 32).")
            return None
        return [("recipe", (recipe[0], recipe[2])), ("recipe", (recipe[1], recipe[2]))]
    given = [("recipe_a", recipe_a), ("recipe_b", recipe_b)]
    wrong = [(name, pair) for name, pair in given if pair is not None and not is_ints(pair, 2)]
    for name, pair in wrong:
        door.refuse(f"{name} is {arguments.shown(pair)}; expected two ints (gran_mn, gran_k), such as (1, 32).")
    return None if wrong else [(name, pair if pair is None else tuple(pair)) for name, pair in given]


def check_scale(door: Door, name: str, operand: Quantised, recipe: tuple[int, int], disable_ue8m0_cast: bool) -> bool:
    """sf [ceil(mn / gran_mn), ceil(k / gran_k)] fp32, or with two (int16) or four (int32) scales an element; its axes in the order of its data's."""
    sf, (gran_mn, gran_k), limits = operand.sf, recipe, backends.limits("deep_gemm")
    if not door.tensor(name, sf, (2,)) or not door.dtype(name, sf, *limits.SCALE_DTYPES, hint=limits.SCALE_HINT):
        return False
    per_column = gran_k * PER_ELEMENT[sf.dtype]
    row_axis = operand.axes.replace("k", "")
    shape, meaning = (-(-operand.mn // gran_mn), -(-operand.k // per_column)), f"[ceil({row_axis} / {gran_mn}), ceil(k / {per_column})]"
    if operand.axes[0] == "k":
        shape, meaning = shape[::-1], f"[ceil(k / {per_column}), ceil({row_axis} / {gran_mn})]"
    if not door.shape(name, sf, shape, f"{meaning} for {str(sf.dtype).removeprefix('torch.')}"):
        return False
    fine = sf.numel() == 0 or unit_stride(door, name, sf)
    return limits.check_scale(door, name, sf if operand.axes[1] == "k" else sf.T, operand.mn, operand.k, recipe, disable_ue8m0_cast) and fine


def unit_stride(door: Door, name: str, sf: torch.Tensor) -> bool:
    """Scales may have any major, also an ambiguous one: their transform asks for one unit stride only."""
    if 1 in (sf.stride(-1), sf.stride(-2)):
        return True
    return door.refuse(f"{name} has strides {list(sf.stride())}; one of the last two must be 1. Call .contiguous().")


def is_ints(value, count: int) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == count and all(type(x) is int for x in value)
