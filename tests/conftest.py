# SPDX-License-Identifier: MIT
"""What every test run says first: which copy of the packages it tests. In the checkout, where nothing is installed, it loads the device.

And Python processes of their own, for what can be set up only once.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import ascend_sim
import pytest
import torch


def pytest_configure(config):
    is_built = importlib.util.find_spec("ascend_sim._C") and importlib.util.find_spec("ascend_sim._autoload")
    if is_built and not hasattr(torch, "npu"):
        from ascend_sim import _autoload
        _autoload.autoload()


def pytest_report_header(config):
    return f"ascend_sim: {ascend_sim.__file__}"


@pytest.fixture
def run_python(tmp_path):
    """Runs code in a new process, in which `import torch` finds this package's entry point as if it were installed."""
    entry_point = tmp_path / "ascend_sim_under_test-0.dist-info"
    entry_point.mkdir()
    (entry_point / "METADATA").write_text("Metadata-Version: 2.1\nName: ascend-sim-under-test\nVersion: 0\n")
    (entry_point / "entry_points.txt").write_text("[torch.backends]\nnpu_under_test = ascend_sim._autoload:autoload\n")

    def run(code: str, *options: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
        root = str(Path(ascend_sim.__file__).parent.parent)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "TORCH_DEVICE_"))}
        environment = inherited | {"PYTHONPATH": os.pathsep.join([root, str(tmp_path)])} | environment
        done = subprocess.run([sys.executable, *options, "-c", code], env=environment, capture_output=True, text=True,
                              timeout=120, cwd=tmp_path)
        assert not check or done.returncode == 0, done.stderr
        return done

    return run
