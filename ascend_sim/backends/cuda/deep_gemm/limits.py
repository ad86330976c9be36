# SPDX-License-Identifier: MIT
"""Which calls NVIDIA's library takes on SM90 and on SM100. Source: deep_gemm.md 2.3, 4.1 to 4.3, 6, 21. The names are those of ascend's limits."""

import torch

from ascend_sim import layouts
from ascend_sim.backends import cuda, fp4, scales, settings

SCALE_DTYPES = (torch.float32, torch.int32)
SCALE_HINT = "ascend_sim.layouts.convert makes NVIDIA's scales of int16 pairs."
_TMA_BYTES = 16             # alignment of addresses and row strides of bulk copies
_FP4_EXTENT = 128           # elements of the packed axis come in multiples of it


def num_sms() -> int:
    """How many multiprocessors the device has, which get_num_sms says and set_num_sms may not exceed."""
    return cuda.multiprocessors()


def mk_alignment() -> int:
    """Rows or elements of k at which the groups of a grouped operand start: what was set, 128 by default."""
    return settings.deep_gemm.mk_alignment


def set_mk_alignment(alignment) -> None:
    if type(alignment) is not int or alignment < 1:
        raise ValueError(f"set_mk_alignment_for_contiguous_layout: alignment is {alignment!r}; expected an int of at least 1.")
    settings.deep_gemm.mk_alignment = alignment


def theoretical_mk_alignment(expected_m: int | None) -> int:
    """SM90: 128. SM100: 224, or less by steps of 32 as long as expected_m fits."""
    if cuda.arch() == 90:
        return 128
    alignment = 224
    while expected_m is not None and alignment > 32 and alignment - 32 >= expected_m:
        alignment -= 32
    return alignment


def gap_rows(ends: list[int], gran_mn: int, rows: int) -> torch.Tensor:
    """bool [rows]: scale rows of no group, which may hold anything, also behind the last group."""
    gaps, start = torch.ones(rows, dtype=torch.bool), 0
    for end in ends:
        gaps[start // gran_mn:-(-end // gran_mn)] = False
        start = -(-end // mk_alignment()) * mk_alignment()
    return gaps


def check_formats(door, a, b) -> bool:
    """SM90: FP8 x FP8. SM100: every pair of FP8 and FP4."""
    fine = True
    for name, x in (("a", a), ("b", b)):
        if x.is_fp4 and cuda.arch() == 90:
            fine = door.refuse(f"{name} is FP4 (int8); expected FP8 (float8_e4m3fn) on SM90.", TypeError)
        elif x.is_fp4:
            packed = fp4.packed_axis(x.data, x.axes.index("k") - 2)
            if x.shape[packed] % _FP4_EXTENT:
                fine = door.refuse(f"{name} is FP4 with {x.shape[packed]} elements along its packed axis, '{x.axes[packed]}'; expected a multiple of "
                                   f"{_FP4_EXTENT} on SM100.")
    return fine


def check_recipe(door, name: str, recipe: tuple[int, int]) -> bool:
    gran_mn, gran_k = recipe
    if cuda.arch() == 90:
        if gran_mn not in (1, 128) or gran_k != 128:
            return door.refuse(f"{name} is (gran_mn, gran_k) = {recipe}; expected (1, 128) or (128, 128) on SM90.")
        return True
    if gran_mn < 1 or gran_k not in (32, 128):
        return door.refuse(f"{name} is (gran_mn, gran_k) = {recipe}; expected gran_mn of at least 1 and gran_k of 32 or 128 on SM100.")
    return True


def recipes(door, given: list, a, b) -> tuple | None:
    """(gran_mn, gran_k) of a and b of [(name, what was given or None)] * 2: both or none; the default depends on sfb."""
    missing = [name for name, pair in given if pair is None]
    if len(missing) == 1:
        door.refuse(f"{missing[0]} is None and the other is given; expected both or none.")
        return None
    if missing:
        is_packed = isinstance(b.sf, torch.Tensor) and b.sf.dtype == torch.int32
        given = [("the default recipe", (1, 128)), ("the default recipe", (1, 128) if is_packed and cuda.arch() == 100 else (128, 128))]
    fine = [check_recipe(door, name, pair) for name, pair in given]
    if cuda.arch() == 90 and given[0][1][0] != 1:
        fine.append(door.refuse(f"{given[0][0]} has gran_m = {given[0][1][0]}; expected 1 on SM90."))
    return tuple(pair for _, pair in given) if all(fine) else None


def check_scale(door, name: str, sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int], disable_ue8m0_cast: bool) -> bool:
    gran_mn, gran_k = recipe
    if cuda.arch() == 90:
        if sf.dtype != torch.float32:
            return door.refuse(f"{name} is int32; expected float32 on SM90.", TypeError)
        if gran_mn == 128 and sf.numel() and not (sf.is_contiguous() or sf.mT.is_contiguous()):
            return door.refuse(f"{name} has strides {list(sf.stride())}; expected a contiguous tensor, or one that is so with its last axes swapped.")
        return True
    if sf.dtype == torch.float32:
        if disable_ue8m0_cast:
            return door.refuse(f"{name} is float32 and may not be packed with disable_ue8m0_cast=True; expected int32 then on SM100.")
        return True
    if gran_mn != 1:
        return door.refuse(f"{name} is int32 with gran_mn = {gran_mn}; expected gran_mn = 1: packed scales are one a row.")
    wrong = layouts.mismatch(sf, layouts.sm100(gran_k), mn, k)
    if wrong:
        return door.refuse(f"{name} {wrong}, as get_mn_major_tma_aligned_packed_ue8m0_tensor makes it.")
    return True


def check_gemm(door, a, b, d, c, chosen: tuple, disable_ue8m0_cast: bool) -> None:
    for name, x in (("a", a), ("b", b)):
        _check_copy(door, f"{name}[0]", x.data)
        if cuda.arch() == 90 and not x.is_k_major:
            door.refuse(f"{name} is MN-major; expected K-major operands on SM90.")
    _check_copy(door, "d", d)
    if c is not None and c is not d:
        _check_copy(door, "c", c)
    if cuda.arch() == 100:
        for name, x in (("sfa (a[1])", a), ("sfb (b[1])", b)):
            scales.check_powers_of_two(door, name, x.sf)
        return
    if b.mn % 8:
        door.refuse(f"n = {b.mn}; expected a multiple of 8 on SM90.")
    if chosen[1][0] == 128 and (d.dtype != torch.bfloat16 or c is not None):
        door.refuse(f"d has dtype {str(d.dtype)[6:]} and c is {'None' if c is None else 'given'}; expected bfloat16 and None with gran_n = 128 on SM90.")
    if chosen[1][0] == 1 and (d.dtype != torch.float32 or c is None):
        door.refuse(f"d has dtype {str(d.dtype)[6:]} and c is {'None' if c is None else 'given'}; expected float32 and a tensor with gran_n = 1 on SM90.")


def check_bf16_gemm(door, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, c) -> None:
    for name, tensor in (("a", a), ("b", b), ("d", d)) + ((("c", c),) if c is not None and c is not d else ()):
        _check_copy(door, name, tensor)


def check_transform(door, sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int], disable_ue8m0_cast: bool, num_groups, psum_layout) -> bool:
    """Which scales have a layout that kernels read; others are an unknown transformation, as NVIDIA's library says."""
    gran_mn, gran_k = recipe
    stays_fp32 = cuda.arch() == 90 or disable_ue8m0_cast
    if stays_fp32 and (sf.dtype != torch.float32 or gran_k != 128 or gran_mn not in (1, 128)):
        why = "on SM90" if cuda.arch() == 90 else "with disable_ue8m0_cast=True"
        return door.refuse(f"Unknown SF transformation: sf of {str(sf.dtype)[6:]} with (gran_mn, gran_k) = {recipe}; expected float32 with (1, 128) or "
                           f"(128, 128) {why}.")
    if stays_fp32 and gran_mn == 128 and sf.numel() and not (sf.is_contiguous() or sf.mT.is_contiguous()):
        return door.refuse(f"sf has strides {list(sf.stride())}; expected a contiguous tensor, or one that is so with its last axes swapped.")
    if sf.dtype == torch.int32:
        if gran_mn != 1:
            return door.refuse(f"Unknown SF transformation: sf of int32 with gran_mn = {gran_mn}; expected 1.")
        wrong = layouts.mismatch(sf, layouts.sm100(gran_k), mn, k)
        if wrong:
            return door.refuse(f"sf {wrong}: packed scales are taken as kernels read them.")
    return True


