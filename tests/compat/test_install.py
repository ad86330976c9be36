# SPDX-License-Identifier: MIT
"""Stand-ins are switched on by the environment or by one call, each once, and step aside for the real thing."""

import importlib
import os
import pathlib
import sys
import types
import warnings

import pytest
import torch
from ascend_sim import _autoload, compat
from ascend_sim.compat import _cuda, _davinci, _torch_npu

DEVICE_FILE = "/dev/davinci_manager"


def forget_torch_npu():
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_npu"]:
        del sys.modules[name]


@pytest.fixture
def nothing_installed(monkeypatch):
    """What stand-ins change is put back afterwards."""
    monkeypatch.setattr(compat, "_active", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    for owner, name in ((os.path, "exists"), (os.path, "lexists"), (pathlib.Path, "exists")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    forget_torch_npu()
    monkeypatch.setattr(_cuda, "_patches", None)
    yield
    forget_torch_npu()
    if _cuda._patches is not None:
        _cuda._patches.undo()


def test_the_device_file_exists_and_nothing_else_changes(nothing_installed, tmp_path):
    assert compat.install("davinci") == ("davinci",) == compat.install("davinci") == compat.active()
    assert os.path.exists(DEVICE_FILE) and os.path.lexists(DEVICE_FILE) and pathlib.Path(DEVICE_FILE).exists()
    assert os.path.exists(pathlib.Path(DEVICE_FILE)) and os.path.exists(tmp_path) and pathlib.Path(tmp_path).exists()
    for path in ("/dev/davinci_manager2", str(tmp_path / "none"), b"/dev/davinci_manager_", 10**6):
        assert not os.path.exists(path)
    with pytest.raises(TypeError):
        os.path.exists(None)
    with pytest.raises(FileNotFoundError):
        open(DEVICE_FILE)


def test_each_steps_aside_for_the_real_thing_and_says_so_once(nothing_installed, monkeypatch, tmp_path):
    monkeypatch.setattr(_davinci, "DEVICE_FILE", str(tmp_path))
    monkeypatch.setattr(_cuda, "real_cuda", lambda: "2 CUDA devices")
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "torch_npu" / "__init__.py").write_text("real = True")
    sys.path.insert(0, str(tmp_path))
    for name, reason in (("davinci", "is there"), ("cuda", "PyTorch has 2 CUDA devices"), ("torch_npu", "a torch_npu is installed")):
        with pytest.warns(UserWarning, match=f"the stand-in '{name}' steps aside: .*{reason}"):
            assert compat.install(name) == ()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compat.install(name)
    import torch_npu
    assert torch_npu.real
    with pytest.raises(RuntimeError, match="cuda_as_npu: PyTorch has 2 CUDA devices"), compat.cuda_as_npu():
        pass


def test_a_torch_npu_that_is_loaded_already_stays(nothing_installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_npu", types.ModuleType("torch_npu"))
    assert "is loaded already" in _torch_npu.install()


def test_unknown_names_are_refused_before_anything_is_installed(nothing_installed):
    with pytest.raises(ValueError, match="unknown 'npu'; known: torch_npu, cuda, davinci, toolkit"):
        compat.install("davinci", "npu")
    assert compat.active() == () and not os.path.exists(DEVICE_FILE)


def test_the_environment_switches_them_on_for_import_torch_and_for_children(run_python):
    code = """
import os, subprocess, sys, torch, ascend_sim
assert torch.cuda.is_available() and os.path.exists("/dev/davinci_manager")
assert not any(name.startswith(("torch_npu", "tilelang", "torch._dynamo")) for name in sys.modules)     # loaded when asked for
import torch_npu
from torch_npu.contrib import transfer_to_npu
print(ascend_sim.compat.active(), torch_npu.npu is torch.npu)
torch.cuda.device_count(), torch.cuda.is_bf16_supported(), torch.manual_seed(1)
child = os.fork()                               # asking is not using
if child == 0:
    os._exit(int(torch.ones(2, device="cuda:1").get_device() != 1))
assert os.waitpid(child, 0)[1] == 0
print(subprocess.run([sys.executable, "-c", "import torch; print(torch.ones(1).cuda().device)"], capture_output=True, text=True, check=True).stdout)
"""
    done = run_python(code, "-W", "error", ASCEND_SIM_SHIMS="torch_npu,cuda,davinci")
    assert done.stdout.split("\n")[:2] == ["('torch_npu', 'cuda', 'davinci') True", "npu:0"]


def test_one_that_fails_leaves_the_others_alone(nothing_installed, monkeypatch):
    monkeypatch.setattr(_cuda, "install", lambda: 1 / 0)
    monkeypatch.setenv("ASCEND_SIM_SHIMS", "cuda,davinci")
    with pytest.warns(RuntimeWarning, match="the stand-in 'cuda' of ASCEND_SIM_SHIMS cannot be installed: ZeroDivisionError"):
        _autoload.install_shims()
    assert compat.active() == ("davinci",)


def test_a_wrong_list_installs_nothing_and_warns(nothing_installed, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_SHIMS", "davinci,nccl")
    with pytest.warns(RuntimeWarning, match="no stand-in is installed: ASCEND_SIM_SHIMS='davinci,nccl'"):
        _autoload.install_shims()
    assert compat.active() == ()


def test_one_import_installs_one(nothing_installed, monkeypatch):
    for name in ("cuda", "davinci", "torch_npu"):
        monkeypatch.delitem(sys.modules, f"ascend_sim.compat.{name}", raising=False)
        importlib.import_module(f"ascend_sim.compat.{name}")
        assert name in compat.active()
    assert torch.zeros(1, device="cuda").device == torch.device("npu:0") and importlib.import_module("torch_npu").npu is torch.npu
