# SPDX-License-Identifier: MIT
"""TileLang's lowering takes seconds a kernel: these tests share its caches between runs, in build/tilelang-cache."""

import importlib.util
import os
from pathlib import Path

import pytest
import torch

os.environ.setdefault("TILELANG_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "build" / "tilelang-cache"))
os.environ.setdefault("TILELANG_PRINT_ON_COMPILATION", "0")


@pytest.fixture(scope="session")
def tilelang():
    if importlib.util.find_spec("tvm_ffi") is None:
        pytest.skip("TileLang's own dependencies are not installed: pip install 'ascend-sim[tilelang]'")
    import ascend_sim.tilelang  # noqa: F401
    return pytest.importorskip("tilelang")


@pytest.fixture(scope="session")
def load_programs(tilelang):
    """By the name of a file of this folder: its module. TileLang reads the source of programs, so they are in files of their own."""
    def load(name):
        spec = importlib.util.spec_from_file_location(f"tilelang_test_{name}", Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return load


@pytest.fixture(scope="session")
def unwritten():
    """A tensor on the device of ones in every bit (NaN, -1): what a kernel does not write shows."""
    def make(*shape, dtype=None):
        dtype = dtype or torch.float32
        return torch.full(shape, -1, dtype=torch.int8).repeat_interleave(dtype.itemsize, -1).view(dtype).npu()
    return make
