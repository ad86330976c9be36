# SPDX-License-Identifier: MIT
"""torch.profiler on npu: kernels and operators appear with their simulated time, and the operators that launched them with theirs."""

import json

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function

import ascend_sim
import deep_gemm


def work():
    a, d = torch.ones(256, 512, dtype=torch.bfloat16, device="npu"), torch.empty(256, 256, dtype=torch.bfloat16, device="npu")
    deep_gemm.bf16_gemm_nt(a, a, d)
    return (a @ a.t()).exp()


def test_times_are_those_of_the_device_and_belong_to_operators(tmp_path):
    work()
    with ascend_sim.profile(timeline=False) as own, profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]) as profiler:
        with record_function("my part"):
            work()
    on_device = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.PrivateUse1]
    assert sorted(e.name for e in on_device) == sorted(r.name for r in own.records)
    for record in own.records:
        event = next(e for e in on_device if e.name == record.name)
        assert event.time_range.elapsed_us() == pytest.approx(record.simulated_us, abs=1e-3)
    averages = {e.key: e for e in profiler.key_averages() if e.device_type == torch.autograd.DeviceType.CPU}
    mm = next(r for r in own.records if r.name == "aten::mm")
    assert averages["aten::mm"].self_device_time_total == pytest.approx(mm.simulated_us, abs=1e-3)
    assert averages["my part"].device_time_total >= mm.simulated_us
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernel = next(e for e in events if e.get("cat") == "kernel" and e["name"].startswith("bf16_gemm"))
    assert kernel["args"]["time"] == "replayed" and kernel["pid"] == 0
    assert "NPU total" in profiler.key_averages().table(sort_by="self_device_time_total")


def test_the_cpu_alone_can_be_profiled_and_the_device_alone():
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        work()
    assert all(e.device_type == torch.autograd.DeviceType.CPU for e in profiler.events())
    with profile(activities=[ProfilerActivity.NPU]) as profiler:
        work()
    assert {e.name for e in profiler.events()} >= {"aten::mm", "aten::exp"}


def test_work_outside_the_block_is_not_seen_and_backward_is():
    work()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]) as profiler:
        x = torch.ones(8, device="npu", requires_grad=True)
        x.exp().sum().backward()
    work()
    names = [e.name for e in profiler.events() if e.device_type == torch.autograd.DeviceType.PrivateUse1]
    assert "aten::mul.Tensor" in names and "aten::mm" not in names


def test_marks_and_ranges_appear():
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        number = torch.npu.mstx.range_start("a range")
        torch.npu.mstx.mark("a mark")
        torch.npu.mstx.range_end(number)
        torch.npu.mstx.mstx_range("a function")(work)()
    assert {"a range", "a mark", "a function"} <= {e.name for e in profiler.events()}
    with pytest.raises(ValueError, match="not an open range"):
        torch.npu.mstx.range_end(number)
