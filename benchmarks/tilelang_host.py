# SPDX-License-Identifier: MIT
"""What do TileLang programs cost on this host: to compile, to start, to launch, to run?

    python benchmarks/tilelang_host.py [compile start launch cast gemm memory] [--rounds 5] [--triton FOLDER]

compile  the stand-in compiler on the text of each example and of some kernels of tile-kernels, process start included
start    a process that finds everything in the caches: what is ours beside TileLang's own
launch   a kernel on 64 vector cores that does next to nothing; with events before and after, and the wait
cast     examples/tilelang/fp8_cast.py against the expression in PyTorch on the CPU
gemm     examples/tilelang/persistent_gemm.py against Triton's interpreter, by FLOPs of a smaller product. Triton is not installed by anything here:
         pip install --no-deps --target FOLDER triton
memory   kernels under ASCEND_SIM_CHECK=memory against without

What is compared is measured in turns, and medians are taken: a busy machine slows both down. Full mode: values and time.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("TILELANG_CACHE_DIR", str(ROOT / "build" / "tilelang-cache"))
os.environ.setdefault("TILELANG_PRINT_ON_COMPILATION", "0")
sys.path[:0] = [str(ROOT / "examples" / "tilelang"), str(Path(__file__).resolve().parent)]

GEMM = (1024, 1792, 2048)
TRITON_GEMM = (256, 256, 512)       # m, n, k; the interpreter's time goes with the number of blocks
CAST = (4096, 7168)


def line(what, measured, wanted):
    print(f"{what:62} {measured:>12}   {wanted}", flush=True)


# ---- compile --------------------------------------------------------------------------------------------------------

def sources():
    """Generated text by name: the examples, and of tile-kernels one kernel of some families."""
    import ascend_sim.tilelang  # noqa: F401
    import flash_attention
    import fp8_cast
    import gemm_relu
    import persistent_gemm
    import rms_norm
    kernels = {
        "gemm_relu": gemm_relu.gemm_relu(256, 2048, 512), "persistent_gemm": persistent_gemm.gemm(*GEMM), "rms_norm": rms_norm.rms_norm(8, 320),
        "flash_attention": flash_attention.attention(1, 4096, 4096), "fp8_cast": fp8_cast.fp8_cast(*CAST),
    }
    return {name: kernel.get_kernel_source() for name, kernel in kernels.items()} | tile_kernels_sources()


def tile_kernels_sources():
    try:
        import tile_kernels as tk
    except ImportError:
        print("tile-kernels is not installed: its kernels are left out. pip install --no-deps --ignore-requires-python tile-kernels==2.1.0")
        return {}
    import torch
    from tilelang.jit import kernel as jit_kernel
    texts = {}
    plain = jit_kernel.JITKernel.__call__

    def noted(self, *arguments, **options):
        text = self.get_kernel_source()
        texts[f"tk {text.partition('__global__')[2].partition('(__gm__')[0].split()[-1]}"] = text
        return plain(self, *arguments, **options)
    jit_kernel.JITKernel.__call__ = noted
    try:
        x = torch.randn(70, 384).bfloat16().npu()
        tk.quant.per_token_cast(x, "e4m3", 32)
        tk.quant.per_block_cast(torch.randn(128, 256).bfloat16().npu(), "e4m3", (32, 32), round_sf=True)
        tk.quant.swiglu_forward(torch.randn(130, 512).bfloat16().npu(), "bf16")
        tk.moe.topk_gate(torch.randn(130, 256).npu(), 8)
        tk.moe.normalize_weight(torch.rand(130, 6).npu())
        tk.moe.moe_topk_gate_forward(torch.randn(130, 72).npu(), 6, True, 1, 1.5, 3, "sqrtsoftplus", bias=torch.zeros(72).npu())     # among the longest
        tk.rand.randn(300, 1001, dtype=torch.float32, device="npu")
    finally:
        jit_kernel.JITKernel.__call__ = plain
    return texts


def measure_compile(options):
    from ascend_sim.toolkit import bisheng
    texts = sources()
    include = Path(__import__("tilelang").__file__).parent / "src"
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ASCEND_SIM_CACHE_DIR": str(Path(folder, "cache"))}

        def build(name, text):
            source = Path(folder, f"{name.replace(' ', '_')}.asc")
            source.write_text(text)
            begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, bisheng.__file__, "--cce-aicore-only", f"-I{include}", str(source), "-o", f"{source}.o"], env=environment, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return time.perf_counter() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        first = next(iter(texts.values()))
        for again in range(2):      # the second kernel of a cache makes the precompiled header
            build(f"warm_{again}", f"{first}\n// warm {again}\n")
        for name, text in texts.items():
            runs = [build(f"{name}_{round_}", f"{text}\n// {round_}\n") for round_ in range(options.rounds)]
            seconds[name] = tuple(statistics.median(values) for values in zip(*runs))
    for name, (wall, cpu) in seconds.items():
        print(f"    {name:44} {wall:6.2f} s, {cpu:.2f} s of CPU")
    walls, cpus = zip(*seconds.values())
    line(f"device compile, the slowest of {len(seconds)}", f"{max(walls):.2f} s", f"at most 3 s ({max(cpus):.2f} s of CPU)")
    line("device compile, median", f"{statistics.median(walls):.2f} s", f"at most 1 s ({statistics.median(cpus):.2f} s of CPU)")


# ---- start ----------------------------------------------------------------------------------------------------------

def child_start():
    """In a process of its own: seconds in total and ours, of making a cached kernel and calling it once."""
    import torch
    begin = time.perf_counter()
    import tilelang  # noqa: F401
    tilelang_s = time.perf_counter() - begin
    begin = time.perf_counter()
    import ascend_sim.tilelang  # noqa: F401
    attach_s = time.perf_counter() - begin
    from ascend_sim.toolkit import runtime
    spent, plain = [], runtime._load

    def timed(*arguments):
        at = time.perf_counter()
        try:
            return plain(*arguments)
        finally:
            spent.append(time.perf_counter() - at)
    runtime._load = timed
    attached = runtime.attach.__wrapped__()     # hands the timed one over; lives as long as it
    x = torch.zeros(64, device="npu")
    begin = time.perf_counter()
    kernel = trivial_kernel()
    kernel(x)
    total_s = time.perf_counter() - begin
    begin = time.perf_counter()
    kernel(x)
    del attached
    print(json.dumps({"tilelang": tilelang_s + total_s - sum(spent), "attach": attach_s, "load": sum(spent), "first launch": time.perf_counter() - begin}))


def measure_start(options):
    parts = []
    for round_ in range(options.rounds + 1):
        done = subprocess.run([sys.executable, __file__, "--child", "start"], capture_output=True, text=True, check=True)
        if round_:
            parts.append(json.loads(done.stdout.splitlines()[-1]))
    medians = {name: statistics.median(part[name] for part in parts) for name in parts[0]}
    line("cached start: TileLang's own", f"{medians['tilelang'] * 1e3:.0f} ms", "")
    ours = medians["attach"] + medians["load"]
    line("    ours: attaching, and loading the kernel", f"{ours * 1e3:.1f} ms", f"at most 50 ms ({medians['attach'] * 1e3:.1f} + {medians['load'] * 1e3:.1f})")


# ---- launch ---------------------------------------------------------------------------------------------------------

def trivial_kernel():
    import tilelang
    import tilelang.ascend.language as T

    @tilelang.jit(target="ascend")
    def trivial(cores=64):
        @T.prim_func
        def trivial(A: T.Tensor((cores,), "float32")):
            with T.Kernel(cores):
                a = T.alloc_shared((64,), "float32")
                with T.SimdVF():
                    T.simd.vsts(a[0], T.simd.vdup(T.float32(1), "float32"))
        return trivial
    return trivial()


def measure_launch(options):
    import ascend_sim.tilelang  # noqa: F401
    import torch
    from host_speed import measure
    kernel, x = trivial_kernel(), torch.zeros(64, device="npu")
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))

    def timed():
        begin.record()
        kernel(x)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)
    seconds = measure(300, {"launch": lambda: kernel(x), "timed": timed})
    line("launch of a trivial 64-core kernel", f"{seconds['launch'] * 1e3:.3f} ms", "at most 0.1 ms")
    line("    with two events, waited for and read", f"{seconds['timed'] * 1e3:.3f} ms", "")


# ---- run ------------------------------------------------------------------------------------------------------------

def measure_cast(options):
    import ascend_sim.tilelang  # noqa: F401
    import fp8_cast
    import torch
    from host_speed import measure
    m, n = CAST
    x = torch.randn(m, n).bfloat16()
    on_device, kernel = x.npu(), fp8_cast.fp8_cast(m, n)

    def plain():
        v = x.float().view(m, -1, 32)
        s = torch.exp2(torch.ceil(torch.log2(v.abs().amax(-1, True).clamp(1e-4) / 448)))
        return (v / s).to(torch.float8_e4m3fn)
    seconds = measure(options.rounds, {"ours": lambda: kernel(on_device), "plain": plain})
    line(f"FP8 cast {m} x {n}: {seconds['ours'] * 1e3:.0f} ms, PyTorch {seconds['plain'] * 1e3:.0f} ms",
         f"{seconds['plain'] / seconds['ours']:.1f} x", "at least 4 x")


def child_triton():
    """In a process with TRITON_INTERPRET=1: seconds of the product in Triton's interpreter."""
    import torch
    import triton
    from triton_gemm import matmul
    m, n, k = TRITON_GEMM
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    matmul(a[:64, :32].contiguous(), b[:32, :64].contiguous())     # what the first call does once
    begin = time.perf_counter()
    got = matmul(a, b)
    seconds = time.perf_counter() - begin
    error = (got.float() - a.float() @ b.float()).abs().max().item()
    print(json.dumps({"seconds": seconds, "error": error, "version": triton.__version__}))


