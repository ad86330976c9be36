# SPDX-License-Identifier: MIT
"""The vector instructions compiled for each level this host can run."""

import functools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import aarch64
from support.host_compiler import CSRC, LEVELS, build, build_levels
from support.simd import EmulatedSimd, Simd


SOURCES = [Path(__file__).with_name("simd_harness.cpp"), CSRC / "isa" / "vf.cpp"]


@functools.cache
def host_harnesses():
    """Being compiled: nothing that the tests compile takes longer."""
    return ThreadPoolExecutor(1).submit(build_levels, "simd_harness", SOURCES)


def pytest_collection_finish(session):
    """Begins with it while the first tests run."""
    levels = {item.callspec.params.get("simd") for item in session.items if hasattr(item, "callspec")}
    if not session.config.option.collectonly and levels.intersection(LEVELS):
        host_harnesses()


@functools.cache
def harness(level):
    if level == aarch64.LEVEL:
        return EmulatedSimd(aarch64.machine(), aarch64.build("simd_harness", SOURCES))
    host_harnesses().result()
    return Simd(build("simd_harness", SOURCES, level), level)


@pytest.fixture(scope="session", params=[*LEVELS, aarch64.PARAM])
def simd(request):
    return harness(request.param)
