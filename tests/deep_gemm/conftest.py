# SPDX-License-Identifier: MIT
"""What runs the tests of deep_gemm: every test that takes `device` runs once on each backend."""

import importlib.util

import pytest
import torch
from ascend_sim import backends, parity


@pytest.fixture(params=["torch", "ascend"])
def device(request):
    if request.param == "ascend" and importlib.util.find_spec("ascend_sim._C") is None:
        pytest.skip("the extension is not built here; make build")
    with backends.use(request.param):
        yield torch.device("npu" if request.param == "ascend" else "cpu")


@pytest.fixture(autouse=True)
def parity_is_reported_anew():
    parity.forget()
