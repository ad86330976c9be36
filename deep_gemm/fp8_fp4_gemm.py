# SPDX-License-Identifier: MIT
"""D = C + alpha * A @ B for block-scaled fp8 and fp4 operands: signatures and checks. Definition: ascend_sim/backends/torch/deep_gemm/fp8_fp4_gemm.py."""

import torch

from ascend_sim import arguments, backends
from ascend_sim.backends import settings
from deep_gemm._dense import AXES, check_epilogue, check_output, prepare_output, sizes
from deep_gemm._door import Door
from deep_gemm._operands import check_quantised
from deep_gemm._scales import check_scale, recipes

__all__ = [f"{family}_gemm_{suffix}" for family in ("fp8_fp4", "fp8") for suffix in ("nt", "nn", "tn", "tt")] + ["fp8_gemm_nt_skip_head_mid"]


def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk", disable_ue8m0_cast=False,
                    alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A @ B.T), written into `d`, where A and B are e4m3 or e2m1 times one power of two per 32 elements of k.

    a: (data, sf)   data [m, k] float8_e4m3fn, sf [ceil(m / gran_m), ceil(k / 32)] fp32, or [.., ceil(k / 64)] int16
    b: (data, sf)   data [n, k] float8_e4m3fn, sf [ceil(n / gran_n), ..] likewise
       data and sf each with unit stride on either axis. Data may be FP4: int8, two codes a byte along the axis of unit stride, which is
       stored at half its size, [m, k / 2] or [m / 2, k] (docs/layouts.md, "FP4 pairs").
       fp32 scales are non-negative powers of two, of which the exponent byte counts: 0 is taken as 2^-127, inf as NaN; an int16 holds the UE8M0 exponents of two neighbouring blocks, the even one in the low
       byte (docs/layouts.md, "Scale pairs"). A = data * sf[row // gran_m, k // 32]
    d: [m, n] bf16 or fp32, rows contiguous; the only tensor written
    c: shape and dtype of d; None overwrites; c is d accumulates in place; any other c is copied into d first and stays as it is
    recipe: (gran_m, gran_n, 32), or recipe_a = (gran_m, 32) and recipe_b = (gran_n, 32), of which a missing one is (1, 32); gran_m and
       gran_n are powers of two up to 128. Default (1, 1, 32). gran_k = 128 as on CUDA: see Parity
    compiled_dims: which of m, n, k the real library compiles in; checked, no effect here
    disable_ue8m0_cast: True refuses scales that have to be converted (fp32)
    alpha, epilogue: a factor on the fp32 sum, given by either (deep_gemm.epilogue.Alpha); not by both
    Edges: m or n = 0 writes nothing; k = 0 gives d = c, or zeros. No size has to be a multiple of anything, but the packed axis of
       FP4 data is even; what lies beyond k counts as 0.
    Values: exact products, fp32 sums, times alpha in fp32, round to nearest even; with c, a second rounding in d's dtype (the chip adds there).
    Time: 8192 MAC/cycle/core, FP4 x FP4 16384; FP8 x FP4 as FP8 x FP8, its B expanded by vector cores. Before it a launch of the
       scale transform, unless sf is in its result's layout. See ascend_sim/bench/deep_gemm/fp8_fp4_gemm.py; published times are without the transform.
    Parity: what only CUDA takes works with a warning (docs/parity.md): gran_k = 128, also with fp32 scales that are no powers of two, int32 scales,
       CUDA's default recipe where only it fits, FP4 x FP8, two unit strides (K-major), data of dtype float4_e2m1fn_x2.
    Raises: ValueError for shapes, strides, recipes, scale values and devices, TypeError for types, before d is touched.
    Source: DeepGEMM-Ascend 0.1.0; docs/deep_gemm.md, "Dense GEMM".
    """
    _fp8_fp4_gemm("nt", a, b, d, c, recipe, recipe_a, recipe_b, compiled_dims, disable_ue8m0_cast, alpha, epilogue)


def fp8_fp4_gemm_nn(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk", disable_ue8m0_cast=False,
                    alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A @ B), written into `d`: a [m, k], b [k, n], d [m, n]; scales oriented as their data. All else as fp8_fp4_gemm_nt."""
    _fp8_fp4_gemm("nn", a, b, d, c, recipe, recipe_a, recipe_b, compiled_dims, disable_ue8m0_cast, alpha, epilogue)


def fp8_fp4_gemm_tn(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="mn", disable_ue8m0_cast=False,
                    alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A.T @ B), written into `d`: a [k, m], b [k, n], d [m, n]; scales oriented as their data. All else as fp8_fp4_gemm_nt."""
    _fp8_fp4_gemm("tn", a, b, d, c, recipe, recipe_a, recipe_b, compiled_dims, disable_ue8m0_cast, alpha, epilogue)


def fp8_fp4_gemm_tt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="mn", disable_ue8m0_cast=False,
                    alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A.T @ B.T), written into `d`: a [k, m], b [n, k], d [m, n]; scales oriented as their data. All else as fp8_fp4_gemm_nt."""
    _fp8_fp4_gemm("tt", a, b, d, c, recipe, recipe_a, recipe_b, compiled_dims, disable_ue8m0_cast, alpha, epilogue)


# The older names; the identical objects.
fp8_gemm_nt, fp8_gemm_nn, fp8_gemm_tn, fp8_gemm_tt = fp8_fp4_gemm_nt, fp8_fp4_gemm_nn, fp8_fp4_gemm_tn, fp8_fp4_gemm_tt


def fp8_gemm_nt_skip_head_mid(a, b, d, head_splits, recipe=None, compiled_dims="nk", disable_ue8m0_cast=False) -> None:
    """d's columns but the middle ones of each head = A @ B.T, where a head has left + mid + right columns of d and left + right of the product.

    a, b, recipe, compiled_dims, disable_ue8m0_cast: as fp8_fp4_gemm_nt
    head_splits: (left, mid, right); left + right divides n
    d: [m, n / (left + right) * (left + mid + right)] bf16 or fp32, rows contiguous. The mid columns are not written
    Time: fp8_fp4_gemm_nt's, and a copy of D.
    Parity: only CUDA has it; warns. Raises: as fp8_fp4_gemm_nt.
    Source: DeepGEMM 2.6.1.
    """
    function = "fp8_gemm_nt_skip_head_mid"
    fine = isinstance(head_splits, (tuple, list)) and len(head_splits) == 3 and all(type(x) is int and x >= 0 for x in head_splits)
    if not fine or head_splits[0] + head_splits[2] == 0:
        raise ValueError(f"{function}: head_splits is {arguments.shown(head_splits)}; expected three ints (left, mid, right) of at least 0, left + right positive.")
    _fp8_fp4_gemm("nt", a, b, d, None, recipe, None, None, compiled_dims, disable_ue8m0_cast, None, None, function, tuple(head_splits))


def _fp8_fp4_gemm(suffix: str, a, b, d, c, recipe, recipe_a, recipe_b, compiled_dims, disable_ue8m0_cast, alpha, epilogue,
                  function: str = "", heads: tuple[int, int, int] | None = None) -> None:
    door, limits = Door(function or f"fp8_fp4_gemm_{suffix}"), backends.limits("deep_gemm")
    if heads is not None:
        door.differs("skip head mid", "only the CUDA library has this function.")
    door.flag("disable_ue8m0_cast", disable_ue8m0_cast)
    given = recipes(door, recipe, recipe_a, recipe_b)
    qa, qb = (check_quantised(door, name, operand, axes) for name, operand, axes in zip("ab", (a, b), AXES[suffix], strict=True))
    mnk = chosen = None
    if qa and qb and limits.check_formats(door, qa, qb):
        mnk = sizes(door, suffix, qa.shape, qb.shape, qa.described(), qb.described())
    if mnk is not None:
        m, n, k = mnk
        if given is not None:
            chosen = limits.recipes(door, given, qa, qb)
        if chosen is not None and door.flag("disable_ue8m0_cast", disable_ue8m0_cast):
            check_scale(door, "sfa (a[1])", qa, chosen[0], disable_ue8m0_cast)
            check_scale(door, "sfb (b[1])", qb, chosen[1], disable_ue8m0_cast)
        check_output(door, d, c, m, n if heads is None else _width(door, n, heads))
    door.compiled_dims(compiled_dims)
    factor = check_epilogue(door, alpha, epilogue)
    if door.is_open:
        tensors = {"a": qa.data, "sfa": qa.sf, "b": qb.data, "sfb": qb.sf, "d": d} | ({} if c is None else {"c": c})
        door.same_device(tensors)
        if m and n and k and door.is_open:
            limits.check_gemm(door, qa, qb, d, c, chosen, disable_ue8m0_cast)
        if heads is not None:
            _run_heads(door, qa, qb, d, chosen, k, tensors, compiled_dims, disable_ue8m0_cast, heads)
        elif prepare_output(door, d, c, k, tensors):
            run = backends.operation("deep_gemm", "fp8_fp4_gemm", "fp8_fp4_gemm_nt")
            run(qa.k_last(), qb.k_last(), d, c=None if c is None else d, recipe_a=chosen[0], recipe_b=chosen[1],
                compiled_dims=compiled_dims, disable_ue8m0_cast=disable_ue8m0_cast, alpha=factor)
    door.close()


def _width(door: Door, n: int, heads: tuple[int, int, int]) -> int:
    left, mid, right = heads
    if n % (left + right):
        door.refuse(f"head_splits is {heads} and b gives n = {n}; expected a multiple of left + right = {left + right}.")
    return n // (left + right) * sum(heads)


def _run_heads(door: Door, qa, qb, d, chosen, k: int, tensors: dict, compiled_dims, disable_ue8m0_cast, heads) -> None:
    left, mid, right = heads
    product = torch.empty((qa.mn, qb.mn), dtype=d.dtype, device=d.device)
    if prepare_output(door, product, None, k, tensors):
        run = backends.operation("deep_gemm", "fp8_fp4_gemm", "fp8_fp4_gemm_nt")
        run(qa.k_last(), qb.k_last(), product, recipe_a=chosen[0], recipe_b=chosen[1], compiled_dims=compiled_dims,
            disable_ue8m0_cast=disable_ue8m0_cast)
    if product.numel() and not settings.deep_gemm.dry_run:
        there, here = d.unflatten(1, (-1, sum(heads))), product.unflatten(1, (-1, left + right))
        there[:, :, :left] = here[:, :, :left]
        there[:, :, left + mid:] = here[:, :, left:]
