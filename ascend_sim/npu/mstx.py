# SPDX-License-Identifier: MIT
"""torch.npu.mstx: marks and ranges of a program's own. They appear in torch.profiler's traces."""

import functools
import itertools

import torch

_open: dict[int, torch.profiler.record_function] = {}
_numbers = itertools.count(1)


def mark(message: str, stream=None, domain: str = "default") -> None:
    """An instant."""
    with torch.profiler.record_function(message):
        pass


def range_start(message: str, stream=None, domain: str = "default") -> int:
    """Returns the number that range_end takes."""
    number = next(_numbers)
    _open[number] = torch.profiler.record_function(message)
    _open[number].__enter__()
    return number


def range_end(range_id: int, domain: str = "default") -> None:
    if range_id not in _open:
        raise ValueError(f"torch.npu.mstx.range_end: {range_id} is not an open range; open are {sorted(_open) or 'none'}.")
    _open.pop(range_id).__exit__(None, None, None)


def mstx_range(message: str, stream=None, domain: str = "default"):
    """Decorator: every call of the function is a range."""
    def decorate(function):
        @functools.wraps(function)
        def inside(*arguments, **named_arguments):
            with torch.profiler.record_function(message):
                return function(*arguments, **named_arguments)
        return inside
    return decorate
