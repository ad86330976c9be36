# SPDX-License-Identifier: MIT
"""RMS norm in SIMD code: y = x / sqrt(mean(x^2) + eps) * w per row; x, w, y bf16, arithmetic fp32; a row at a time per vector core.

    python examples/tilelang/rms_norm.py --rows 4096 --cols 7168
"""

import tilelang
import tilelang.ascend.language as T
import torch
from harness import expect, main, multiples, report

CORES = 64                              # vector cores: two to each AI core
LANES = 64
EPS = 1e-6
MOST_COLS = 32768       # what UB holds


@tilelang.jit(target="ascend", out_idx=[2])
def rms_norm(rows, cols, cores=CORES):
    expect("rms_norm", rows=(rows, multiples()), cols=(cols, multiples(LANES, MOST_COLS)))

    @T.prim_func
    def rms_norm(X: T.Tensor((rows, cols), "bfloat16"), W: T.Tensor((cols,), "bfloat16"), Y: T.Tensor((rows, cols), "bfloat16")):
        with T.Kernel(cores) as core:
            x = T.alloc_shared((cols,), "bfloat16")
            w = T.alloc_shared((cols,), "bfloat16")
            y = T.alloc_shared((cols,), "bfloat16")
            T.copy(W, w)
            for row in T.Persistent([rows], cores, core):
                T.copy(X[row, 0], x)
                with T.SimdVF():
                    every = T.simd.pset(32, "PAT_ALL")
                    total = T.simd.alloc_var("float32")
                    total = T.simd.vdup(T.float32(0), "float32")
                    for i in T.serial(cols // LANES):
                        v = T.simd.vcvt(T.simd.vld(x[i * LANES], "UNPK_B16"), "float32")
                        T.simd.vmula(total, v, v)
                    mean = T.simd.vmuls(T.simd.vcadd(total), T.float32(1.0 / cols))
                    root = T.simd.vsqrt(T.simd.vadds(mean, T.float32(EPS)))
                    scale = T.simd.vdiv(T.simd.vdup(T.float32(1), "float32"), T.simd.vdupv(root))
                    for i in T.serial(cols // LANES):
                        v = T.simd.vcvt(T.simd.vld(x[i * LANES], "UNPK_B16"), "float32")
                        g = T.simd.vcvt(T.simd.vld(w[i * LANES], "UNPK_B16"), "float32")
                        r = T.simd.vcvt(T.simd.vmul(T.simd.vmul(v, scale), g), "bfloat16")
                        T.simd.vsts(y[i * LANES], r, every, "PK_B32")
                T.copy(y, Y[row, 0])

    return rms_norm


def check(rows, cols, trace=None, **options):
    kernel = rms_norm(rows, cols, **options)
    torch.manual_seed(0)
    x, w = torch.randn(rows, cols).bfloat16() * 3, torch.randn(cols).bfloat16()
    device_x, device_w = x.npu(), w.npu()
    wide = x.double()
    want = wide / (wide.square().mean(dim=1, keepdim=True) + EPS).sqrt() * w.double()
    return report(f"rms_norm {rows}x{cols}", lambda: kernel(device_x, device_w), want, 2**-8, trace, moved_bytes=4.0 * rows * cols)


if __name__ == "__main__":
    main(__doc__, check, rows=512, cols=7168)
