# SPDX-License-Identifier: MIT
"""Limits and switches of torch.npu do what they say, and say what they accept."""

import warnings

import pytest
import torch

import ascend_sim
import deep_gemm


def gemm_us(device="npu:5", stream=None):
    with torch.npu.device(device), torch.npu.stream(stream):
        a, d = torch.ones(2048, 256, dtype=torch.bfloat16, device=device), torch.empty(2048, 2048, dtype=torch.bfloat16, device=device)
        with ascend_sim.profile(timeline=False) as profile:
            deep_gemm.bf16_gemm_nt(a, a, d)
        assert bool((d == 256).all())
    return profile.records[0].simulated_us, profile.records[0].cube_cores


def test_kernels_keep_to_the_cores_of_their_device_and_stream():
    full, cores = gemm_us()
    assert cores == 32
    try:
        torch.npu.set_device_limit(5, 8, 16)
        assert torch.npu.get_device_limit(5) == {"cube_core_num": 8, "vector_core_num": 16}
        limited, cores = gemm_us()
        assert cores == 8 and limited > 2 * full
        assert gemm_us("npu:4")[1] == 32
        stream = torch.npu.Stream(5)
        torch.npu.set_stream_limit(stream, vector_num=8)
        assert torch.npu.get_stream_limit(stream)["cube_core_num"] == 4 and gemm_us(stream=stream)[1] == 4
        torch.npu.reset_stream_limit(stream)
        assert gemm_us(stream=stream)[1] == 8
    finally:
        torch.npu.set_device_limit(5)
    assert gemm_us()[1] == 32
    with pytest.raises(ValueError, match="cube_num is 33; expected 1 to 32"):
        torch.npu.set_device_limit(5, 33, 64)


@pytest.mark.parametrize("wait", [lambda x: x.sum().item(), lambda x: x.cpu(), lambda x: x.nonzero(), lambda x: bool(x[0] > 0)])
def test_waiting_for_the_device_is_reported_when_asked(wait):
    x = torch.ones(3, device="npu")
    try:
        torch.npu.set_sync_debug_mode("error")
        assert torch.npu.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match="makes the host wait"):
            wait(x)
        (x + 1).relu_()
        torch.npu.set_sync_debug_mode(1)
        with pytest.warns(UserWarning, match="makes the host wait"):
            wait(x)
    finally:
        torch.npu.set_sync_debug_mode("default")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wait(x)
    with pytest.raises(ValueError, match="expected 0, 1, 2, or default, warn, error"):
        torch.npu.set_sync_debug_mode("loud")


def test_switches_can_be_read_back():
    torch.npu.set_task_queue_enable(2)
    torch.npu.set_deterministic_level(1)
    assert torch.npu.get_task_queue_enable() == 2 and torch.npu.get_deterministic_level() == 1
    torch.npu.set_task_queue_enable(1)
    torch.npu.set_deterministic_level(0)
    with pytest.raises(ValueError, match="expected one of 0, 1, 2"):
        torch.npu.set_task_queue_enable(3)
    torch.npu.config.allow_internal_format = False
    torch.npu.config.allow_internal_format = True
    torch.npu.set_compile_mode(jit_compile=False)
    torch.npu.set_option({"ACL_OP_COMPILER_CACHE_MODE": "disable"})
    with pytest.raises(TypeError, match="expected a dict"):
        torch.npu.set_option("x")


def test_typed_constructors():
    x = torch.npu.FloatTensor([1, 2])
    assert x.device.type == "npu" and x.dtype == torch.float32 and x.tolist() == [1, 2]
    assert torch.npu.BFloat16Tensor(2, 3).shape == (2, 3) and torch.npu.LongTensor().numel() == 0
    assert torch.npu.HalfTensor(torch.Size([4])).dtype == torch.float16
    assert isinstance(x, torch.npu.FloatTensor) and not isinstance(x, torch.npu.HalfTensor)
    assert not isinstance(torch.ones(2), torch.npu.FloatTensor)
    with pytest.raises(TypeError, match="expected sizes or one sequence"):
        torch.npu.IntTensor([1], [2])
    with pytest.raises(AttributeError, match="no attribute 'QuadTensor'"):
        torch.npu.QuadTensor  # noqa: B018


@pytest.mark.parametrize("name", ["stress_detect", "npurt"])
def test_what_is_not_emulated_says_so_when_used(name):
    with pytest.raises(NotImplementedError, match=f"torch.npu.{name}"):
        getattr(torch.npu, name)()
