# SPDX-License-Identifier: MIT
"""How does a function refuse an argument? Each check returns the argument as the function uses it, or raises what names function, argument and value.

TypeError for another kind of thing, ValueError for a value out of range. Whole numbers may be of any type that Python takes as an index
(numpy's, say), but not bool.
"""

import operator
from collections.abc import Iterable
from numbers import Real

_LONGEST = 200      # characters of a value in a message


def shown(value) -> str:
    """A value as messages show it: on one line, not a long one, and never an exception of its own. A tensor is what it is, not what it holds."""
    if type(value) is int and value.bit_length() > 600:
        return f"a whole number of {value.bit_length()} bits"
    try:
        is_tensor = type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "storage_offset")
        text = f"a {str(value.dtype).removeprefix('torch.')} tensor of shape {tuple(value.shape)} on {value.device}" if is_tensor else repr(value)
        text = " ".join(text.split())
    except Exception:                   # objects half made
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}.."


def whole(function: str, name: str, value, low: int | None = None, high: int | None = None) -> int:
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except (TypeError, ValueError, RuntimeError):       # the last: of tensors with several elements
        number = None
    limits = _limits(low, high)
    if number is None:
        raise TypeError(f"{function}: {name} is {shown(value)}; expected a whole number{limits}.")
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{function}: {name} is {shown(number)}; expected a whole number{limits}.")
    return number


def number(function: str, name: str, value, low: float, high: float) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{function}: {name} is {shown(value)}; expected a number from {low} to {high}.")
    if not low <= value <= high:        # NaN is neither
        raise ValueError(f"{function}: {name} is {shown(value)}; expected a number from {low} to {high}.")
    return float(value)


def flag(function: str, name: str, value) -> bool:
    """True or False, also numpy's, or 0 or 1."""
    if isinstance(value, bool) or (type(value) is int and value in (0, 1)) or type(value).__name__ == "bool" and type(value).__module__ == "numpy":
        return bool(value)
    raise TypeError(f"{function}: {name} is {shown(value)}; expected True or False.")


def text(function: str, name: str, value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{function}: {name} is {shown(value)}; expected a str.")
    return value


def one_of(function: str, name: str, value, accepted: Iterable):
    """A value of the same type as one of those accepted, and equal to it."""
    accepted = tuple(accepted)
    if not any(type(value) is type(known) and value == known for known in accepted):
        raise ValueError(f"{function}: {name} is {shown(value)}; expected one of {', '.join(map(str, accepted))}.")
    return value


def instance(function: str, name: str, value, kind: type | tuple[type, ...], what: str):
    """`what` completes "expected ..": "a tensor"."""
    if not isinstance(value, kind):
        raise TypeError(f"{function}: {name} is {shown(value)}; expected {what}.")
    return value


def function_of(function: str, name: str, value, is_optional: bool = False):
    if not callable(value) and not (is_optional and value is None):
        raise TypeError(f"{function}: {name} is {shown(value)}; expected a function{' or None' if is_optional else ''}.")
    return value


def tensor(function: str, name: str, value, dims: tuple[int, ...] = ()):
    """A tensor, of as many dimensions if any are named."""
    import torch
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{function}: {name} is {shown(value)}; expected a tensor.")
    if dims and value.dim() not in dims:
        raise ValueError(f"{function}: {name} has shape {list(value.shape)}; expected {' or '.join(map(str, dims))} dimensions.")
    return value


def _limits(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return ""
    if high is None or (high >= 2**31 - 1 and high.bit_length() in (31, 63) and low is not None):
        return f" of at least {low}" if high is None else f" of at least {low}, below 2^{high.bit_length()}"
    return f" from {low} to {high}"
