# SPDX-License-Identifier: MIT
"""GEMM and ReLU on cube and vector cores together: C[m, n] = max(A[m, k] @ B[n, k]^T, 0); A, B bf16, C fp32.

A mixed kernel: each cube core hands a tile of the product to its two vector cores, upper rows to one and lower rows to the
other, and multiplies on while they clamp and store. TileLang's scheduler finds the flags between them.

    python examples/tilelang/gemm_relu.py --m 256 --n 2048 --k 7168
"""

import tilelang
import tilelang.ascend.language as T
import torch
from harness import expect, main, multiples, report

CORES = 32
LANES = 64                              # fp32 in a vector register


@tilelang.jit(target="ascend", out_idx=[2])
def gemm_relu(m, n, k, block_m=128, block_n=64, block_k=64, cores=CORES):
    expect("gemm_relu", m=(m, multiples()), n=(n, multiples(block_n)), k=(k, multiples(block_k)))
    tiles_m, tiles_n = -(-m // block_m), n // block_n

    @T.prim_func
    def gemm_relu(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((n, k), "bfloat16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(cores) as core:
            a_l1 = T.alloc_l1((block_m, block_k), "bfloat16")
            b_l1 = T.alloc_l1((block_n, block_k), "bfloat16")
            acc = T.alloc_l0c((block_m, block_n), "float32")
            half = T.alloc_shared((block_m // 2, block_n), "float32")
            for tile in T.Persistent([tiles_m * tiles_n], cores, core):
                row = tile // tiles_n * block_m
                col = tile % tiles_n * block_n
                for i in T.Pipelined(k // block_k, num_stages=2):
                    T.copy(A[row, i * block_k], a_l1)
                    T.copy(B[col, i * block_k], b_l1)
                    T.gemm(a_l1, b_l1, acc, transpose_B=True, clear_accum=(i == 0))
                T.dual_copy(acc, half)
                with T.SimdVF():
                    for r in T.serial(block_m // 2):
                        for c in T.serial(block_n // LANES):
                            T.simd.vsts(half[r, c * LANES], T.simd.vrelu(T.simd.vld(half[r, c * LANES])))
                T.dual_copy(half, C[row : row + block_m, col : col + block_n])

    return gemm_relu


def check(m, n, k, trace=None, **tile):
    kernel = gemm_relu(m, n, k, **tile)
    torch.manual_seed(0)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
    device_a, device_b = a.npu(), b.npu()
    want = (a.double() @ b.double().T).clamp(min=0)
    return report(f"gemm_relu {m}x{n}x{k}", lambda: kernel(device_a, device_b), want, 1e-5, trace, flops=2.0 * m * n * k)


if __name__ == "__main__":
    main(__doc__, check, m=256, n=2048, k=1024)
