# SPDX-License-Identifier: MIT
"""MX FP8 GEMM on cube cores: C[m, n] = sum_k A[m, k] sa[m, k/32] B[n, k] sb[n, k/32], A, B e4m3, scales e8m0, C bf16.

Scales come packed two to an int16 (even k group in the low byte): those of A one row of m per k pair (as DeepGEMM stores
them), those of B one row of k pairs per n. So both fractal copies occur: row-major (nd2nz) and column-major (dn2nz).
100 rows are one full tile of 64 and a rest of 36.
"""

import tilelang.ascend.language as T

NAME = "mx_fp8_gemm"
M, N, K = 100, 128, 256
BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 128
CORES = 2
K_PER_PAIR = 64


def program():
    tiles_m, tiles_n = -(-M // BLOCK_M), N // BLOCK_N
    pairs = BLOCK_K // K_PER_PAIR

    @T.prim_func
    def mx_fp8_gemm(
        A: T.Tensor((M, K), "float8_e4m3fn"),
        B: T.Tensor((N, K), "float8_e4m3fn"),
        SFA: T.Tensor((K // K_PER_PAIR, M), "uint16"),
        SFB: T.Tensor((N, K // K_PER_PAIR), "uint16"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        with T.Kernel(CORES) as core:
            a_l1 = T.alloc_l1((BLOCK_M, BLOCK_K), "float8_e4m3fn")
            b_l1 = T.alloc_l1((BLOCK_N, BLOCK_K), "float8_e4m3fn")
            sfa_l1 = T.alloc_l1((BLOCK_M, pairs), "uint16")
            sfb_l1 = T.alloc_l1((BLOCK_N, pairs), "uint16")
            acc = T.alloc_l0c((BLOCK_M, BLOCK_N), "float32")
            for tile in T.Persistent([tiles_m * tiles_n], CORES, core):
                m = tile // tiles_n * BLOCK_M
                n = tile % tiles_n * BLOCK_N
                for k in T.Pipelined(K // BLOCK_K, num_stages=2):
                    T.copy(A[m, k * BLOCK_K], a_l1)
                    T.copy(B[n, k * BLOCK_K], b_l1)
                    T.copy(SFA[k * pairs : (k + 1) * pairs, m : m + BLOCK_M], sfa_l1, transpose=True)
                    T.copy(SFB[n : n + BLOCK_N, k * pairs : (k + 1) * pairs], sfb_l1)
                    T.gemm_blockscaled(a_l1, b_l1, acc, sfa_l1, sfb_l1, transpose_B=True, clear_accum=(k == 0))
                T.copy(acc, C[m : m + BLOCK_M, n : n + BLOCK_N])

    return mx_fp8_gemm
