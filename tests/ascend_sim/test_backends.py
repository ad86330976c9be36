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
    assert {"ascend", "torch", "cuda"} <= set(backends.available())


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
    with pytest.raises(ValueError, match="backend 'cudnn' is not known; known: ascend, cuda, torch"):
        backends.use("cudnn")
    with pytest.raises(TypeError, match="the name of a backend is None; expected a str; known: ascend, cuda, torch"):
        backends.use(None)
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


def test_the_listing_says_what_is_usable_and_why_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "broken_plug_in", None)            # importing it fails
    monkeypatch.setattr(backends, "_packages", lambda: {"torch": "ascend_sim.backends.torch", "broken": "broken_plug_in", "cuda": "ascend_sim.backends.cuda"})
    lines = backends.listing()
    assert lines["torch"].is_available and "cpu" in lines["torch"].reason
    assert not lines["broken"].is_available and lines["broken"].reason.startswith("importing broken_plug_in failed: ModuleNotFoundError")
    assert lines["cuda"].options == ("sm90", "sm100") and "cuda cuda:sm90 cuda:sm100" in str(lines)
    assert "missing" in str(lines).splitlines()[1]


def test_ascend_without_its_extension_says_how_to_build_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert backends.listing()["ascend"] == backends.Backend("ascend_sim.backends.ascend", False, "ascend_sim._C is not built here: run `make build`, "
                                                            "or `make -C csrc lib torch` in a checkout")


def test_an_option_follows_the_name(monkeypatch):
    with backends.use("cuda:sm90"):
        assert backends.current() == "cuda:sm90" and backends.option() == "sm90"
    with pytest.raises(ValueError, match="cuda has no option 'sm80'; known: cuda:sm90, cuda:sm100"):
        backends.use("cuda:sm80")
    with pytest.raises(ValueError, match="torch has no option 'fast'; known: none"):
        backends.use("torch:fast")
    monkeypatch.setenv("ASCEND_SIM_BACKEND", "cuda:sm100")
    assert backends.option() == "sm100"
    from ascend_sim.backends import cuda
    assert cuda.arch() == 100


def test_a_plug_in_without_limits_has_ascends(monkeypatch):
    monkeypatch.setitem(sys.modules, "bare", types.ModuleType("bare"))
    sys.modules["bare"].__path__ = []
    monkeypatch.setattr(backends, "_packages", lambda: {"bare": "bare"})
    with backends.use("bare"):
        assert backends.limits("deep_gemm").__name__ == "ascend_sim.backends.ascend.deep_gemm.limits"
