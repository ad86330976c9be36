# SPDX-License-Identifier: MIT
"""RMS norm in SIMD code: y = x / sqrt(mean(x^2) + eps) * w per row; x, w, y bf16, arithmetic fp32.

3 cores share 8 rows; a row of 320 bf16 is five registers of 64 fp32, so a bf16 load unpacks half a register.
"""

import tilelang.ascend.language as T

NAME = "rms_norm"
ROWS, COLS = 8, 320
CORES = 3
LANES = 64
EPS = 1e-6


def program():
    @T.prim_func
    def rms_norm(
        X: T.Tensor((ROWS, COLS), "bfloat16"),
        W: T.Tensor((COLS,), "bfloat16"),
        Y: T.Tensor((ROWS, COLS), "bfloat16"),
    ):
        with T.Kernel(CORES) as core:
            x = T.alloc_shared((COLS,), "bfloat16")
            w = T.alloc_shared((COLS,), "bfloat16")
            y = T.alloc_shared((COLS,), "bfloat16")
            T.copy(W, w)
            for row in T.Persistent([ROWS], CORES, core):
                T.copy(X[row, 0], x)
                with T.SimdVF():
                    every = T.simd.pset(32, "PAT_ALL")
                    total = T.simd.alloc_var("float32")
                    total = T.simd.vdup(T.float32(0), "float32")
                    for i in T.serial(COLS // LANES):
                        v = T.simd.vcvt(T.simd.vld(x[i * LANES], "UNPK_B16"), "float32")
                        T.simd.vmula(total, v, v)
                    mean = T.simd.vmuls(T.simd.vcadd(total), T.float32(1.0 / COLS))
                    root = T.simd.vsqrt(T.simd.vadds(mean, T.float32(EPS)))
                    scale = T.simd.vdiv(T.simd.vdup(T.float32(1), "float32"), T.simd.vdupv(root))
                    for i in T.serial(COLS // LANES):
                        v = T.simd.vcvt(T.simd.vld(x[i * LANES], "UNPK_B16"), "float32")
                        g = T.simd.vcvt(T.simd.vld(w[i * LANES], "UNPK_B16"), "float32")
                        r = T.simd.vcvt(T.simd.vmul(T.simd.vmul(v, scale), g), "bfloat16")
                        T.simd.vsts(y[i * LANES], r, every, "PK_B32")
                T.copy(y, Y[row, 0])

    return rms_norm
