# SPDX-License-Identifier: MIT
"""GEMM + ReLU on cube and vector cores: C[m, n] = max(A[m, k] @ B[n, k]^T, 0), A, B bf16, C fp32.

A mixed kernel: the cube core hands each tile to both vector cores (upper rows, lower rows), which clamp it in SIMD code.
150 rows are one full tile of 128 and a rest of 22: rows past the end are loaded as zeros and not stored.
"""

import tilelang.ascend.language as T

NAME = "gemm_relu"
M, N, K = 150, 192, 192
BLOCK_M, BLOCK_N, BLOCK_K = 128, 64, 64
CORES = 2
LANES = 64


def program():
    tiles_m, tiles_n = -(-M // BLOCK_M), N // BLOCK_N

    @T.prim_func
    def gemm_relu(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((N, K), "bfloat16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(CORES) as core:
            a_l1 = T.alloc_l1((BLOCK_M, BLOCK_K), "bfloat16")
            b_l1 = T.alloc_l1((BLOCK_N, BLOCK_K), "bfloat16")
            acc = T.alloc_l0c((BLOCK_M, BLOCK_N), "float32")
            half = T.alloc_shared((BLOCK_M // 2, BLOCK_N), "float32")
            for tile in T.Persistent([tiles_m * tiles_n], CORES, core):
                m = tile // tiles_n * BLOCK_M
                n = tile % tiles_n * BLOCK_N
                for k in T.Pipelined(K // BLOCK_K, num_stages=2):
                    T.copy(A[m, k * BLOCK_K], a_l1)
                    T.copy(B[n, k * BLOCK_K], b_l1)
                    T.gemm(a_l1, b_l1, acc, transpose_B=True, clear_accum=(k == 0))
                T.dual_copy(acc, half)
                with T.SimdVF():
                    for row in T.serial(BLOCK_M // 2):
                        for col in T.serial(BLOCK_N // LANES):
                            x = T.simd.vld(half[row, col * LANES])
                            T.simd.vsts(half[row, col * LANES], T.simd.vrelu(x))
                T.dual_copy(half, C[m : m + BLOCK_M, n : n + BLOCK_N])

    return gemm_relu
