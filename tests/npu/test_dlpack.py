# SPDX-License-Identifier: MIT
"""Exchange with other libraries through DLPack, without copying."""

import numpy as np
import pytest
import torch
import torch.utils.dlpack

KDL_EXT_DEV = 12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.float8_e4m3fn, torch.float8_e5m2,
                                   torch.float8_e8m0fnu, torch.float4_e2m1fn_x2], ids=str)
def test_round_trips_share_memory(dtype):
    x = torch.arange(24, dtype=torch.uint8, device="npu:1").view(torch.uint8).repeat(8).view(dtype).view(-1, 2)
    assert x.__dlpack_device__() == (KDL_EXT_DEV, 1)
    for y in (torch.from_dlpack(x), torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))):
        assert (y.dtype, y.device, y.shape, y.data_ptr()) == (x.dtype, x.device, x.shape, x.data_ptr())


def test_cpu_tensors_are_exchanged_as_before():
    x = torch.arange(3)
    assert x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(x).tolist() == [0, 1, 2]


def test_numpy_refuses_the_device():
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(torch.ones(3, device="npu"))


def test_tensors_that_require_grad_are_refused():
    with pytest.raises(BufferError, match="require gradient"):
        torch.from_dlpack(torch.ones(3, device="npu", requires_grad=True))


def test_tvm_ffi_takes_npu_tensors():
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi, the route of TileLang, is not installed")
    x = torch.ones(3, device="npu:2")
    assert str(tvm_ffi.from_dlpack(x).device) == "ext_dev:2"
