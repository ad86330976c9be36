# SPDX-License-Identifier: MIT
"""Which implementations of the public operations exist, and which one is in use.

    backends.listing()                       name -> is it usable here, and why (not); printed as a table
    backends.use("torch")                    or: with backends.use("cuda:sm90"): ...; ASCEND_SIM_BACKEND=torch

A backend is a Python package with one module per operation, at <backend>.<library>.<stem>: the stem that the operation's module has
in the library itself. The module holds one function per public operation, with the public signature:

    deep_gemm/bf16_gemm.py                                   signature, docstring, checks that all backends share
    ascend_sim/backends/torch/deep_gemm/bf16_gemm.py         the definition
    ascend_sim/backends/ascend/deep_gemm/bf16_gemm.py        the launch of csrc/kernels/deep_gemm/bf16_gemm.cpp

<backend>.<library>.limits says which calls the backend takes beyond what all share: which recipes, scale dtypes, strides. A backend
without one has ascend's, which says what such a module holds. What an operation may rely on (the library has checked it): dtypes,
shapes, strides, one device, no empty axis, c is None or c is d, epilogue is None.

Its package may define `check_tensors(function, tensors)`, called before anything is written; `availability()`, which returns whether it
can be used here and a sentence; and OPTIONS, names that may follow the backend's behind a colon (`option()` is the one in use).
A plug-in is an entry point in the group ascend_sim.backends: its name is the backend's, its value the package.
"""

import functools
import importlib
import importlib.metadata
from dataclasses import dataclass

from ascend_sim import arguments, config

_BUILT_IN = {name: f"ascend_sim.backends.{name}" for name in ("ascend", "torch", "cuda")}
_override: str | None = None     # what `use` says


@dataclass(frozen=True)
class Backend:
    """A line of the listing."""

    package: str
    is_available: bool
    reason: str                     # what it computes on, or what is missing
    options: tuple[str, ...] = ()   # may follow the name behind a colon


class Listing(dict):
    """Backend name -> Backend. Its text is a table."""

    def __str__(self) -> str:
        names = {name: name + "".join(f" {name}:{option}" for option in line.options) for name, line in self.items()}
        width = max(map(len, names.values()))
        return "\n".join(f"{names[name]:{width}}  {'available' if line.is_available else 'missing':9}  {line.reason}" for name, line in self.items())


def available() -> dict[str, str]:
    """Backend name -> package, the built-in ones and the installed plug-ins, usable or not."""
    return dict(_packages())


def listing() -> Listing:
    """Every known backend, whether it can be used here, and why (not). Imports them all."""
    return Listing({name: _line(name) for name in _packages()})


def current() -> str:
    """The name in use, with its option if one was given: what `use` said last, else ASCEND_SIM_BACKEND."""
    return _override or config.backend()


def option() -> str | None:
    """What stands behind the colon of the name in use, e.g. sm90."""
    return current().partition(":")[2] or None


class use:
    """Chooses the backend of the whole process, until the end of the `with` block if used as one.

        ascend_sim.backends.use("torch")
        with ascend_sim.backends.use("cuda:sm90"): ...

    Process-wide, not per thread: a backward pass runs in other threads.
    Raises: ValueError for an unknown name or option; the message lists the known ones.
    """

    def __init__(self, name: str):
        global _override
        package(name)
        self._before, _override = _override, name

    def __enter__(self) -> "use":
        return self

    def __exit__(self, *exception) -> None:
        global _override
        _override = self._before


def package(name: str):
    """The package of a backend, imported. `name` may have an option."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a backend is {arguments.shown(name)}; expected a str; known: {', '.join(sorted(_packages()))}.")
    return _package(name)


@functools.cache
def _package(name: str):
    base, colon, chosen = name.partition(":")
    packages = _packages()
    if base not in packages:
        raise ValueError(f"{_said(name)} is not known; known: {', '.join(sorted(packages))}. Plug-ins are entry points in the group ascend_sim.backends.")
    module = importlib.import_module(packages[base])
    options = getattr(module, "OPTIONS", ())
    if colon and chosen not in options:
        accepted = ", ".join(f"{base}:{known}" for known in options) or "none"
        raise ValueError(f"{_said(name)}: {base} has no option {chosen!r}; known: {accepted}.")
    return module


def _said(name: str) -> str:
    """A name and where it comes from, as messages begin."""
    from_environment = _override is None and name == config.backend()
    return f"ASCEND_SIM_BACKEND={name!r}" if from_environment else f"ascend_sim.backends.use: backend {name!r}"


def operation(library: str, stem: str, function: str):
    """The function that implements one public operation in the backend in use."""
    return _operation(current(), library, stem, function)


def limits(library: str):
    """The module that says which calls of a library the backend in use takes."""
    return _limits(current(), library)


def check_tensors(function: str, tensors: dict) -> None:
    """Lets the backend in use refuse tensors it cannot take (a device, mostly), before anything is written."""
    check = getattr(package(current()), "check_tensors", None)
    if check is not None:
        check(function, tensors)


@functools.cache
def _packages() -> dict[str, str]:
    plug_ins = importlib.metadata.entry_points(group="ascend_sim.backends")
    return {**_BUILT_IN, **{entry.name: entry.value for entry in plug_ins if entry.name not in _BUILT_IN}}


def _line(name: str) -> Backend:
    module_name = _packages()[name]
    try:
        module = importlib.import_module(module_name)
        is_available, reason = getattr(module, "availability", lambda: (True, f"the package {module_name}"))()
    except Exception as error:          # whatever a plug-in does: it is not available, and that is why
        return Backend(module_name, False, f"importing {module_name} failed: {type(error).__name__}: {error}")
    return Backend(module_name, is_available, reason, tuple(getattr(module, "OPTIONS", ())))


@functools.cache
def _limits(backend: str, library: str):
    module_name = f"{package(backend).__name__}.{library}.limits"
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not module_name.startswith(error.name or "?"):
            raise                           # the backend's own module lacks something else
    return importlib.import_module(f"{_BUILT_IN['ascend']}.{library}.limits")


@functools.cache
def _operation(backend: str, library: str, stem: str, function: str):
    root = package(backend).__name__
    module_name = f"{root}.{library}.{stem}"
    try:
        return getattr(importlib.import_module(module_name), function)
    except ModuleNotFoundError as error:
        if not module_name.startswith(error.name or "?"):
            raise                           # the backend's own module lacks something else
    except AttributeError:
        pass
    raise NotImplementedError(
        f"{function}: the backend {backend!r} does not have it (looked for {module_name}.{function}); "
        f"other backends: {', '.join(sorted(set(_packages()) - {backend.partition(':')[0]}))}."
    )
