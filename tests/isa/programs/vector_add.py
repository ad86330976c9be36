# SPDX-License-Identifier: MIT
"""C = A + B in SIMD code, fp32. 3 cores share 7 rows; a row of 200 is three registers and a rest of 8 lanes (PAT_VL8)."""

import tilelang.ascend.language as T

NAME = "vector_add"
ROWS, COLS = 7, 200
CORES = 3
LANES = 64


def program():
    @T.prim_func
    def vector_add(
        A: T.Tensor((ROWS, COLS), "float32"),
        B: T.Tensor((ROWS, COLS), "float32"),
        C: T.Tensor((ROWS, COLS), "float32"),
    ):
        with T.Kernel(CORES) as core:
            a = T.alloc_shared((COLS,), "float32")
            b = T.alloc_shared((COLS,), "float32")
            c = T.alloc_shared((COLS,), "float32")
            for row in T.Persistent([ROWS], CORES, core):
                T.copy(A[row, 0], a)
                T.copy(B[row, 0], b)
                with T.SimdVF():
                    for i in T.serial(COLS // LANES):
                        total = T.simd.vadd(T.simd.vld(a[i * LANES]), T.simd.vld(b[i * LANES]))
                        T.simd.vsts(c[i * LANES], total)
                    tail = T.simd.pset(32, f"PAT_VL{COLS % LANES}")
                    base = COLS // LANES * LANES
                    rest = T.simd.vadd(T.simd.vld(a[base]), T.simd.vld(b[base]), tail)
                    T.simd.vsts(c[base], rest, tail)
                T.copy(c, C[row, 0])

    return vector_add
