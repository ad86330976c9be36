# SPDX-License-Identifier: MIT
"""Which dense GEMMs does NVIDIA's library refuse? Stated from its documented limits (deep_gemm.md 2.3, 4.1, 6, 21), apart from the code under test."""

import torch

_TMA = 16                   # bytes


def refusal(arch: int, family: str, a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None) -> str | None:
    """What the message has to say if the call is refused. a [m, k] and b [n, k]: tensors, or (data, sf), on their k-last views."""
    pairs = (a, b) if family != "bf16" else ((a, None), (b, None))
    m, n = d.shape
    k = _extents(a[0])[1] if family != "bf16" else a.shape[1]
    for data, _ in pairs:
        if data.dtype == torch.int8:
            if arch == 90:
                return "is FP4"
            if 2 * data.shape[1 if data.stride(1) == 1 else 0] % 128:
                return "multiple of 128"
    if family != "bf16":
        for (_, sf), grans in zip(pairs, _recipes(arch, b, recipe, recipe_a, recipe_b), strict=True):
            if grans[1] not in ((128,) if arch == 90 else (32, 128)) or (arch == 90 and grans[0] not in (1, 128)):
                return "gran_"
            if sf.dtype == torch.int16:
                return "int16"
    if m == 0 or n == 0 or k == 0:
        return None
    for tensor in (pairs[0][0], pairs[1][0], d):
        if tensor.data_ptr() % _TMA or (tensor.stride(0) if tensor.stride(1) == 1 else tensor.stride(1)) * tensor.element_size() % _TMA:
            return "bulk copies"
    if arch == 90 and family != "bf16":
        if any(data.stride(1) != 1 for data, _ in pairs):
            return "K-major"
        if n % 8:
            return "multiple of 8"
        gran_n = _recipes(arch, b, recipe, recipe_a, recipe_b)[1][0]
        if (d.dtype, c is None) != ((torch.bfloat16, True) if gran_n == 128 else (torch.float32, False)):
            return "gran_n"
    return None


def _extents(data) -> tuple[int, int]:
    rows, columns = data.shape
    if data.dtype != torch.int8:
        return rows, columns
    return (rows, 2 * columns) if data.stride(1) == 1 else (2 * rows, columns)


def _recipes(arch, b, recipe, recipe_a, recipe_b):
    if recipe is not None:
        return (recipe[0], recipe[2]), (recipe[1], recipe[2])
    if recipe_a is not None:
        return recipe_a, recipe_b
    return (1, 128), (1 if b[1].dtype == torch.int32 else 128, 128)
