# SPDX-License-Identifier: MIT
"""A persistent GEMM on cube cores alone: C[m, n] = A[m, k] @ B[n, k]^T in bf16, each core walking over its tiles.

The product leaves L0C through FIX, which rounds to bf16, straight into global memory. A tile of 256 x 256 fills L0C: loads then
cost least, and unit flags let the next tile's multiplications follow FIX block by block instead of waiting for the whole tile.

    python examples/tilelang/persistent_gemm.py --m 4096 --n 7168 --k 2048
"""

import tilelang
import tilelang.ascend.language as T
import torch
from harness import expect, main, multiples, report

CORES = 32


@tilelang.jit(target="ascend", out_idx=[2])
def gemm(m, n, k, block_m=256, block_n=256, block_k=128, stages=2, cores=CORES):
    expect("persistent_gemm", m=(m, multiples(block_m)), n=(n, multiples(block_n)), k=(k, multiples(block_k)))
    tiles_m, tiles_n, steps = m // block_m, n // block_n, k // block_k

    @T.prim_func
    def gemm(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((n, k), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(cores) as core:
            a_l1 = T.alloc_l1((block_m, block_k), "bfloat16")
            b_l1 = T.alloc_l1((block_n, block_k), "bfloat16")
            acc = T.alloc_l0c((block_m, block_n), "float32")
            for tile in T.Persistent([tiles_m * tiles_n], cores, core):
                row = tile % tiles_m * block_m
                col = tile // tiles_m * block_n
                for i in T.Pipelined(steps, num_stages=stages):
                    T.copy(A[row, i * block_k], a_l1)
                    T.copy(B[col, i * block_k], b_l1)
                    last = T.if_then_else(i == steps - 1, 3, 2)
                    T.gemm(a_l1, b_l1, acc, transpose_B=True, clear_accum=(i == 0), unit_flag_ctrl=last)
                T.copy(acc, C[row : row + block_m, col : col + block_n], unit_flag_ctrl=3)

    return gemm


def check(m, n, k, trace=None, **tile):
    kernel = gemm(m, n, k, **tile)
    torch.manual_seed(0)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
    device_a, device_b = a.npu(), b.npu()
    want = a.float() @ b.float().T
    return report(f"persistent_gemm {m}x{n}x{k}", lambda: kernel(device_a, device_b), want, 2**-8, trace, flops=2.0 * m * n * k)


if __name__ == "__main__":
    main(__doc__, check, m=1024, n=1792, k=2048)
