# SPDX-License-Identifier: MIT
"""C = A @ B in Triton, fp16 with 64 x 64 x 32 blocks: what tilelang_host.py compares with, in Triton's interpreter."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        acc += tl.dot(tl.load(a + rows[:, None] * K + ks[None, :]), tl.load(b + ks[:, None] * N + cols[None, :]))
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.float16))


def matmul(a, b):
    """a [m, k], b [k, n] fp16 on the CPU -> [m, n]; m and n multiples of 64, k of 32."""
    m, k, n = *a.shape, b.shape[1]
    c = torch.empty(m, n, dtype=torch.float16)
    kernel[(m // 64, n // 64)](a, b, c, n, k, BM=64, BN=64, BK=32)
    return c
