# SPDX-License-Identifier: MIT
"""What runs the tests of deep_gemm: every test that takes `device` runs once on each backend; with the mark `ascend_dialect` on those that take
the Ascend library's calls (int16 scales, any stride, its default recipe)."""

import importlib.util
import math

import pytest
import torch
from ascend_sim import backends, parity


@pytest.fixture(params=["torch", "ascend", "cuda:sm100"], ids=lambda name: name.partition(":")[0])
def device(request):
    backend = request.param
    if backend == "ascend" and importlib.util.find_spec("ascend_sim._C") is None:
        pytest.skip("the extension is not built here; make build")
    with backends.use(backend):
        yield torch.device("npu" if backend == "ascend" else "cuda" if backend.startswith("cuda") and torch.cuda.is_available() else "cpu")


_CUDA_MACS = 2**20          # the backend cuda computes as torch does: large shapes would only test PyTorch again


def pytest_collection_modifyitems(items):
    def belongs(item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if not str(parameters.get("device", "")).startswith("cuda"):
            return True
        macs = math.prod(parameters.get(axis, 1) for axis in "mnk")
        return macs <= _CUDA_MACS and not item.get_closest_marker("ascend_dialect")
    items[:] = [item for item in items if belongs(item)]


@pytest.fixture(autouse=True)
def parity_is_reported_anew():
    parity.forget()
