# SPDX-License-Identifier: MIT
"""TileLang's lowering takes seconds a kernel: these tests share its caches between runs, in build/tilelang-cache."""

import importlib.util
import os
from pathlib import Path

import pytest

os.environ.setdefault("TILELANG_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "build" / "tilelang-cache"))
os.environ.setdefault("TILELANG_PRINT_ON_COMPILATION", "0")


@pytest.fixture(scope="session")
def tilelang():
    if importlib.util.find_spec("tvm_ffi") is None:
        pytest.skip("TileLang's own dependencies are not installed: pip install 'ascend-sim[tilelang]'")
    import ascend_sim.tilelang  # noqa: F401
    return pytest.importorskip("tilelang")
