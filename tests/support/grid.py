# SPDX-License-Identifier: MIT
"""Grids of cases that are tested in part."""

import functools

import pytest

slow = functools.partial(pytest.param, marks=pytest.mark.slow)
"""A case of a grid that is tested only where slow tests are asked for."""
