# SPDX-License-Identifier: MIT
"""What the tests of the device share: a clean state, and Python processes of their own for what can be set up only once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import ascend_sim


@pytest.fixture(autouse=True)
def device_zero_and_default_stream():
    """Each test starts on npu:0 and its default stream, whatever the one before left."""
    yield
    for index in reversed(range(torch.npu.device_count())):
        torch.npu.set_stream(torch.npu.default_stream(index))


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
