# SPDX-License-Identifier: MIT
"""Per-token FP8 cast in SIMD code: for each 32 values of a row, s = 2^ceil(log2(max(|x|, 1e-4) / 448)) and q = e4m3(x / s).

x bf16, q e4m3, s fp32; `batch` rows a step, in three passes: the largest |x| of each group, two groups a register; the scales, 64 a register; the values,
times the inverse of their scale. That is exact, a scale being a power of two, found in the bits of the quotient: so the codes are those of a division.

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
    padded = T.ceildiv(groups, LANES) * LANES        # scales are computed in whole registers

    @T.prim_func
    def fp8_cast(
        X: T.Tensor((rows, cols), "bfloat16"),
        Q: T.Tensor((rows, cols), "float8_e4m3fn"),
        S: T.Tensor((rows, groups), "float32"),
    ):
        with T.Kernel(cores) as core:
            x = T.alloc_shared((batch, cols), "bfloat16")
            q = T.alloc_shared((batch, cols), "float8_e4m3fn")
            peak = T.alloc_shared((batch, padded), "float32")
            scale = T.alloc_shared((batch, padded), "float32")
            inverse = T.alloc_shared((batch, padded), "float32")
            for step in T.Persistent([T.ceildiv(rows, batch)], cores, core):
                first = step * batch
                T.copy(X[first : first + batch, 0:cols], x)
                with T.SimdVF():
                    every = T.simd.pset(32, "PAT_ALL")
                    low = T.simd.pset(32, "PAT_VL32")
                    high = T.simd.pnot(low, every)
                    for r, i in T.grid(batch, cols // LANES):
                        size = T.simd.vabs(T.simd.vcvt(T.simd.vld(x[r, i * LANES], "UNPK_B16"), "float32"))
                        T.simd.vsts(peak[r, 2 * i], T.simd.vcmax(size, low), dist="ONEPT_B32")
                        T.simd.vsts(peak[r, 2 * i + 1], T.simd.vcmax(size, high), dist="ONEPT_B32")
                    T.simd.mem_bar("VST_VLD")
                    for r, i in T.grid(batch, padded // LANES):
                        # The next power of two: the exponent of the predecessor, plus one.
                        quotient = T.simd.vmuls(T.simd.vmaxs(T.simd.vld(peak[r, i * LANES]), T.float32(1e-4)), T.float32(1.0 / 448.0))
                        before = T.simd.vsub(T.reinterpret(quotient, "uint32x64"), T.simd.vdup(1, "uint32"))
                        exponent = T.simd.vadds(T.simd.vshrs(before, 23), 1)
                        T.simd.vsts(scale[r, i * LANES], T.reinterpret(T.simd.vshls(exponent, 23), "float32x64"))
                        opposite = T.simd.vsub(T.simd.vdup(254, "uint32"), exponent)
                        T.simd.vsts(inverse[r, i * LANES], T.reinterpret(T.simd.vshls(opposite, 23), "float32x64"))
                    T.simd.mem_bar("VST_VLD")
                    for r, i in T.grid(batch, cols // LANES):
                        v = T.simd.vcvt(T.simd.vld(x[r, i * LANES], "UNPK_B16"), "float32")
                        factor = T.simd.vsel(T.simd.vld(inverse[r, 2 * i], "BRC_B32"), T.simd.vld(inverse[r, 2 * i + 1], "BRC_B32"), low)
                        T.simd.vsts(q[r, i * LANES], T.simd.vcvt(T.simd.vmul(v, factor), "float8_e4m3fn"), dist="PK4_B32")
                T.copy(q, Q[first : first + batch, 0:cols])
                T.copy(scale[0:batch, 0:groups], S[first : first + batch, 0:groups])

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
