# SPDX-License-Identifier: MIT
"""Switches around test functions."""

import functools
import os
from collections.abc import Callable

from ascend_sim.arguments import function_of, text

__all__ = ["get_arch_major", "test_filter", "ignore_env"]


def get_arch_major() -> int:
    """The CUDA compute capability's major number. Raises RuntimeError: the chip here is an Ascend 950, and no number would be true."""
    raise RuntimeError("get_arch_major: an Ascend 950 has no CUDA compute capability; ask deep_gemm.get_npu_arch() or torch.npu.")


def test_filter(condition: Callable[[], bool]):
    """Decorator: the function runs if condition() holds when it is called, else only says that it was filtered."""
    function_of("test_filter", "condition", condition)

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            if condition():
                return function(*arguments, **keywords)
            print(f"{function.__name__}: Filtered by {condition}")
        return wrapper
    return decorate


test_filter.__test__ = False        # its name makes pytest take it for a test


def ignore_env(name: str, condition: Callable[[], bool]):
    """Decorator: while the function runs, the environment variable is absent if condition() holds."""
    function_of("ignore_env", "condition", condition)
    text("ignore_env", "name", name)

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            saved = os.environ.pop(name, None) if condition() else None
            try:
                return function(*arguments, **keywords)
            finally:
                if saved is not None:
                    os.environ[name] = saved
        return wrapper
    return decorate
