# SPDX-License-Identifier: MIT
"""Which type and value do the scalar min and max of mixed types give, and what does a block know of itself?

The oracle is C++'s rule of common types, by numpy: generated programs write thousands of these.
"""

import numpy as np
import pytest
import torch
from ascend_sim import jit
from support.simd import edge_values

TYPES = {"f32": "float", "f16": "half", "bf16": "bfloat16_t", "s32": "int32_t", "u32": "uint32_t", "s64": "int64_t", "s8": "int8_t", "u8": "uint8_t"}
COMMON = {  # of two types: what the result is, 8-bit integers count as int
    ("f32", "f32"): "f32", ("f16", "f16"): "f16", ("bf16", "bf16"): "bf16", ("s32", "s32"): "s32", ("u32", "u32"): "u32", ("s64", "s64"): "s64", ("s8", "s8"): "s8",
    ("s32", "u32"): "u32", ("s32", "s64"): "s64", ("u32", "s64"): "s64", ("f32", "f16"): "f32", ("f16", "bf16"): "f32", ("s32", "f32"): "f32", ("s8", "u8"): "s32",
    ("u8", "u32"): "u32", ("s32", "f16"): "f32", ("s64", "f32"): "f32"}
KERNEL = """
#include "c_api/asc_simd.h"
template <class A, class B, class R>
void both(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ uint8_t* out, int n) {
    static_assert(std::is_same_v<decltype(max(A{}, B{})), R> && std::is_same_v<decltype(min(A{}, B{})), R>);
    for (int i = 0; i < n; ++i) {
        const A x = reinterpret_cast<A*>(a)[i];
        const B y = reinterpret_cast<B*>(b)[i];
        reinterpret_cast<R*>(out)[2 * i] = max(x, y);
        reinterpret_cast<R*>(out)[2 * i + 1] = min(x, y);
    }
}
extern "C" __global__ __vector__ void extremes(__gm__ uint8_t* a, __gm__ uint8_t* b, __gm__ uint8_t* out, int n, int which) {
    switch (which) {
CASES
    }
}
"""

@pytest.fixture(scope="module")
def kernel():
    cases = "\n".join(f"        case {i}: both<{TYPES[a]}, {TYPES[b]}, {TYPES[r]}>(a, b, out, n); break;" for i, ((a, b), r) in enumerate(COMMON.items()))
    return jit.compile(KERNEL.replace("CASES", cases))


@pytest.mark.parametrize("pair", COMMON, ids="-".join)
def test_extremes_of_mixed_types_compare_in_the_common_one(kernel, pair):
    """Neither operand is NaN: which one the chip gives then is not published."""
    edges = [edge_values(name) for name in pair]
    with np.errstate(all="ignore"):
        edges = [x[~np.isnan(x.astype(np.float64))] for x in edges]
    a, b = np.repeat(edges[0], len(edges[1])), np.tile(edges[1], len(edges[0]))
    common = edge_values(COMMON[pair]).dtype
    out = torch.zeros(2 * len(a) * common.itemsize, dtype=torch.uint8).npu()
    kernel[1](*(torch.from_numpy(x.copy().view(np.uint8)).npu() for x in (a, b)), out, len(a), list(COMMON).index(pair))
    got = out.cpu().numpy().view(common).reshape(-1, 2).astype(np.float64 if common.kind in "fV" else common)
    with np.errstate(all="ignore"):
        x, y = (v.astype(common).astype(got.dtype) for v in (a, b))
    np.testing.assert_array_equal(got, np.stack([np.maximum(x, y), np.minimum(x, y)], 1))
