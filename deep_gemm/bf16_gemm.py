# SPDX-License-Identifier: MIT
"""D = C + alpha * A @ B for bf16 operands: signatures and checks. Definition: ascend_sim/backends/torch/deep_gemm/bf16_gemm.py."""

import torch

from ascend_sim import backends
from deep_gemm._dense import check_epilogue, check_output, prepare_output, sizes
from deep_gemm._door import Door

__all__ = ["bf16_gemm_nt", "bf16_gemm_nn", "bf16_gemm_tn", "bf16_gemm_tt"]


def bf16_gemm_nt(a, b, d, c=None, compiled_dims="nk", alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A @ B.T), written into `d`.

    a: [m, k] bf16    b: [n, k] bf16    each with unit stride on either axis, any stride on the other
    d: [m, n] bf16 or fp32, rows contiguous; the only tensor written
    c: shape and dtype of d; None overwrites; c is d accumulates in place; any other c is copied into d first and stays as it is
    compiled_dims: which of m, n, k the real library compiles in; checked, no effect here
    alpha, epilogue: a factor on the fp32 sum, given by either (deep_gemm.epilogue.Alpha); not by both
    Edges: m or n = 0 writes nothing; k = 0 gives d = c, or zeros. No size has to be a multiple of anything.
    Values: exact products, fp32 sums, times alpha in fp32, round to nearest even; with c, a second rounding in d's dtype (the chip adds there).
    Time: 4096 MAC/cycle/core; see ascend_sim/bench/deep_gemm/bf16_gemm.py.
    Parity: a tensor whose two strides are both 1 warns (the Ascend library refuses it as ambiguous); it is taken as K-major.
    Raises: ValueError for shapes, strides and devices, TypeError for types, before d is touched.
    Source: DeepGEMM-Ascend 0.1.0; docs/deep_gemm.md, "Dense GEMM".
    """
    _bf16_gemm("nt", a, b, d, c, compiled_dims, alpha, epilogue)


def bf16_gemm_nn(a, b, d, c=None, compiled_dims="nk", alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A @ B), written into `d`: a [m, k], b [k, n], d [m, n]. All else as bf16_gemm_nt."""
    _bf16_gemm("nn", a, b, d, c, compiled_dims, alpha, epilogue)


def bf16_gemm_tn(a, b, d, c=None, compiled_dims="mn", alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A.T @ B), written into `d`: a [k, m], b [k, n], d [m, n]. All else as bf16_gemm_nt."""
    _bf16_gemm("tn", a, b, d, c, compiled_dims, alpha, epilogue)


def bf16_gemm_tt(a, b, d, c=None, compiled_dims="mn", alpha=None, epilogue=None) -> None:
    """D = C + alpha * (A.T @ B.T), written into `d`: a [k, m], b [n, k], d [m, n]. All else as bf16_gemm_nt."""
    _bf16_gemm("tt", a, b, d, c, compiled_dims, alpha, epilogue)


def _bf16_gemm(suffix: str, a, b, d, c, compiled_dims, alpha, epilogue) -> None:
    door = Door(f"bf16_gemm_{suffix}")
    are_tensors = [door.tensor(name, value, (2,)) for name, value in (("a", a), ("b", b))]
    mnk = None
    if all(are_tensors):
        for name, value in (("a", a), ("b", b)):
            door.dtype(name, value, torch.bfloat16)
            door.major(name, value)
        mnk = sizes(door, suffix, a.shape, b.shape)
    if mnk is not None:
        check_output(door, d, c, *mnk[:2])
    door.compiled_dims(compiled_dims)
    factor = check_epilogue(door, alpha, epilogue)
    if door.is_open:
        tensors = {"a": a, "b": b, "d": d} | ({} if c is None else {"c": c})
        door.same_device(tensors)
        rows_of_a, rows_of_b = a if suffix[0] == "n" else a.T, b if suffix[1] == "t" else b.T
        if d.numel() and mnk[2]:
            backends.limits("deep_gemm").check_bf16_gemm(door, rows_of_a, rows_of_b, d, c)
        if prepare_output(door, d, c, mnk[2], tensors):
            run = backends.operation("deep_gemm", "bf16_gemm", "bf16_gemm_nt")
            run(rows_of_a, rows_of_b, d, c=None if c is None else d, compiled_dims=compiled_dims, alpha=factor)
    door.close()
