# SPDX-License-Identifier: MIT
"""Do operations run on the device and stream of their tensors, and refuse tensors of several devices?"""

import importlib.util

import ascend_sim
import deep_gemm
import pytest
import torch
from support.cases import bf16, fp8, poisoned
from support.gemm import assert_gemm

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ascend_sim._C") is None, reason="the extension is not built here; make build")


def test_a_gemm_runs_on_its_tensors_device():
    a, b, d = bf16(40, 64, "npu:1", 1), bf16(50, 64, "npu:1", 2), poisoned(40, 50, "npu:1", torch.float32)
    with ascend_sim.profile() as profile:
        deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d)
    assert [record.device for record in profile.records] == [1]
    assert torch.npu.current_device() == 0
    assert_gemm(d, a, b)


def test_a_gemm_takes_time_on_the_current_stream_of_its_device():
    a, b, d = fp8(64, 64, "npu", 1), fp8(64, 64, "npu", 2), poisoned(64, 64, "npu")
    stream = torch.npu.Stream()
    with torch.npu.stream(stream), ascend_sim.profile() as profile:
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
    assert [record.name for record in profile.records] == ["transform_sf", "transform_sf", "fp8_gemm_impl"]
    assert {record.stream for record in profile.records} == {stream.stream_id}


def test_checking_scale_values_costs_no_device_time():
    a, b, d = fp8(64, 64, "npu", 1), fp8(64, 64, "npu", 2), poisoned(64, 64, "npu")
    with ascend_sim.profile() as profile:
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
    assert not any(record.is_estimate for record in profile.records)


def test_tensors_of_several_devices_are_refused():
    a, b, d = bf16(40, 64, "npu:0", 1).tensor, bf16(50, 64, "npu:1", 2).tensor, poisoned(40, 50, "npu:0")
    with pytest.raises(ValueError, match="tensors are on several devices .a on npu:0, b on npu:1, d on npu:0.; expected one"):
        deep_gemm.bf16_gemm_nt(a, b, d)
    assert d.isnan().all()
