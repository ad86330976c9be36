# SPDX-License-Identifier: MIT
"""`import torch` makes npu available, quickly, and never fails because of it."""

import torch


def test_import_torch_alone_makes_the_device_available(run_python):
    code = "import torch; print(torch.ones(2, device='npu').sum().item(), torch.npu.__name__)"
    assert run_python(code, "-W", "error").stdout.split() == ["2.0", "ascend_sim.npu"]


def test_importing_the_package_first_works(run_python):
    """Stand-ins are then installed, too: torch loads them while ascend_sim.npu is half imported."""
    for code in ("import ascend_sim.npu, torch", "import ascend_sim._autoload as a; a.autoload(); import torch"):
        code += "; import os; print(torch.ones(2, device='npu').device, os.path.exists('/dev/davinci_manager'), torch.cuda.device_count())"
        assert run_python(code, "-W", "error", ASCEND_SIM_SHIMS="davinci,cuda").stdout.strip() == "npu:0 True 8"


def test_it_can_be_switched_off_and_asked_for_explicitly(run_python):
    code = """
import torch
assert not hasattr(torch, "npu")
import ascend_sim.npu
print(torch.ones(2, device="npu").device)
"""
    assert run_python(code, ASCEND_SIM_AUTOLOAD="0").stdout.strip() == "npu:0"
    assert run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout.strip() == "npu:0"


def test_calling_it_again_changes_nothing(run_python):
    code = """
import torch
from ascend_sim._autoload import autoload
module = torch.npu
autoload()
assert torch.npu is module
"""
    run_python(code, "-W", "error")


def test_it_steps_aside_for_another_device_in_pytorchs_only_slot(run_python):
    code = """
import torch
torch.utils.rename_privateuse1_backend("other")
from ascend_sim._autoload import autoload
autoload()
assert not hasattr(torch, "npu")
try:
    import ascend_sim.npu
except ImportError as error:
    print(error)
"""
    assert "another package has registered the device 'other'" in run_python(code, "-W", "error", ASCEND_SIM_AUTOLOAD="0").stdout


def test_a_broken_installation_warns_once_and_leaves_torch_intact(run_python, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['ascend_sim._C'] = None\n")
    code = "import torch; print(torch.ones(2).sum().item())"
    done = run_python(code)
    assert done.stdout.strip() == "2.0" and done.stderr.count("the device npu is not available") == 1
    assert run_python(code, "-W", "error").stdout.strip() == "2.0"      # where a warning is an exception


def test_a_wrong_switch_does_not_break_the_import(run_python):
    done = run_python("import torch; print(hasattr(torch, 'npu'))", ASCEND_SIM_AUTOLOAD="perhaps")
    assert done.stdout.strip() == "False" and "ASCEND_SIM_AUTOLOAD='perhaps'" in done.stderr


def test_it_adds_little_to_the_import(run_python):
    """A few hundredths of what PyTorch's own takes."""
    code = """
import time
begin = time.perf_counter()
import torch
between = time.perf_counter()
from ascend_sim._autoload import autoload
autoload()
print((time.perf_counter() - between) / (between - begin))
"""
    assert any(float(run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout) < 0.1 for _ in range(3))


def test_the_module_is_registered_under_torch():
    import importlib
    assert importlib.import_module("torch.npu") is torch.npu
    assert torch.get_device_module("npu") is torch.npu
