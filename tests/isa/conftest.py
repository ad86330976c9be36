# SPDX-License-Identifier: MIT
"""The vector instructions compiled for each level this host can run."""

import functools
from pathlib import Path

import pytest
from support.host_compiler import CSRC, LEVELS, build
from support.simd import Simd


@functools.cache
def harness(level):
    sources = [Path(__file__).with_name("simd_harness.cpp"), CSRC / "isa" / "vf.cpp"]
    return Simd(build("simd_harness", sources, level), level)


@pytest.fixture(scope="session", params=LEVELS)
def simd(request):
    return harness(request.param)
