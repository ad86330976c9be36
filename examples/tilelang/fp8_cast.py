# SPDX-License-Identifier: MIT
"""Per-token FP8 cast in SIMD code: for each 32 values of a row, s = 2^ceil(log2(max(|x|, 1e-4) / 448)) and q = e4m3(x / s).

x bf16, q e4m3, s fp32; `batch` rows a step. A register of 64 values holds two groups. The next power of two is found in the bits of the quotient, and
multiplying by its inverse is exact, so the codes are those of a division.

    python examples/tilelang/fp8_cast.py --rows 4096 --cols 7168
"""

import tilelang
import tilelang.ascend.language as T
import torch
from harness import expect, main, multiples, report

CORES = 64
LANES = 64
GROUP = 32
MOST_COLS = 16384       # what UB holds


@tilelang.jit(target="ascend", out_idx=[1, 2])
def fp8_cast(rows, cols, batch=4, cores=CORES):
    expect("fp8_cast", rows=(rows, multiples()), cols=(cols, multiples(LANES, MOST_COLS)))
    groups = cols // GROUP

    @T.prim_func
    def fp8_cast(
        X: T.Tensor((rows, cols), "bfloat16"),
        Q: T.Tensor((rows, cols), "float8_e4m3fn"),
        S: T.Tensor((rows, groups), "float32"),
    ):
        with T.Kernel(cores) as core:
            x = T.alloc_shared((batch, cols), "bfloat16")
            q = T.alloc_shared((batch, cols), "float8_e4m3fn")
            s = T.alloc_shared((batch, groups), "float32")
            for step in T.Persistent([T.ceildiv(rows, batch)], cores, core):
                first = step * batch
                T.copy(X[first : first + batch, 0:cols], x)
                with T.SimdVF():
                    every = T.simd.pset(32, "PAT_ALL")
                    low = T.simd.pset(32, "PAT_VL32")
                    zero = T.simd.vdup(T.float32(0), "float32")
                    for r, i in T.grid(batch, cols // LANES):
                        v = T.simd.vcvt(T.simd.vld(x[r, i * LANES], "UNPK_B16"), "float32")
                        size = T.simd.vabs(v)
                        first_peak = T.simd.vdupv(T.simd.vcmax(T.simd.vsel(size, zero, low)))
                        second_peak = T.simd.vdupv(T.simd.vcmax(T.simd.vsel(zero, size, low)))
                        peak = T.simd.vmaxs(T.simd.vsel(first_peak, second_peak, low), T.float32(1e-4))
                        # The next power of two: the exponent of the predecessor, plus one.
                        bits = T.reinterpret(T.simd.vmuls(peak, T.float32(1.0 / 448.0)), "uint32x64")
                        exponent = T.simd.vadds(T.simd.vshrs(T.simd.vsub(bits, T.simd.vdup(1, "uint32")), 23), 1)
                        scale = T.reinterpret(T.simd.vshls(exponent, 23), "float32x64")
                        inverse = T.reinterpret(T.simd.vshls(T.simd.vsub(T.simd.vdup(254, "uint32"), exponent), 23), "float32x64")
                        T.simd.vsts(q[r, i * LANES], T.simd.vcvt(T.simd.vmul(v, inverse), "float8_e4m3fn"), every, "PK4_B32")
                        T.simd.vsts(s[r, 2 * i], scale, dist="ONEPT_B32")
                        T.simd.vsts(s[r, 2 * i + 1], T.simd.vdupv(scale, pos="POS_HIGHEST"), dist="ONEPT_B32")
                T.copy(q, Q[first : first + batch, 0:cols])
                T.copy(s, S[first : first + batch, 0:groups])

    return fp8_cast


def reference(x):
    groups = x.float().view(len(x), -1, GROUP)
    scale = torch.exp2(torch.ceil(torch.log2(groups.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448)))
    return (groups / scale).to(torch.float8_e4m3fn).view(len(x), -1), scale.squeeze(-1)


def check(rows, cols, trace=None, **options):
    kernel = fp8_cast(rows, cols, **options)
    torch.manual_seed(0)
    x = (torch.randn(rows, cols) * torch.logspace(-6, 3, rows).unsqueeze(1)).bfloat16()
    device_x = x.npu()
    want, want_scale = reference(x)
    scales = []

    def run():
        data, scale = kernel(device_x)
        scales.append(scale)
        return data
    record = report(f"fp8_cast {rows}x{cols}", run, want.float(), 0.0, trace, moved_bytes=3.125 * rows * cols)
    if not torch.equal(scales[0].cpu(), want_scale):
        raise SystemExit("fp8_cast: the scales differ")
    return record


if __name__ == "__main__":
    main(__doc__, check, rows=512, cols=7168)