def check_transform_values(door, sf: torch.Tensor, recipe: tuple[int, int], disable_ue8m0_cast: bool, gaps) -> bool:
    """SM100 packs exponents; SM90's scales of 128 x 128 blocks are returned as they are."""
    if cuda.arch() == 90 or disable_ue8m0_cast:
        return recipe[0] != 1
    scales.check_powers_of_two(door, "sf", sf, gaps)
    return False


def is_transformed(sf: torch.Tensor, mn: int, k: int, recipe: tuple[int, int]) -> bool:
    """Whether sf is what the transform would return."""
    return sf.dtype == torch.int32


def transformed(mn: int, k: int, recipe: tuple[int, int], sf: torch.Tensor, disable_ue8m0_cast: bool) -> torch.Tensor:
    """A result of the transform, without its values."""
    layout = layouts.sm90(recipe[0]) if cuda.arch() == 90 or disable_ue8m0_cast else layouts.sm100(recipe[1])
    empty = torch.empty((*sf.shape[:-2], *layout.shape(mn, k)), dtype=layout.dtype, device=sf.device)
    return layouts.place(empty, layout, mn, k)


def _check_copy(door, name: str, tensor: torch.Tensor) -> None:
    """NVIDIA's bulk copies: 16-byte addresses and strides between lines."""
    line = tensor.stride(0) if tensor.stride(1) == 1 else tensor.stride(1)
    if line * tensor.element_size() % _TMA_BYTES or (tensor.device.type != "meta" and tensor.data_ptr() % _TMA_BYTES):
        door.refuse(f"{name} of shape {list(tensor.shape)} has strides {list(tensor.stride())} and begins at {tensor.data_ptr():#x}; expected lines "
                    f"{_TMA_BYTES} bytes apart or a multiple of it, and such an address (NVIDIA's bulk copies).")
