# SPDX-License-Identifier: MIT
"""Do the bench helpers return simulated device time, repeatably, of the kernels asked for?"""

import importlib.util
import json
import subprocess
import sys

import ascend_sim
import deep_gemm
import pytest
import torch
from ascend_sim import backends
from deep_gemm import testing
from deep_gemm.testing import KernelProfile, bench, bench_kineto, bench_msprof

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ascend_sim._C") is None, reason="the extension is not built here; make build")


@pytest.fixture(scope="module")
def gemm():
    a, b = torch.randn(256, 512).bfloat16().npu(), torch.randn(512, 512).bfloat16().npu()
    d = torch.empty(256, 512, device="npu")
    return lambda: deep_gemm.bf16_gemm_nt(a, b, d)


@pytest.fixture(scope="module")
def fp8_gemm():
    a, b = ((torch.ones(256, 512).to(torch.float8_e4m3fn).npu(), torch.ones(256, 16).npu()) for _ in range(2))
    d = torch.empty(256, 256, device="npu")
    return lambda: deep_gemm.fp8_gemm_nt(a, b, d)


class TestBenchMsprof:
    def test_gives_the_time_and_pipes_of_one_kernel(self, gemm):
        profile = bench_msprof(gemm, "bf16_gemm")
        with ascend_sim.profile() as direct:
            ascend_sim_flush()
            gemm()
        record = direct.records[-1]
        assert profile.dur_us == pytest.approx(record.simulated_us, rel=1e-9)
        assert profile.aic_mad == pytest.approx(record.busy["aic.M"]) and 0 < profile.aic_mte2 <= 1
        assert profile.aic_total_cycles == pytest.approx(record.cycles)
        assert profile.tflops(2 * 256 * 512 * 512) == pytest.approx(2 * 256 * 512 * 512 / record.simulated_us / 1e6)
        assert repr(profile).startswith(f"KernelProfile({profile.dur_us:.1f}us, mad=")

    def test_is_repeatable_and_a_warm_l2_is_not_slower(self, gemm):
        cold = bench_msprof(gemm, "gemm").dur_ns
        assert bench_msprof(gemm, "gemm").dur_ns == cold
        assert bench_msprof(gemm, "gemm", flush_l2=False).dur_ns < cold

    def test_takes_a_list_or_returns_all(self, fp8_gemm):
        transform, missing, gemm = bench_msprof(fp8_gemm, ["transform_sf", "nothing", "gemm_impl"])
        assert isinstance(transform, KernelProfile) and isinstance(gemm, KernelProfile) and missing is None
        assert set(bench_msprof(fp8_gemm, return_all_kernels=True)) >= {"fp8_gemm_impl"}

    @pytest.mark.parametrize("keywords, error, message", [
        ({}, ValueError, "kernel_names is None"),
        ({"kernel_names": "gemm", "backend": "quick"}, ValueError, "accepted: 'slow', 'fast', 'persistent'"),
        ({"kernel_names": "gemm", "num_tests": 0}, ValueError, "num_tests is 0"),
        ({"kernel_names": "gemm", "num_warmups": -1}, ValueError, "num_warmups is -1"),
        ({"kernel_names": "softmax"}, RuntimeError, "in the name of 0 kernels; expected one. Launched: .*gemm"),
    ])
    def test_refuses(self, gemm, keywords, error, message):
        with pytest.raises(error, match=message):
            bench_msprof(gemm, **keywords)

    def test_calls_the_barrier_only_when_asked(self, gemm):
        calls = []
        bench_msprof(gemm, "gemm", barrier=lambda: calls.append(1))
        assert calls == []
        bench_msprof(gemm, "gemm", barrier=lambda: calls.append(1), barrier_comm_profiling=True)
        assert calls


class TestBenchKineto:
    def test_gives_seconds_in_the_form_of_the_names(self, fp8_gemm):
        seconds = bench_kineto(fp8_gemm, "gemm")
        assert seconds * 1e6 == pytest.approx(bench_msprof(fp8_gemm, "gemm").dur_us, rel=1e-6)
        assert bench_kineto(fp8_gemm, ("gemm", "nothing")) == (pytest.approx(seconds), 0.0)

    def test_a_text_in_several_names_needs_permission(self, fp8_gemm):
        with pytest.raises(ValueError, match="in the names of several kernels"):
            bench_kineto(fp8_gemm, "")
        assert bench_kineto(fp8_gemm, "", with_multiple_kernels=True) > 0

    def test_writes_a_trace(self, gemm, tmp_path):
        path = tmp_path / "trace.json"
        bench_kineto(gemm, "gemm", trace_path=str(path))
        assert json.loads(path.read_text())


def test_bench_gives_seconds_between_events(gemm):
    warm = bench_msprof(gemm, "gemm", flush_l2=False).dur_us
    assert bench(gemm) * 1e6 == pytest.approx(warm, rel=0.05)


def test_there_is_no_time_in_functional_mode_or_on_another_backend(gemm):
    with ascend_sim.mode("functional"), pytest.raises(RuntimeError, match="no simulated time in functional mode"):
        bench_msprof(gemm, "gemm")
    with backends.use("torch"), pytest.raises(RuntimeError, match="'torch' keeps no simulated time"):
        bench_kineto(gemm, "gemm")


def test_timing_mode_gives_the_same_time_and_writes_nothing():
    a, b = torch.ones(300, 512).bfloat16().npu(), torch.ones(520, 512).bfloat16().npu()
    d = torch.full((300, 520), float("nan"), device="npu")
    with ascend_sim.mode("timing"):
        quick = bench_msprof(lambda: deep_gemm.bf16_gemm_nt(a, b, d), "gemm").dur_ns
    assert d.isnan().all()
    assert bench_msprof(lambda: deep_gemm.bf16_gemm_nt(a, b, d), "gemm").dur_ns == quick
    assert (d == 512).all()


def test_a_mode_chosen_before_the_device_is_first_used_stays():
    code = ("import torch, ascend_sim, deep_gemm; ascend_sim.mode('timing'); a = torch.ones(64, 64, dtype=torch.bfloat16, device='npu'); "
            "d = torch.full((64, 64), 7.0, device='npu'); deep_gemm.bf16_gemm_nt(a, a, d); print(d.min().item(), d.max().item())")
    result = subprocess.run([sys.executable, "-P", "-c", f"import ascend_sim.npu; {code}"], capture_output=True, text=True)
    assert result.stdout.split() == ["7.0", "7.0"], result.stderr


def test_flushing_leaves_host_memory_alone(gemm):
    before = torch.npu.memory_allocated()
    bench_msprof(gemm, "gemm")
    testing.close_persistent_profiler()
    assert torch.npu.memory_allocated() == before


def ascend_sim_flush():
    from ascend_sim import _C
    _C.flush_l2(torch.npu.current_device())
