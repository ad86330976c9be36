# SPDX-License-Identifier: MIT
"""Compiling ahead, as the real library's tests do: calls run side by side under dry run. Here it checks arguments; kernels are built in."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from ascend_sim import arguments, config
from ascend_sim.backends import settings

__all__ = ["dry_run", "par_compile"]


@contextlib.contextmanager
def dry_run() -> Iterator[None]:
    """Inside the block calls of deep_gemm check their arguments and launch nothing; tensors may be on `meta`. For all threads."""
    before = settings.deep_gemm.dry_run
    settings.deep_gemm.dry_run = True
    try:
        yield
    finally:
        settings.deep_gemm.dry_run = before


def par_compile(callables: Iterable[Callable[[], object]], *, max_workers: int | None = None, progress: bool = True) -> None:
    """Calls all of them under dry_run, in threads; the first exception is raised once all have ended.

    max_workers: DG_TEST_MAX_WORKERS, or one for each usable CPU. progress: kept, nothing is printed
    """
    import torch

    if isinstance(callables, str) or not isinstance(callables, Iterable):
        raise TypeError(f"par_compile: callables is {arguments.shown(callables)}; expected functions without arguments.")
    callables = [arguments.function_of("par_compile", "callables", function) for function in callables]
    if max_workers is not None:
        max_workers = arguments.whole("par_compile", "max_workers", max_workers, 1, 4096)
    npu = getattr(torch, "npu", None)
    device = npu.current_device() if npu is not None else None

    def call(function: Callable[[], object]) -> None:
        if device is not None:
            npu.set_device(device)
        function()

    with dry_run(), ThreadPoolExecutor(max_workers or config.test_workers()) as pool:
        futures = [pool.submit(call, function) for function in callables]
    for future in futures:
        future.result()
