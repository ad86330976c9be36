# SPDX-License-Identifier: MIT
"""Which calls of deep_gemm the backends ascend and torch take: DeepGEMM-Ascend's, and what only CUDA takes, with a report.

A `door` collects what is wrong with a call: door.refuse(text) for what neither library takes, door.differs(kind, text) for what only the
Ascend library refuses. Operands have data, sf, mn, k, format, is_fp4, is_k_major. Another backend's limits module has the same names.
"""

import torch

from ascend_sim import arguments, chips
from ascend_sim.backends import host, scales

SCALE_DTYPES = (torch.float32, torch.int16, torch.int32)
SCALE_HINT = ""
_GROUP_ALIGNMENT = 256
_PER_ELEMENT = {torch.float32: 1, torch.int16: 2, torch.int32: 4}
_LARGEST_SCALE = 2.0**118           # times 448 is finite in fp32
_KEEP = "is applied as it is by a kernel on the vector cores"


def num_sms() -> int:
    """How many AI cores the device has, which get_num_sms says and set_num_sms may not exceed."""
    return int(chips.chosen()["cores.ai_cores"])


def mk_alignment() -> int:
    """Rows or elements of k at which the groups of a grouped operand start."""
    return _GROUP_ALIGNMENT


def set_mk_alignment(alignment) -> None:
    if not isinstance(alignment, int) or alignment != _GROUP_ALIGNMENT:
        raise ValueError(f"set_mk_alignment_for_contiguous_layout: alignment is {arguments.shown(alignment)}; expected {_GROUP_ALIGNMENT}: "
                         "it is fixed on Ascend. Lay groups out by get_mk_alignment_for_contiguous_layout().")


def theoretical_mk_alignment(expected_m: int | None) -> int:
    return _GROUP_ALIGNMENT


def gap_rows(ends: list[int], gran_mn: int, rows: int) -> torch.Tensor:
    """bool [rows]: scale rows of no group, which may hold anything: those between the end of a group and the start of the next."""
    gaps = torch.zeros(rows, dtype=torch.bool)
    for end in ends:
        gaps[-(-end // gran_mn):-(-end // _GROUP_ALIGNMENT) * _GROUP_ALIGNMENT // gran_mn] = True
    return gaps


def check_formats(door, a, b) -> bool:
    """Every pair of FP8 and FP4 is computed; the chip has no FP4 x FP8."""
    if a.is_fp4 and not b.is_fp4:
        door.differs("FP4 x FP8", "a is FP4 (int8) and b FP8 (float8_e4m3fn), which the Ascend library refuses: the chip has no such product; "
                     "a is expanded to FP8 first.")
    return True


def check_recipe(door, name: str, recipe: tuple[int, int]) -> bool:
    gran_mn, gran_k = recipe
    fine = True
    if not (1 <= gran_mn <= 128 and gran_mn & (gran_mn - 1) == 0):
        fine = door.refuse(f"{name} has gran_mn = {gran_mn}; expected a power of two from 1 to 128.")
    if gran_k == 128:
        door.differs("gran_k 128", f"{name} has gran_k = 128, which the Ascend library refuses: the chip applies one scale to 32 elements of k; "
                     "each is repeated for four such blocks.")
    elif gran_k != 32:
        fine = door.refuse(f"{name} has gran_k = {gran_k}; expected 32, or 128 as on CUDA: the chip applies one scale to 32 elements of k.")
    return fine


def recipes(door, given: list, a, b) -> tuple | None:
    """(gran_mn, gran_k) of a and b of [(how the caller named it, what it gave or None)] * 2.

    A missing one is (1, 32). If both are missing and only CUDA's default fits the scales, that; int32 scales exist only there.
    """
    if all(pair is None for _, pair in given):
        cuda = (1, 128), (1, 128) if _is_packed(b.sf) else (128, 128)
        only_cudas = all(map(_fits, (a, b), cuda)) and not all(_fits(x, (1, 32)) for x in (a, b))
        if only_cudas or _is_packed(a.sf) or _is_packed(b.sf):
            door.differs("default recipe", f"without a recipe the Ascend library takes (1, 1, 32); these scales are those of CUDA's default, "
                         f"{(1, *cuda[1])}, which is taken.")
            given = [("the default recipe", pair) for pair in cuda]
    chosen = [(name, (1, 32) if pair is None else pair) for name, pair in given]
    fine = [check_recipe(door, name, pair) for name, pair in chosen]
    return tuple(pair for _, pair in chosen) if all(fine) else None


def check_scale(door, name: str, sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int], disable_ue8m0_cast: bool) -> bool:
    """sf [.., rows, columns], whose shape fits the recipe."""
    gran_mn, gran_k = recipe
    if sf.dtype == torch.int16 and gran_k != 32:
        return door.refuse(f"{name} is int16, whose pairs are exponents of 32 elements of k; expected float32 or int32 with gran_k = {gran_k}.")
    if sf.dtype == torch.int32:
        if gran_mn != 1:
            return door.refuse(f"{name} is int32 with gran_mn = {gran_mn}; expected gran_mn = 1: packed scales are one a row. "
                               "ascend_sim.layouts repeats them.")
        door.differs("int32 scales", f"{name} is int32, four exponents an element, which only the CUDA library takes; it is repacked as int16 pairs.")
    if disable_ue8m0_cast and sf.dtype == torch.float32 and gran_k == 32:
        return door.refuse(f"{name} is float32 and would be converted, which disable_ue8m0_cast=True forbids; pass int16 pairs "
                           "(transform_sf_into_required_layout makes them).")
    return True


def check_gemm(door, a, b, d, c, chosen: tuple, disable_ue8m0_cast: bool) -> None:
    """What the values of fp32 scales ask for. All else is in order."""
    operands = [("sfa (a[1])", a, chosen[0]), ("sfb (b[1])", b, chosen[1])]
    for name, x, (_, gran_k) in operands:
        if gran_k == 32:
            scales.check_powers_of_two(door, name, x.sf)
    kept = [name for name, x, recipe in operands if scales.stay_fp32(x.sf, recipe[1], disable_ue8m0_cast)]
    if not kept:
        return
    why = "disable_ue8m0_cast=True keeps fp32 scales" if disable_ue8m0_cast else f"{kept[0]} has scales that are no powers of two"
    for name, x, recipe in operands:
        operand = name[-5]
        if x.is_fp4:
            door.refuse(f"{why}, and {operand} is FP4; expected FP8 x FP8 then, as on CUDA's SM90.")
        if not x.is_k_major:
            door.refuse(f"{why}, and {operand} is MN-major; expected K-major operands then, as on CUDA's SM90.")
        if x.sf.dtype != torch.float32 or recipe[1] != 128:
            door.refuse(f"{why}, and {name} has dtype {str(x.sf.dtype)[6:]} and gran_k = {recipe[1]}; expected float32 and 128 for both operands then.")
        elif scales.can_be_looked_at(x.sf):
            values = host.view(x.sf)
            too_large = ~(values.abs() <= _LARGEST_SCALE)
            if too_large.any():
                door.refuse(f"{name} is {host.first(values, too_large)}; expected finite scales up to 2^118.")
    door.differs("fp32 scales", f"{why}, which the Ascend library refuses; each {_KEEP}.")


def check_transform(door, sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int], disable_ue8m0_cast: bool, num_groups, psum_layout) -> bool:
    """As check_scale."""
    return check_scale(door, "sf", sf, mn, k, recipe, disable_ue8m0_cast)


