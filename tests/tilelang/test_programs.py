# SPDX-License-Identifier: MIT
"""Do TileLang programs run as they are? Both execution backends, sources, caches, devices, streams, profilers, the autotuner."""

import os
import re
import subprocess
import sys
from pathlib import Path

import ascend_sim
import pytest
import torch

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def programs(load_programs):
    return load_programs("programs")


@pytest.fixture(scope="module")
def operands():
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(8192, generator=generator) for _ in range(2))
    return a, b, a.npu(), b.npu()


@pytest.mark.parametrize("backend", ["tvm_ffi", "cython"])
def test_both_execution_backends(programs, operands, backend):
    a, b, on_a, on_b = operands
    kernel = programs.vector_add(backend)(8192)
    assert torch.equal(kernel(on_a, on_b).cpu(), a + b)
    source = kernel.get_kernel_source()
    assert 'extern "C" __global__ __vector__ void' in source and "asc_copy_gm2ub_align" in source


def test_the_target_is_found_without_being_named(programs, operands):
    a, b, on_a, on_b = operands
    assert torch.equal(programs.vector_add("tvm_ffi", target="auto")(8192)(on_a, on_b).cpu(), a + b)


@pytest.mark.parametrize("backend", ["tvm_ffi", "cython"])
def test_other_devices_and_streams(programs, operands, backend):
    a, b, *_ = operands
    kernel = programs.vector_add(backend)(8192)
    with torch.npu.device(1):
        on_a, on_b = a.to("npu:1"), b.to("npu:1")
        stream = torch.npu.Stream()
        begin, end, other = (torch.npu.Event(enable_timing=True) for _ in range(3))
        with torch.npu.stream(stream):
            begin.record()
            got = kernel(on_a, on_b)
            end.record()
    assert got.device == torch.device("npu:1") and torch.equal(got.cpu(), a + b)
    assert begin.elapsed_time(end) > 0


def test_dynamic_shapes_and_numbers(programs):
    kernel = programs.dynamic_scale()
    for n in (512, 5120):
        x = torch.randn(n, device="npu")
        y = torch.full_like(x, torch.nan)
        kernel(x, y, 0.5)
        assert torch.equal(y.cpu(), x.cpu() * 0.5)


def test_profilers_tell_simulated_time(programs, operands):
    _, _, on_a, on_b = operands
    kernel = programs.vector_add("tvm_ffi")(8192)
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    torch.empty(64 << 20, dtype=torch.int32, device="npu").zero_()      # the L2 is cold, as do_bench leaves it
    begin.record()
    kernel(on_a, on_b)
    end.record()
    latency_ms = kernel.get_profiler().do_bench()
    assert latency_ms == pytest.approx(begin.elapsed_time(end), rel=0.2)


@pytest.mark.tilelang
def test_the_msprof_profilers_tell_simulated_time_and_pipes(programs, operands):
    _, _, on_a, on_b = operands
    kernel = programs.vector_add("tvm_ffi")(8192)
    profiler = kernel.get_profiler()
    latency_ms = profiler.do_bench(backend="msprof", n_warmup=1, n_repeat=2)
    detail = profiler.do_bench(backend="msprof_detail", n_warmup=1, n_repeat=2)
    with ascend_sim.profile() as profile:
        for _ in range(2):              # the L2 is warm in the end
            kernel(on_a, on_b)
    record = profile.records[-1]
    assert detail.dur_ns / 1e6 == pytest.approx(latency_ms, rel=1e-3) and latency_ms * 1e3 > record.simulated_us
    assert latency_ms == pytest.approx(profiler.do_bench(n_warmup=1, n_repeat=1), rel=0.2)
    assert detail.aiv_vec * detail.aiv_total_cycles == pytest.approx(record.aiv["V"].busy * record.cycles, abs=2)
    assert 0 < detail.aiv_mte2 < 1 and 0 < detail.aiv_mte3 < 1 and detail.aic_total_cycles == 0


