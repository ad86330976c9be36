# SPDX-License-Identifier: MIT
"""Is every instruction there that the wheel's templates can ask for?"""

import importlib.util
from pathlib import Path

import pytest
from support.host_compiler import LEVELS, build

TILELANG = importlib.util.find_spec("tilelang")


@pytest.mark.skipif(TILELANG is None, reason="the tilelang wheel, whose headers are compiled here, is not installed")
def test_every_vector_wrapper_of_the_wheel_compiles():
    templates = Path(TILELANG.submodule_search_locations[0]) / "src"
    build("wheel_wrappers", [Path(__file__).with_name("wheel_wrappers.cpp")], LEVELS[-1], "-isystem", str(templates), optimize="-O0")