def check_transform_values(door, sf: torch.Tensor, recipe: tuple[int, int], disable_ue8m0_cast: bool, gaps) -> bool:
    """Whether the transform returns fp32 scales as they are, because no int16 pairs stand for them. gaps: rows that do not count, or None."""
    if scales.stay_fp32(sf, recipe[1], disable_ue8m0_cast, gaps):
        door.differs("fp32 scales", "sf stays fp32, which the Ascend library refuses: its int16 pairs hold powers of two only.")
        return True
    scales.check_powers_of_two(door, "sf", sf, gaps)
    return False


def is_transformed(sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int]) -> bool:
    """Whether sf is what the transform would return."""
    return (sf.dtype == torch.int16 and recipe[0] == 1 and sf.stride(-2) == 1 and sf.stride(-1) == sf.size(-2)
            and (sf.dim() == 2 or sf.stride(0) == sf.size(-2) * sf.size(-1)))


def transformed(mn: int, k: int, recipe: tuple[int, int], sf: torch.Tensor, disable_ue8m0_cast: bool) -> torch.Tensor:
    """An uninitialised result of the transform."""
    return torch.empty((*sf.shape[:-2], (k + 63) // 64, mn), dtype=torch.int16, device=sf.device).transpose(-2, -1)


def check_bf16_gemm(door, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c) -> None:
    """Nothing beyond what all backends ask. a [m, k], b [n, k]."""


def _is_packed(sf) -> bool:
    return isinstance(sf, torch.Tensor) and sf.dtype == torch.int32


def _fits(x, recipe: tuple[int, int]) -> bool:
    if not isinstance(x.sf, torch.Tensor) or x.sf.dtype not in _PER_ELEMENT or (x.sf.dtype == torch.int16 and recipe[1] != 32):
        return False
    shape = tuple(x.sf.shape) if x.axes[1] == "k" else tuple(x.sf.shape)[::-1]
    return shape == (-(-x.mn // recipe[0]), -(-x.k // (recipe[1] * _PER_ELEMENT[x.sf.dtype])))
