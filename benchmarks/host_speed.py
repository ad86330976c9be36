# SPDX-License-Identifier: MIT
"""How long do values and simulated time take on this host, measured in the speed of plain PyTorch on its CPU?

    python benchmarks/host_speed.py [--rounds 7]

Large GEMMs against `x @ y.T` in bf16; few rows against the expression that expands the operands to bf16 and multiplies. Everything is interleaved, round by
round, and medians are compared: a busy machine slows both down. Full mode: values and time.
"""

import argparse
import statistics
import time

import deep_gemm
import torch

LARGE, THIN = (4096, 7168, 2048), (128, 7168, 7168)
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.bfloat16)


def scales(packed, rows, groups):
    """int16 pairs of UE8M0, [rows, groups / 2], as bf16 [rows, groups]."""
    return (packed.cpu().contiguous().view(torch.uint8).view(rows, groups).to(torch.int32) << 7).to(torch.int16).view(torch.bfloat16)


def expanded(codes, packed, rows, k):
    """The bf16 operand that (codes, scales) stands for."""
    values = codes.bfloat16() if codes.dtype == torch.float8_e4m3fn else E2M1[torch.stack((codes & 15, codes.view(torch.uint8) >> 4), -1).view(rows, k).int()]
    return (values.view(rows, -1, 32) * packed[..., None]).view(rows, k)


def measure(rounds, calls):
    """Median seconds of each call, one of each a round; the first round is not counted."""
    times = {name: [] for name in calls}
    for round_ in range(rounds + 1):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            if round_:
                times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def operand(rows, k, kind):
    """Random codes with random scales near 1, in the layout of the chip."""
    codes = torch.randint(-128, 128, (rows, k // (2 if kind == "fp4" else 1)), dtype=torch.int8)
    if kind == "fp8":
        codes = torch.where(codes & 127 == 127, torch.zeros_like(codes), codes).view(torch.float8_e4m3fn)  # no NaN
    pairs = torch.randint(120, 128, (k // 64, rows, 2), dtype=torch.uint8).view(torch.int16)[..., 0]
    return codes.npu(), pairs.npu().T


def compare(m, n, k, rounds):
    x, y = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
    xn, yn, d = x.npu(), y.npu(), torch.empty(m, n, dtype=torch.bfloat16, device="npu")
    a = operand(m, k, "fp8")
    calls = {"x @ y.T": lambda: x @ y.T, "bf16": lambda: deep_gemm.bf16_gemm_nt(xn, yn, d)}
    bases = {"bf16": "x @ y.T"}
    for kind in ("fp8", "fp4"):
        b = operand(n, k, kind)
        calls[f"fp8 x {kind}"] = lambda b=b: deep_gemm.fp8_fp4_gemm_nt(a, b, d)
        bases[f"fp8 x {kind}"] = "x @ y.T"
        if (m, n, k) == THIN:
            host = [(a[0].cpu(), scales(a[1], m, k // 32), m), (b[0].cpu(), scales(b[1], n, k // 32), n)]
            calls[f"expand {kind}, @"] = lambda host=host: expanded(*host[0], k) @ expanded(*host[1], k).T
            bases[f"fp8 x {kind}"] = f"expand {kind}, @"
    seconds = measure(rounds, calls)
    print(f"{m} x {n} x {k}")
    for name, base in bases.items():
        print(f"    {name:10} {seconds[name] * 1e3:8.1f} ms   {base:16} {seconds[base] * 1e3:8.1f} ms   {seconds[base] / seconds[name]:.2f} x its speed",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    for shape in (LARGE, THIN):
        compare(*shape, rounds)


if __name__ == "__main__":
    main()
