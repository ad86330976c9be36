# SPDX-License-Identifier: MIT
"""Streams and events: values are there at once, time is simulated."""

import pytest
import torch

import ascend_sim
from ascend_sim import _C

LAUNCH_MS = 1.589e-3            # 950DT_9581: an empty kernel
HBM_BYTES_PER_MS = 3.5e9
F32_FLOPS_PER_MS = 32 * 256 * 2 * 1.65e6


def timed(work, stream=None) -> float:
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record(stream)
    work()
    end.record(stream)
    return start.elapsed_time(end)


def test_an_operator_costs_a_launch_and_its_bytes():
    a = torch.ones(1_000_000, device="npu")
    assert timed(lambda: a + a) == pytest.approx(LAUNCH_MS + 3 * a.nbytes / HBM_BYTES_PER_MS)
    assert timed(lambda: a.add_(1)) == pytest.approx(LAUNCH_MS + 2 * a.nbytes / HBM_BYTES_PER_MS)


def test_a_matrix_product_costs_its_flops_too():
    a, b = torch.ones(64, 256, device="npu"), torch.ones(256, 128, device="npu")
    expected = LAUNCH_MS + (a.nbytes + b.nbytes + 64 * 128 * 4) / HBM_BYTES_PER_MS + 2 * 64 * 256 * 128 / F32_FLOPS_PER_MS
    assert timed(lambda: a @ b) == pytest.approx(expected)


def test_attention_costs_its_two_products():
    q = torch.ones(1, 4, 64, 32, device="npu")
    work = 2 * 2 * 4 * 64 * 64 * 32 / F32_FLOPS_PER_MS
    cost = timed(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q))
    assert LAUNCH_MS + work + 4 * q.nbytes / HBM_BYTES_PER_MS == pytest.approx(cost, rel=0.02)


def test_an_empty_tensor_still_costs_a_launch():
    a = torch.empty(0, device="npu")
    assert timed(lambda: a + 1) == pytest.approx(LAUNCH_MS)


def test_views_cost_nothing():
    a = torch.ones(4, 6, device="npu")
    assert timed(lambda: (a.t(), a[1:], a.view(24), a.unfold(0, 2, 1), a.expand(2, 4, 6))) == 0


def test_copies_in_every_direction_take_time():
    on_host, a = torch.ones(1000), torch.ones(1000, device="npu")
    for copy in (lambda: a.clone(), lambda: a.cpu(), lambda: on_host.npu(), lambda: a.to("npu:1"), lambda: a.copy_(on_host)):
        assert timed(copy) >= LAUNCH_MS


def test_generic_and_npu_events_mix():
    start, end = torch.npu.Event(enable_timing=True), torch.Event("npu", enable_timing=True)
    start.record()
    torch.ones(4, device="npu").exp_()
    end.record()
    assert start.elapsed_time(end) >= 2 * LAUNCH_MS * 0.999


def test_elapsed_time_needs_timing_and_two_records():
    plain, timed_event = torch.npu.Event(), torch.npu.Event(enable_timing=True)
    plain.record()
    timed_event.record()
    with pytest.raises(ValueError, match="end_event was created without enable_timing"):
        timed_event.elapsed_time(plain)
    with pytest.raises(ValueError, match="end_event has not been recorded"):
        timed_event.elapsed_time(torch.npu.Event(enable_timing=True))


def test_in_functional_mode_there_is_no_time_and_the_error_names_the_mode():
    with ascend_sim.mode("functional"), pytest.raises(RuntimeError, match="functional mode"):
        timed(lambda: torch.ones(4, device="npu"))
    assert timed(lambda: torch.ones(4, device="npu")) > 0


def test_a_mode_chosen_before_the_first_use_stays(run_python):
    code = """
import ascend_sim, torch
ascend_sim.mode("functional")
torch.ones(2, device="npu")
from ascend_sim import _C
print(_C.mode())
"""
    assert run_python(code).stdout.strip() == "functional"


def test_events_of_two_devices_have_no_time_between_them():
    first, second = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    first.record(torch.npu.current_stream(0))
    second.record(torch.npu.current_stream(1))
    with pytest.raises(RuntimeError, match="npu:0 and npu:1"):
        first.elapsed_time(second)


def test_query_is_true_and_synchronize_returns():
    stream, event = torch.npu.Stream(), torch.npu.Event()
    assert event.query()
    event.record(stream)
    event.wait(stream)
    event.synchronize()
    stream.synchronize()
    stream.wait_stream(torch.npu.current_stream())
    torch.npu.synchronize()
    assert event.query() and stream.query()
    assert isinstance(stream.record_event(), torch.npu.Event)


def test_streams_are_entered_and_left():
    outer = torch.npu.current_stream()
    stream = torch.npu.Stream(device=2)
    with torch.npu.stream(stream):
        assert torch.npu.current_stream() == torch.accelerator.current_stream() == stream
        assert torch.npu.current_device() == 2
    assert torch.npu.current_stream() == outer == torch.npu.default_stream()
    assert torch.npu.current_device() == 0
    with torch.npu.stream(None):
        assert torch.npu.current_stream() == outer
    with stream:
        assert torch.npu.current_stream() == stream


def test_streams_have_handles_of_their_own():
    a, b = torch.npu.Stream(), torch.npu.Stream(priority=-1)
    assert a != b and a.npu_stream != b.npu_stream
    assert torch.npu.default_stream().npu_stream == 0
    assert torch.npu.ExternalStream(a.npu_stream) == a


def test_a_stream_waits_for_an_event_of_another():
    producer, consumer = torch.npu.Stream(), torch.npu.Stream()
    _C.run_for_us(0, producer.npu_stream, 500.0)
    consumer.wait_event(producer.record_event())
    assert _C.now_us(0, consumer.npu_stream) == _C.now_us(0, producer.npu_stream)


def test_kernels_of_two_streams_share_the_cores_of_a_device_but_not_of_two():
    torch.npu.synchronize(0)
    first, second, elsewhere = torch.npu.Stream(0), torch.npu.Stream(0), torch.npu.Stream(1)
    start = _C.run_for_us(0, first.npu_stream, 100.0)
    assert _C.run_for_us(0, second.npu_stream, 100.0) == start + 100
    assert _C.run_for_us(1, elsewhere.npu_stream, 100.0) == start


def test_nothing_starts_before_what_the_host_has_waited_for():
    busy = torch.npu.Stream()
    _C.run_for_us(0, busy.npu_stream, 1000.0)
    end = _C.now_us(0, busy.npu_stream)
    fresh = torch.npu.Stream(3)
    assert _C.now_us(3, fresh.npu_stream) < end
    busy.synchronize()
    assert _C.now_us(3, fresh.npu_stream) == end


def test_reading_a_value_makes_the_host_wait():
    stream, fresh = torch.npu.Stream(), torch.npu.Stream()
    with torch.npu.stream(stream):
        torch.ones(1, device="npu").item()
    assert _C.now_us(0, fresh.npu_stream) == _C.now_us(0, stream.npu_stream)


def test_recorded_time_is_the_streams_clock():
    event = torch.npu.Event()
    with pytest.raises(RuntimeError, match="not been recorded"):
        event.recorded_time()
    event.record()
    assert event.recorded_time() == _C.now_us(0, 0)


def test_record_stream_is_accepted():
    torch.ones(3, device="npu").record_stream(torch.npu.Stream())
