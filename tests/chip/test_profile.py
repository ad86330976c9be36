# SPDX-License-Identifier: MIT
"""Does a profile say what ran? Sums equal those of the launch, its timeline loads in Perfetto, modes are respected."""

import json

import ascend_sim
import deep_gemm
import pytest
import torch

M, N, K = 200, 136, 320


def operands(m=M, n=N, k=K):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(size, k, generator=generator).bfloat16().npu() for size in (m, n))
    return a, b, torch.empty(m, n, dtype=torch.bfloat16, device="npu")


def profiled(*args, **options):
    deep_gemm.bf16_gemm_nt(*args)
    with ascend_sim.profile(**options) as p:
        deep_gemm.bf16_gemm_nt(*args)
    return p


def test_a_launch_has_its_name_times_and_macs():
    record, = profiled(*operands()).records
    assert record.name == "bf16_gemm_impl" and record.chip == "950DT_9581"
    assert record.simulated_us > record.launch_us > 0 and record.host_us > 0
    assert record.macs == 208 * 144 * 320           # padded to whole fractals
    assert record.cycles == pytest.approx(record.simulated_us * 1650)


def test_bytes_are_the_sums_of_the_dma_instructions():
    record, = profiled(*operands()).records
    assert record.gm_written_bytes == M * N * 2
    assert record.gm_read_bytes % (K * 2) == 0 and record.gm_read_bytes >= (M + N) * K * 2
    assert record.hbm_read_bytes == 0               # the launch before left A and B in L2


def test_busy_ratios_are_ratios_and_name_the_limit():
    record, = profiled(*operands()).records
    assert {"aic.M", "aic.MTE1", "aic.MTE2", "aic.FIX"} <= set(record.busy)
    assert all(0 < ratio <= 1 for ratio in record.busy.values())
    assert record.limit == max((name for name in record.busy if name != "aic.S"), key=record.busy.get)


def test_profiles_nest_and_end():
    args = operands()
    with ascend_sim.profile() as outer:
        deep_gemm.bf16_gemm_nt(*args)
        with ascend_sim.profile() as inner:
            deep_gemm.bf16_gemm_nt(*args)
        assert len(outer.records) == 2
    deep_gemm.bf16_gemm_nt(*args)
    assert (len(outer.records), len(inner.records)) == (2, 1)


def test_operators_on_the_host_are_marked_as_estimates():
    a, _, _ = operands()
    with ascend_sim.profile() as p:
        (a + 1).sum()
    assert p.records and all(record.is_estimate and record.simulated_us > 0 for record in p.records)
    assert "(estimated)" in str(p)


def test_the_table_has_a_line_per_launch_and_keeps_host_time_apart():
    lines = profiled(*operands()).table().splitlines()
    assert lines[0].split()[-2:] == ["host", "ms"]
    assert lines[1].startswith("bf16_gemm_impl")
    assert lines[2].startswith("1 launches, ")


def test_the_timeline_has_a_process_per_core_and_a_thread_per_pipe(tmp_path):
    p = profiled(*operands())
    path = tmp_path / "trace.json"
    p.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    threads = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"npu:0 kernels", "npu:0 core 0 aic"} <= processes
    assert {"M", "MTE1", "MTE2", "FIX"} <= threads
    spans = [event for event in events if event["ph"] == "X"]
    assert {"asc_mmad", "asc_copy_gm2l1_nd2nz"} <= {event["name"] for event in spans}
    record, = p.records
    launch, = [event for event in spans if event["name"] == record.name]
    inside = [event for event in spans if event is not launch]
    assert min(event["ts"] for event in inside) >= launch["ts"] + record.launch_us - 1e-3
    assert max(event["ts"] + event["dur"] for event in inside) == pytest.approx(launch["ts"] + launch["dur"], abs=2e-3)


def test_without_a_timeline_the_export_has_whole_launches(tmp_path):
    path = tmp_path / "trace.json"
    profiled(*operands(), timeline=False).export_chrome_trace(path)
    spans = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in spans] == ["bf16_gemm_impl"]


def test_an_export_that_cannot_be_written_says_where(tmp_path):
    with pytest.raises(RuntimeError, match="path is '.*missing/trace.json', which cannot be written to"):
        profiled(*operands()).export_chrome_trace(tmp_path / "missing" / "trace.json")


def test_functional_mode_has_no_time():
    args = operands()
    with ascend_sim.mode("functional"), ascend_sim.profile() as p:
        deep_gemm.bf16_gemm_nt(*args)
    record, = p.records
    assert record.simulated_us is None and record.busy == {}
    assert "bf16_gemm_impl" in str(p)


def test_a_profile_is_used_once():
    p = profiled(*operands())
    with pytest.raises(RuntimeError, match="used already"), p:
        pass
    with pytest.raises(RuntimeError, match="nothing was profiled yet"):
        _ = ascend_sim.profile().records


def test_timing_mode_gives_the_same_time():
    args = operands(512, 512, 1024)
    deep_gemm.bf16_gemm_nt(*args)
    times = []
    for mode in ("full", "timing"):
        with ascend_sim.mode(mode), ascend_sim.profile() as p:
            deep_gemm.bf16_gemm_nt(*args)
        times.append((p.records[0].simulated_us, p.records[0].gm_read_bytes, p.records[0].macs))
    assert times[0] == times[1]
