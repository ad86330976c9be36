# SPDX-License-Identifier: MIT
"""torch.npu.mstx: marks and ranges of a program's own. They appear in torch.profiler's traces."""

import functools
import itertools

import torch

from ascend_sim import arguments

_open: dict[int, torch.profiler.record_function] = {}
_numbers = itertools.count(1)


def mark(message: str, stream=None, domain: str = "default") -> None:
    """An instant."""
    with torch.profiler.record_function(arguments.text("torch.npu.mstx.mark", "message", message)):
        pass


def range_start(message: str, stream=None, domain: str = "default") -> int:
    """Returns the number that range_end takes."""
    opened = torch.profiler.record_function(arguments.text("torch.npu.mstx.range_start", "message", message))
    opened.__enter__()
    number = next(_numbers)
    _open[number] = opened
    return number


def range_end(range_id: int, domain: str = "default") -> None:
    range_id = arguments.whole("torch.npu.mstx.range_end", "range_id", range_id)
    if range_id not in _open:
        raise ValueError(f"torch.npu.mstx.range_end: range_id is {arguments.shown(range_id)}, not an open range; expected one of those that are open: "
                         f"{arguments.shown(sorted(_open)) if _open else 'none'}.")
    _open.pop(range_id).__exit__(None, None, None)


def mstx_range(message: str, stream=None, domain: str = "default"):
    """Decorator: every call of the function is a range."""
    arguments.text("torch.npu.mstx.mstx_range", "message", message)

    def decorate(function):
        @functools.wraps(function)
        def inside(*positional, **named):
            with torch.profiler.record_function(message):
                return function(*positional, **named)
        return inside
    return decorate