def measure_gemm(options):
    import ascend_sim.tilelang  # noqa: F401
    import persistent_gemm
    import torch
    m, n, k = GEMM
    a, b = torch.randn(m, k).bfloat16().npu(), torch.randn(n, k).bfloat16().npu()
    kernel = persistent_gemm.gemm(m, n, k)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "ASCEND_SIM_AUTOLOAD": "0"}
    if options.triton:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (options.triton, environment.get("PYTHONPATH"))))
    ours, theirs = [], []
    for round_ in range(options.rounds + 1):
        done = subprocess.run([sys.executable, __file__, "--child", "triton"], capture_output=True, text=True, env=environment)
        if done.returncode:
            line("GEMM against Triton's interpreter", "skipped", f"{(done.stderr.strip().splitlines() or ['no output'])[-1]}; "
                 "pip install --no-deps --target FOLDER triton, then --triton FOLDER")
            return
        begin = time.perf_counter()
        kernel(a, b)
        if round_:
            ours.append(time.perf_counter() - begin)
            theirs.append(json.loads(done.stdout.splitlines()[-1])["seconds"])
    flops = [2.0 * x * y * z for x, y, z in (GEMM, TRITON_GEMM)]
    scaled = statistics.median(theirs) * flops[0] / flops[1]
    line(f"GEMM {m} x {n} x {k}: {statistics.median(ours) * 1e3:.1f} ms, Triton's interpreter {scaled:.1f} s by its FLOPs",
         f"{scaled / statistics.median(ours):.0f} x", "at least 500 x")


