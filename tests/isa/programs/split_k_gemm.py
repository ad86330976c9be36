# SPDX-License-Identifier: MIT
"""Split-K GEMM on cube cores: C[m, n] = A[m, k] @ B[n, k]^T, A, B fp16, C fp32; each core sums a quarter of k.

Core 0 stores its part plainly, then all cores meet at a barrier over the grid, then the others add theirs with atomic stores.
So a barrier that does not wait gives a wrong result. 150 columns are two full tiles of 64 and a rest of 22.
"""

import tilelang.ascend.language as T

NAME = "split_k_gemm"
M, N, K = 64, 150, 512
BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 64
CORES = 4
BARRIER = 8


def program():
    k_per_core = K // CORES
    tiles_n = -(-N // BLOCK_N)

    @T.prim_func
    def split_k_gemm(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(CORES) as core:
            a_l1 = T.alloc_l1((BLOCK_M, BLOCK_K), "float16")
            b_l1 = T.alloc_l1((BLOCK_N, BLOCK_K), "float16")
            acc = T.alloc_l0c((BLOCK_M, BLOCK_N), "float32")
            for step in T.serial(2):
                if step == 1:
                    T.ascend_sync_inter_arrive("PIPE_FIX", BARRIER)
                    T.ascend_sync_inter_wait("PIPE_FIX", BARRIER)
                    T.set_atomic("add", "float32")
                if (core == 0 and step == 0) or (core > 0 and step == 1):
                    for tile in T.serial(tiles_n):
                        for k in T.Pipelined(k_per_core // BLOCK_K, num_stages=2):
                            T.copy(A[0, core * k_per_core + k * BLOCK_K], a_l1)
                            T.copy(B[tile * BLOCK_N, core * k_per_core + k * BLOCK_K], b_l1)
                            T.gemm(a_l1, b_l1, acc, transpose_B=True, clear_accum=(k == 0))
                        T.copy(acc, C[0:BLOCK_M, tile * BLOCK_N : (tile + 1) * BLOCK_N])
            T.set_atomic_none()

    return split_k_gemm
