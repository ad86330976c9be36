# SPDX-License-Identifier: MIT
"""Which implementations of the public operations exist, and which one is in use.

A backend is a Python package with one module per operation, at <backend>.<library>.<stem>: the stem that the operation's module has
in the library itself. The module holds one function per public operation, with the public signature:

    deep_gemm/bf16_gemm.py                                   signature, docstring, checks
    ascend_sim/backends/torch/deep_gemm/bf16_gemm.py         the definition
    ascend_sim/backends/ascend/deep_gemm/bf16_gemm.py        the launch of csrc/kernels/deep_gemm/bf16_gemm.cpp

What a backend may rely on (the library has checked it): dtypes, shapes, strides, one device, no empty axis, c is None or c is d,
epilogue is None. Its package may define `check_tensors(function, tensors)`, called before anything is written.
A plug-in is an entry point in the group ascend_sim.backends: its name is the backend's, its value the package.
"""

import functools
import importlib
import importlib.metadata

from ascend_sim import config

_BUILT_IN = {"ascend": "ascend_sim.backends.ascend", "torch": "ascend_sim.backends.torch"}
_override: str | None = None     # what `use` says


def available() -> dict[str, str]:
    """Backend name -> package, the built-in ones and the installed plug-ins."""
    return dict(_packages())


def current() -> str:
    """The name in use: what `use` said last, else ASCEND_SIM_BACKEND."""
    return _override or config.backend()


class use:
    """Chooses the backend of the whole process, until the end of the `with` block if used as one.

        ascend_sim.backends.use("torch")
        with ascend_sim.backends.use("torch"): ...

    Process-wide, not per thread: a backward pass runs in other threads.
    Raises: ValueError for an unknown name; the message lists the known ones.
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
    """The package of a backend, imported."""
    try:
        module_name = _packages()[name]
    except KeyError:
        raise ValueError(
            f"backend {name!r} is not known; known: {', '.join(sorted(_packages()))}. It comes from ASCEND_SIM_BACKEND or "
            "ascend_sim.backends.use(); plug-ins are entry points in the group ascend_sim.backends."
        ) from None
    return importlib.import_module(module_name)


def operation(library: str, stem: str, function: str):
    """The function that implements one public operation in the backend in use."""
    return _operation(current(), library, stem, function)


def check_tensors(function: str, tensors: dict) -> None:
    """Lets the backend in use refuse tensors it cannot take (a device, mostly), before anything is written."""
    check = getattr(package(current()), "check_tensors", None)
    if check is not None:
        check(function, tensors)


@functools.cache
def _packages() -> dict[str, str]:
    plug_ins = importlib.metadata.entry_points(group="ascend_sim.backends")
    return {**{entry.name: entry.value for entry in plug_ins}, **_BUILT_IN}


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
        f"other backends: {', '.join(sorted(set(_packages()) - {backend}))}."
    )
