# SPDX-License-Identifier: MIT
"""The GEMMs that the Ascend library has of its vendor, for comparison: signatures and checks.

The vendor's own kernels are not public: here the same names run this library's kernels, so values and times are theirs. What the
vendor's functions accept and where they write is kept.
"""

import torch

from ascend_sim import arguments, backends
from ascend_sim.backends import settings
from ascend_sim.backends.scales import check_powers_of_two
from deep_gemm._dense import AXES, check_output, prepare_output, sizes
from deep_gemm._door import Door
from deep_gemm._operands import Quantised, check_pair, check_quantised
from deep_gemm._scales import unit_stride

__all__ = [f"{family}_gemm_{suffix}" for family in ("aclnn_bf16", "aclnn_fp8_fp4", "cublaslt") for suffix in ("nt", "nn", "tn", "tt")]


def aclnn_bf16_gemm_nt(a, b, d, c=None) -> None:
    """d = A @ B.T; with c, C += A @ B.T *in c*, and d is left as it is unless it is c.

    a: [m, k] bf16    b: [n, k] bf16    d, c: [m, n] bf16 or fp32. Strides, edges and values as bf16_gemm_nt.
    Raises: as bf16_gemm_nt.
    Source: DeepGEMM-Ascend 0.1.0; docs/deep_gemm.md, "Vendor GEMMs".
    """
    _bf16("nt", a, b, d, c)


def aclnn_bf16_gemm_nn(a, b, d, c=None) -> None:
    """d = A @ B: a [m, k], b [k, n]. All else as aclnn_bf16_gemm_nt."""
    _bf16("nn", a, b, d, c)


def aclnn_bf16_gemm_tn(a, b, d, c=None) -> None:
    """d = A.T @ B: a [k, m], b [k, n]. All else as aclnn_bf16_gemm_nt."""
    _bf16("tn", a, b, d, c)


def aclnn_bf16_gemm_tt(a, b, d, c=None) -> None:
    """d = A.T @ B.T: a [k, m], b [n, k]. All else as aclnn_bf16_gemm_nt."""
    _bf16("tt", a, b, d, c)


# The identical objects.
cublaslt_gemm_nt, cublaslt_gemm_nn, cublaslt_gemm_tn, cublaslt_gemm_tt = aclnn_bf16_gemm_nt, aclnn_bf16_gemm_nn, aclnn_bf16_gemm_tn, aclnn_bf16_gemm_tt


def aclnn_fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, disable_ue8m0_cast=False) -> None:
    """d = A @ B.T, plus C: operands as fp8_fp4_gemm_nt takes them, with these limits of the vendor's function.

    k is a multiple of 64; every recipe is (1, 1, 32). Scales: [mn, k / 32] fp32 powers of two (0 is taken as 2^-127, inf as NaN), float8_e8m0fnu or uint8 exponents; not int16
    FP8 x FP8, FP4 x FP4: any major; d bf16 or fp32. FP8 x FP4: both K-major; d bf16 or fp16. FP4 x FP8: not at all
    c: shape and dtype of d, added to the rounded product; None overwrites
    disable_ue8m0_cast: True refuses fp32 scales
    Raises: ValueError for shapes, strides, recipes, scale values and devices, TypeError for types, before d is touched.
    Source: DeepGEMM-Ascend 0.1.0; docs/deep_gemm.md, "Vendor GEMMs".
    """
    _fp8_fp4("nt", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast)


def aclnn_fp8_fp4_gemm_nn(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, disable_ue8m0_cast=False) -> None:
    """d = A @ B: a [m, k], b [k, n], scales oriented as their data. All else as aclnn_fp8_fp4_gemm_nt."""
    _fp8_fp4("nn", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast)


def aclnn_fp8_fp4_gemm_tn(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, disable_ue8m0_cast=False) -> None:
    """d = A.T @ B: a [k, m], b [k, n], scales oriented as their data. All else as aclnn_fp8_fp4_gemm_nt."""
    _fp8_fp4("tn", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast)


def aclnn_fp8_fp4_gemm_tt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, disable_ue8m0_cast=False) -> None:
    """d = A.T @ B.T: a [k, m], b [n, k], scales oriented as their data. All else as aclnn_fp8_fp4_gemm_nt."""
    _fp8_fp4("tt", a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast)


def _bf16(suffix: str, a, b, d, c) -> None:
    door = Door(f"aclnn_bf16_gemm_{suffix}")
    mnk = None
    if all([door.tensor(name, value, (2,)) for name, value in (("a", a), ("b", b))]):
        for name, value in (("a", a), ("b", b)):
            door.dtype(name, value, torch.bfloat16)
            door.major(name, value)
        mnk = sizes(door, suffix, a.shape, b.shape)
    if mnk is not None:
        check_output(door, d, c, *mnk[:2])
    if door.is_open:
        tensors = {"a": a, "b": b, "d": d} | ({} if c is None else {"c": c})
        door.same_device(tensors)
        target = d if c is None else c
        if prepare_output(door, target, c, mnk[2], tensors):
            run = backends.operation("deep_gemm", "bf16_gemm", "bf16_gemm_nt")
            run(a if suffix[0] == "n" else a.T, b if suffix[1] == "t" else b.T, target, c=c)
    door.close()


