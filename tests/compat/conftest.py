# SPDX-License-Identifier: MIT
"""What tests of the stand-ins share."""

import sys

import pytest
import torch
from ascend_sim import compat
from ascend_sim.compat import _torch_npu


@pytest.fixture
def cuda():
    """The device cuda, which means npu for the length of a test."""
    if torch.cuda.is_available():
        pytest.skip("a real CUDA device is here, for which the stand-in steps aside")
    with compat.cuda_as_npu():
        yield torch.device("cuda")
    torch.npu.set_device(0)


@pytest.fixture(scope="module")
def torch_npu():
    """The stand-in, imported under its name and forgotten afterwards."""
    path = list(sys.path)
    if _torch_npu.install() is not None:
        pytest.skip("a real torch_npu is installed")
    import torch_npu
    yield torch_npu
    sys.path[:] = path
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_npu"]:
        del sys.modules[name]