@pytest.mark.tilelang
def test_an_operator_that_launches_a_kernel_is_compiled_and_differentiated(programs, operands):
    a, b, on_a, on_b = operands
    kernel = programs.vector_add("tvm_ffi")(8192)

    @torch.library.custom_op("tilelang_test::add", mutates_args=(), device_types="npu")
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return kernel(x, y)
    add.register_fake(lambda x, y: torch.empty_like(x))
    add.register_autograd(lambda context, gradient: (gradient, gradient))
    x = on_a.clone().requires_grad_()
    y = torch.compile(lambda x, y: add(x * 2, y) * 3, fullgraph=True, backend="aot_eager")(x, on_b)
    torch.testing.assert_close(y.detach().cpu(), (a * 2 + b) * 3)
    y.sum().backward()
    assert (x.grad.cpu() == 6).all()


def test_a_launch_that_breaks_a_rule_is_an_error_and_the_next_one_works(programs, operands):
    a, b, on_a, on_b = operands
    kernel = programs.vector_add("tvm_ffi")(8192)
    elsewhere = [x.to("npu:1") for x in (a, b)]
    with pytest.raises(RuntimeError, match=r"vector_add_kernel on 950\w+: core .*belongs to a tensor on npu:1; the kernel runs on npu:0"):
        kernel(*elsewhere)              # the current device is npu:0
    assert torch.equal(kernel(on_a, on_b).cpu(), a + b)


@pytest.mark.tilelang
def test_par_compile(programs, operands):
    a, b, on_a, on_b = operands
    for kernel, n in zip(programs.vector_add("tvm_ffi").par_compile([(2048, 512), (4096, 512), (8192, 2048)]), (2048, 4096, 8192)):
        assert torch.equal(kernel(on_a[:n], on_b[:n]).cpu(), (a + b)[:n])


@pytest.mark.tilelang
def test_the_autotuner_picks_the_faster_block(programs, operands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)         # it writes a log there
    monkeypatch.setenv("TILELANG_AUTO_TUNING_DISABLE_CACHE", "1")
    a, b, on_a, on_b = operands
    kernel = programs.tuned_vector_add()(65536)
    assert kernel.config == {"block": 4096}


@pytest.mark.tilelang
@pytest.mark.parametrize("switch", ["import", "variable"])
def test_a_second_process_starts_from_the_caches(programs, operands, switch):
    """Everything was compiled before: neither TileLang's compiler nor ours runs again."""
    programs.vector_add("tvm_ffi")(8192)
    programs.vector_add("cython")(8192)
    code = f"""if True:
        {'import ascend_sim.tilelang' if switch == 'import' else ''}
        import importlib.util, os, subprocess, torch
        spec = importlib.util.spec_from_file_location("tilelang_test_programs", {str(HERE / 'programs.py')!r})
        programs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(programs)
        run = subprocess.run
        def only_questions(command, *args, **more):
            assert "-shared" not in command and "-o" not in command, command
            return run(command, *args, **more)
        subprocess.run = only_questions
        x = torch.ones(8192, device="npu")
        for backend in ("tvm_ffi", "cython"):
            assert (programs.vector_add(backend)(8192)(x, x) == 2).all()
        print("right")"""
    environment = os.environ | ({"ASCEND_SIM_SHIMS": "toolkit"} if switch == "variable" else {})
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert "right" in done.stdout, done.stderr[-2000:]


@pytest.mark.parametrize("backend", ["tvm_ffi", "cython"])
def test_a_graph_captures_launches(programs, operands, backend):
    a, b, on_a, on_b = operands
    kernel = programs.vector_add(backend)(8192)
    x = on_a.clone()
    kernel(x, on_b)                     # loaded before the capture
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = kernel(x, on_b)
    x.copy_(on_a * 2)
    graph.replay()
    assert torch.equal(y.cpu(), a * 2 + b)


@pytest.mark.tilelang
@pytest.mark.parametrize("dtype, operation", [
    ("float32", lambda a, b: a * b - (a + b)),
    ("int32", lambda a, b: (a + b) ^ (a & b) | (a - b) * a),
])
def test_neighbouring_elements_of_simt_code(programs, dtype, operation):
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    a, b = ((torch.randn(512) * 1000).to(kind) for _ in range(2))
    kernel = programs.neighbours(512, dtype, operation)
    assert re.search(r"\*\(__ubuf__ (float|int)[24]\*\)", kernel.get_kernel_source())
    torch.testing.assert_close(kernel(a.npu(), b.npu()).cpu(), operation(a, b))
