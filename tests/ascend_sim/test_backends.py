# SPDX-License-Identifier: MIT
"""Is the backend that the user names the one that computes, and is an unknown one refused by listing the known ones?"""

import sys
import types

import deep_gemm
import pytest
import torch
from ascend_sim import backends


@pytest.fixture
def operands():
    return torch.ones(4, 8).bfloat16(), torch.ones(3, 8).bfloat16(), torch.full((4, 3), float("nan"))


def test_lists_the_built_in_ones():
    assert {"ascend", "torch"} <= set(backends.available())


def test_environment_and_use_choose(monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_BACKEND", "torch")
    assert backends.current() == "torch"
    with backends.use("ascend"):
        assert backends.current() == "ascend"
        with backends.use("torch"):
            assert backends.current() == "torch"
        assert backends.current() == "ascend"
    assert backends.current() == "torch"


def test_use_as_a_call_stays():
    undo = backends.use("torch")
    assert backends.current() == "torch"
    undo.__exit__()
    assert backends.current() == "ascend"


def test_an_unknown_name_is_refused_and_changes_nothing(monkeypatch, operands):
    with pytest.raises(ValueError, match="backend 'cudnn' is not known; known: ascend, torch"):
        backends.use("cudnn")
    monkeypatch.setenv("ASCEND_SIM_BACKEND", "cudnn")
    with pytest.raises(ValueError, match="ASCEND_SIM_BACKEND"):
        deep_gemm.bf16_gemm_nt(*operands)


def test_ascend_refuses_cpu_tensors_before_writing_and_says_the_ways_out(operands):
    a, b, d = operands
    with backends.use("ascend"), pytest.raises(ValueError, match=r"bf16_gemm_nt: a on cpu.*\.npu\(\).*ASCEND_SIM_BACKEND=torch"):
        deep_gemm.bf16_gemm_nt(a, b, d, c=torch.zeros(4, 3))
    assert d.isnan().all()


def test_a_plug_in_computes_and_what_it_lacks_is_named(monkeypatch, operands):
    calls = []
    for name in ("plug", "plug.deep_gemm", "plug.deep_gemm.bf16_gemm"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["plug"].__path__ = []
    sys.modules["plug.deep_gemm"].__path__ = []
    sys.modules["plug.deep_gemm.bf16_gemm"].bf16_gemm_nt = lambda *tensors, **keywords: calls.append(keywords)
    monkeypatch.setattr(backends, "_packages", lambda: {"plug": "plug", "torch": "ascend_sim.backends.torch"})
    a, b, d = operands
    with backends.use("plug"):
        deep_gemm.bf16_gemm_nt(a, b, d, alpha=2.0)
        assert calls == [{"c": None, "compiled_dims": "nk", "alpha": 2.0}]
        with pytest.raises(NotImplementedError, match="'plug' does not have it .*other backends: torch"):
            deep_gemm.transform_sf_into_required_layout(torch.ones(4, 2), 4, 64, (1, 1, 32), is_sfa=True)
