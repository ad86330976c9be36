# SPDX-License-Identifier: MIT
"""Which type and value do the scalar min and max of mixed types give, where do expressions of 16-bit floats round, and what does a block know of itself?

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


EXPRESSIONS = """
#include "c_api/asc_simd.h"
template <class T>
void expressions(__gm__ T* a, __gm__ T* b, __gm__ T* out, int n) {
    for (int i = 0; i < n; ++i) {
        const T x = a[i], y = b[i];
        out[5 * i] = x * y + x;
        out[5 * i + 1] = (x - y) * y;
        out[5 * i + 2] = x / y - y;
        out[5 * i + 3] = -x * y - -y;
        out[5 * i + 4] = float(x) * y + x;  // mixed: rounds where it is stored
    }
}
extern "C" __global__ __vector__ void of_half(__gm__ half* a, __gm__ half* b, __gm__ half* out, int n) { expressions(a, b, out, n); }
extern "C" __global__ __vector__ void of_bfloat16(__gm__ bfloat16_t* a, __gm__ bfloat16_t* b, __gm__ bfloat16_t* out, int n) { expressions(a, b, out, n); }
"""


@pytest.mark.parametrize("name", ["half", "bfloat16"])
def test_each_operation_on_16_bit_floats_rounds(name):
    """The same whether TileLang writes one expression or, for neighbours, a statement for each operation. The oracle is torch on the CPU, which rounds each."""
    kernel, dtype = jit.compile_all(EXPRESSIONS, {"of_half": "vector", "of_bfloat16": "vector"})[f"of_{name}"], getattr(torch, name)
    torch.manual_seed(0)
    x, y = (torch.randn(2, 4000) * torch.tensor([[30.0], [3.0]])).to(dtype)
    out = torch.zeros(4000, 5, dtype=dtype).npu()
    kernel[1](x.npu(), y.npu(), out, len(x))
    want = torch.stack([x * y + x, (x - y) * y, x / y - y, -x * y + y, (x.float() * y.float() + x.float()).to(dtype)], 1)
    assert torch.equal(out.cpu(), want)
    assert not torch.equal(want[:, 0], want[:, 4])
