# SPDX-License-Identifier: MIT
"""An environment without settings of its own, and commands in a process of their own where that is what is tested."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ascend_sim import config

ROOT = Path(config.__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (*config.VARIABLES, "DJ_JIT_LAUNCH_TIMEOUT", "ASCEND_TOOLKIT_HOME", "CXX", "TORCH_DEVICE_BACKEND_AUTOLOAD"):
        monkeypatch.delenv(name, raising=False)


def run_python(folder, *arguments, environment=None, **keywords):
    """subprocess.run of this interpreter in that folder, with the copy of ascend_sim under test."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    keywords = {"capture_output": True, "text": True, "timeout": 120, **keywords}
    if "input" not in keywords:
        keywords["stdin"] = subprocess.DEVNULL
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=folder, env={**os.environ, "PYTHONPATH": path, **(environment or {})}, **keywords)


@pytest.fixture
def python(tmp_path):
    """python(*arguments, ..), in a folder of the test's own."""
    return functools.partial(run_python, tmp_path)


@pytest.fixture
def command(python):
    """The command line in a process of its own."""
    return functools.partial(python, "-P", "-m", "ascend_sim")


@pytest.fixture(scope="module")
def module_command(tmp_path_factory):
    """(command, its folder) for what several tests look at."""
    folder = tmp_path_factory.mktemp("command")
    return functools.partial(run_python, folder, "-P", "-m", "ascend_sim"), folder
