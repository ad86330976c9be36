# SPDX-License-Identifier: MIT
"""Switches of launches, for a part of a test: a time limit for one that never ends, the race check."""

import contextlib
from collections.abc import Iterator

import pytest
from ascend_sim import _C, config


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Of the launches inside; those around them have all the time that a loaded machine takes."""
    _C.set_launch_timeout(seconds)
    try:
        yield
    finally:
        _C.set_launch_timeout(300.0)


@contextlib.contextmanager
def races_looked_for() -> Iterator[None]:
    """As ASCEND_SIM_CHECK=races does: in launches, and in text that is compiled."""
    before = config.checks().races
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_CHECK", "races")
        _C.set_race_check(True)
        try:
            yield
        finally:
            _C.set_race_check(before)