# ---- memory check ---------------------------------------------------------------------------------------------------

def child_memory():
    """In a process with or without the check: seconds of each kernel, called when the parent says so."""
    import ascend_sim.tilelang  # noqa: F401
    import fp8_cast
    import rms_norm
    import torch
    x = torch.randn(2048, 7168).bfloat16().npu()
    weight = torch.randn(7168).bfloat16().npu()
    simt = simt_kernel(1 << 20)
    a, b = (torch.randn(1 << 20).npu() for _ in range(2))
    cast, norm = fp8_cast.fp8_cast(2048, 7168), rms_norm.rms_norm(2048, 7168)
    calls = {"fp8 cast": lambda: cast(x), "rms norm": lambda: norm(x, weight), "simt": lambda: simt(a, b)}
    for call in calls.values():
        call()
    print("ready", flush=True)
    for name in sys.stdin:
        begin = time.perf_counter()
        calls[name.strip()]()
        print(time.perf_counter() - begin, flush=True)


def simt_kernel(n, block=4096, cores=64):
    """Adds two vectors, each thread dereferencing UB."""
    import tilelang
    import tilelang.ascend.language as T

    @tilelang.jit(target="ascend", out_idx=[2])
    def add(n):
        @T.prim_func
        def add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(cores) as core:
                a, b = T.alloc_shared((block,), "float32"), T.alloc_shared((block,), "float32")
                for i in T.Persistent([n // block], cores, core):
                    T.copy(A[i * block], a)
                    T.copy(B[i * block], b)
                    with T.SimtVF(threads=512):
                        for j in T.Parallel(block):
                            a[j] = a[j] + b[j]
                    T.copy(a, C[i * block])
        return add
    return add(n)


def measure_memory(options):
    limits = {"fp8 cast": "at most 3 x", "rms norm": "at most 3 x", "simt": "at most 15 x: dereferences"}
    children = {}
    for check in ("", "memory"):
        environment = {name: value for name, value in os.environ.items() if name != "ASCEND_SIM_CHECK"} | ({"ASCEND_SIM_CHECK": check} if check else {})
        children[check] = subprocess.Popen([sys.executable, __file__, "--child", "memory"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                           env=environment)
    for child in children.values():
        while child.stdout.readline().strip() != "ready":
            if child.poll() is not None:
                raise SystemExit("a process of the memory check failed")
    for name, wanted in limits.items():
        times = {check: [] for check in children}
        for _ in range(options.rounds):
            for check, child in children.items():
                child.stdin.write(f"{name}\n")
                child.stdin.flush()
                times[check].append(float(child.stdout.readline()))
        plain, checked = (statistics.median(times[check]) for check in ("", "memory"))
        line(f"memory check, {name}: {plain * 1e3:.1f} ms without, {checked * 1e3:.1f} ms with", f"{checked / plain:.1f} x", wanted)
    for child in children.values():
        child.stdin.close()
        child.wait()


MEASURED = {"compile": measure_compile, "start": measure_start, "launch": measure_launch, "cast": measure_cast, "gemm": measure_gemm, "memory": measure_memory}
CHILDREN = {"start": child_start, "triton": child_triton, "memory": child_memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], *MEASURED], help="default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--triton", metavar="FOLDER", help="where triton is, if it is not installed")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return CHILDREN[options.child]()
    for name in options.what or MEASURED:
        MEASURED[name](options)


if __name__ == "__main__":
    main()