def _fp8_fp4(suffix: str, a, b, d, c, recipe, recipe_a, recipe_b, disable_ue8m0_cast) -> None:
    door = Door(f"aclnn_fp8_fp4_gemm_{suffix}")
    a_axes, b_axes = AXES[suffix]
    _check_recipes(door, recipe, recipe_a, recipe_b)
    is_flag = door.flag("disable_ue8m0_cast", disable_ue8m0_cast)
    qa, qb = check_quantised(door, "a", a, a_axes), check_quantised(door, "b", b, b_axes)
    mnk = None
    if qa and qb and check_pair(door, qa, qb):
        mnk = sizes(door, suffix, qa.shape, qb.shape, qa.described(), qb.described())
    if mnk is not None:
        m, n, k = mnk
        if k % 64:
            door.refuse(f"k = {k}; the vendor's function takes multiples of 64. fp8_fp4_gemm_{suffix} takes any.")
        for name, operand, mn, axes in (("sfa (a[1])", qa, m, a_axes), ("sfb (b[1])", qb, n, b_axes)):
            _check_scale(door, name, operand.sf, mn, k, axes, is_flag and disable_ue8m0_cast)
        accepted = (torch.bfloat16, torch.float32)
        if qb.is_fp4 and not qa.is_fp4:
            accepted = (torch.bfloat16, torch.float16)
            for name, operand, axes in (("a", qa, a_axes), ("b", qb, b_axes)):
                if operand.data.stride(axes.index("k")) != 1:
                    door.refuse(f"{name} is MN-major; the vendor's FP8 x FP4 takes K-major operands. fp8_fp4_gemm_{suffix} takes any.")
        check_output(door, d, c, m, n, accepted)
    if door.is_open:
        tensors = {"a": qa.data, "sfa": qa.sf, "b": qb.data, "sfb": qb.sf, "d": d} | ({} if c is None else {"c": c})
        door.same_device(tensors)
        if m and n and door.is_open:
            check_powers_of_two(door, "sfa (a[1])", qa.sf)
            check_powers_of_two(door, "sfb (b[1])", qb.sf)
        _run_fp8_fp4(door, _k_last(qa), _k_last(qb), d, c, k, tensors)
    door.close()


def _run_fp8_fp4(door: Door, a, b, d, c, k: int, tensors: dict) -> None:
    # No kernel stores fp16: through fp32, which it is rounded from in any case.
    through_fp32 = d.dtype == torch.float16 and d.numel() > 0 and not settings.deep_gemm.dry_run
    if not prepare_output(door, d, c, k, tensors):
        return
    run = backends.operation("deep_gemm", "fp8_fp4_gemm", "fp8_fp4_gemm_nt")
    target = torch.empty(d.shape, dtype=torch.float32, device=d.device) if through_fp32 else d
    run(a, b, target, c=None if c is None or through_fp32 else d, recipe_a=(1, 32), recipe_b=(1, 32))
    if through_fp32:
        product = target.to(d.dtype)
        d.copy_(product if c is None else d + product)


def _check_recipes(door: Door, recipe, recipe_a, recipe_b) -> None:
    for name, value, only in (("recipe", recipe, (1, 1, 32)), ("recipe_a", recipe_a, (1, 32)), ("recipe_b", recipe_b, (1, 32))):
        if value is not None and (not isinstance(value, (tuple, list)) or tuple(value) != only):
            door.refuse(f"{name} is {arguments.shown(value)}; the vendor's function takes {only} only.")
    if recipe is not None and (recipe_a is not None or recipe_b is not None):
        door.refuse(f"recipe = {recipe} and recipe_a / recipe_b are exclusive; pass one kind.")


def _check_scale(door: Door, name: str, sf, mn: int, k: int, axes: str, disable_ue8m0_cast: bool) -> None:
    if not door.tensor(name, sf, (2,)) or not door.dtype(name, sf, torch.float32, torch.float8_e8m0fnu, torch.uint8):
        return
    blocks = -(-k // 32)
    row_axis = axes.replace("k", "")
    shape, meaning = ((mn, blocks), f"[{row_axis}, k / 32]") if axes[1] == "k" else ((blocks, mn), f"[k / 32, {row_axis}]")
    if door.shape(name, sf, shape, meaning) and sf.numel():
        unit_stride(door, name, sf)
    if disable_ue8m0_cast and sf.dtype == torch.float32:
        door.refuse(f"{name} is float32 and would be converted, which disable_ue8m0_cast=True forbids; pass float8_e8m0fnu or uint8.")


def _k_last(operand: Quantised) -> tuple[torch.Tensor, torch.Tensor]:
    """(data, scales) on their [mn, k] views; exponent bytes of two neighbouring blocks of k become an int16."""
    data, sf = operand.k_last()
    if sf.dtype != torch.float32 and sf.numel():
        sf = sf.view(torch.uint8).contiguous().view(torch.int16)
    return data, sf
