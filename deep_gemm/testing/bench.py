# SPDX-License-Identifier: MIT
"""Simulated kernel times, under the names and signatures of both originals.

A simulated time depends on the call and on the state of the emulated L2 alone, so repeating it tells nothing new: each helper stops
as soon as two calls in a row took the same time, and `num_warmups` and `num_tests` are upper bounds. "Flushing" invalidates the
emulated L2 and touches no host memory.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, fields

import torch

from ascend_sim import arguments
from deep_gemm._differences import report_helper

__all__ = ["KernelProfile", "bench", "bench_kineto", "bench_msprof", "close_persistent_profiler", "empty_suppress", "suppress_stdout_stderr"]


@dataclass
class KernelProfile:
    """What one kernel did, mean over its launches. Ratios are 0 to 1: busy cycles of a pipe over the cycles of its kind of core."""

    dur_ns: float
    aic_total_cycles: float = 0.0
    aic_mad: float = 0.0
    aic_scalar: float = 0.0
    aic_mte1: float = 0.0
    aic_mte2: float = 0.0
    aic_mte3: float = 0.0
    aic_fixpipe: float = 0.0
    aiv_total_cycles: float = 0.0
    aiv_vec: float = 0.0
    aiv_scalar: float = 0.0
    aiv_mte2: float = 0.0
    aiv_mte3: float = 0.0

    @property
    def dur_us(self) -> float:
        return self.dur_ns / 1000

    def tflops(self, flops: float) -> float:
        """TFLOP/s if the kernel does that many floating point operations."""
        return flops / self.dur_ns / 1000

    def gbps(self, num_bytes: float) -> float:
        """GB/s if the kernel moves that many bytes."""
        return num_bytes / self.dur_ns

    def __repr__(self) -> str:
        shown = {"mad": self.aic_mad, "mte1": self.aic_mte1, "mte2": self.aic_mte2, "fixpipe": self.aic_fixpipe,
                 "vec": self.aiv_vec, "mte3": self.aiv_mte3}
        ratios = "".join(f", {name}={ratio:.1%}" for name, ratio in shown.items() if ratio)
        return f"KernelProfile({self.dur_us:.1f}us{ratios})"


def bench_msprof(fn: Callable, kernel_names=None, num_warmups: int = 10, num_tests: int = 30, flush_l2: bool = True,
                 barrier_comm_profiling: bool = False, barrier: Callable | None = None, return_all_kernels: bool = False,
                 suppress_verbose_output: bool = True, backend: str = "persistent"):
    """Simulated time and pipe figures of the kernels that fn() launches, per launch.

    kernel_names: str: a KernelProfile; its text must be in the name of exactly one kernel (RuntimeError else). List: a list with the
       first match of each, or None. None with return_all_kernels: dict of all names
    flush_l2: invalidate the emulated L2 before each call; barrier: called before each call if barrier_comm_profiling
    backend: 'slow', 'fast' or 'persistent'; all the same here, as is suppress_verbose_output
    Raises: ValueError for kernel_names=None without return_all_kernels, another backend, num_warmups < 0 or num_tests <= 0.
    """
    if kernel_names is None and not return_all_kernels:
        raise ValueError("bench_msprof: kernel_names is None; pass a name, a list of names, or return_all_kernels=True.")
    if not isinstance(backend, str) or backend not in ("slow", "fast", "persistent"):
        raise ValueError(f"bench_msprof: backend is {arguments.shown(backend)}; accepted: 'slow', 'fast', 'persistent'.")
    _check("bench_msprof", fn, barrier, num_warmups, num_tests, flush_l2=flush_l2, barrier_comm_profiling=barrier_comm_profiling, return_all_kernels=return_all_kernels)
    if kernel_names is not None and not isinstance(kernel_names, str):
        kernel_names = _texts("bench_msprof", kernel_names, "a str, a list of them, or None")
    records = _measure("bench_msprof", fn, num_warmups, num_tests, flush_l2, barrier if barrier_comm_profiling else None)
    profiles = {name: _mean(launches) for name, launches in _by_name(records).items()}
    if kernel_names is None:
        return profiles
    if isinstance(kernel_names, str):
        matches = [name for name in profiles if kernel_names in name]
        if len(matches) != 1:
            raise RuntimeError(f"bench_msprof: {kernel_names!r} is in the name of {len(matches)} kernels; expected one. "
                               f"Launched: {', '.join(profiles) or 'none'}.")
        return profiles[matches[0]]
    return [next((profile for name, profile in profiles.items() if wanted in name), None) for wanted in kernel_names]


def bench_kineto(fn: Callable, kernel_names, num_tests: int = 30, suppress_kineto_output: bool = False, trace_path: str | None = None,
                 flush_l2: bool = True, with_multiple_kernels: bool = False, barrier: Callable | None = None):
    """Simulated seconds per launch of the kernels whose names contain the given text; 0 if there is none.

    kernel_names: str gives a float, a tuple of str a tuple. trace_path: a Chrome trace of the last call is written there.
    Raises: ValueError if a text is in the names of several kernels, unless with_multiple_kernels.
    """
    _check("bench_kineto", fn, barrier, 1, num_tests, flush_l2=flush_l2, with_multiple_kernels=with_multiple_kernels)
    if trace_path is not None:
        arguments.instance("bench_kineto", "trace_path", trace_path, (str, os.PathLike), "the path of a file, or None")
    wanted = (kernel_names,) if isinstance(kernel_names, str) else tuple(_texts("bench_kineto", kernel_names, "a str, or a tuple of them"))
    report_helper("bench_kineto")
    by_name = _by_name(_measure("bench_kineto", fn, 1, num_tests, flush_l2, barrier, trace_path))
    times_s = []
    for text in wanted:
        matches = [name for name in by_name if text in name]
        if len(matches) > 1 and not with_multiple_kernels:
            raise ValueError(f"bench_kineto: {text!r} is in the names of several kernels ({', '.join(matches)}); "
                             "name one of them or pass with_multiple_kernels=True.")
        launches = [record for name in matches for record in by_name[name]]
        times_s.append(sum(record.simulated_us for record in launches) / len(launches) / 1e6 if launches else 0.0)
    return times_s[0] if isinstance(kernel_names, str) else tuple(times_s)


def bench(fn: Callable, num_warmups: int = 5, num_tests: int = 10, high_precision: bool = False) -> float:
    """Simulated seconds per call of fn() between two device events, with the L2 as the calls before leave it."""
    _check("bench", fn, None, num_warmups, num_tests)
    report_helper("bench")
    _require_ascend("bench")
    for _ in range(min(num_warmups, 1)):
        fn()
    times_ms = []
    while len(times_ms) < num_tests and not _repeats(times_ms):
        start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        end.synchronize()
        times_ms.append(start.elapsed_time(end))
    return times_ms[-1] / 1e3


def close_persistent_profiler() -> None:
    """Ends the profiling session that the real library keeps open; there is none here."""


class empty_suppress:
    """A context manager that does nothing."""

    def __enter__(self) -> "empty_suppress":
        return self

    def __exit__(self, *exception) -> None:
        pass


class suppress_stdout_stderr(empty_suppress):
    """For profilers that print; nothing here prints, so nothing is suppressed."""


def _check(function: str, fn, barrier, num_warmups, num_tests, **flags) -> None:
    arguments.function_of(function, "fn", fn)
    arguments.function_of(function, "barrier", barrier, is_optional=True)
    arguments.whole(function, "num_warmups", num_warmups, 0)
    arguments.whole(function, "num_tests", num_tests, 1)
    for name, value in flags.items():
        arguments.flag(function, name, value)


def _texts(function: str, names, what: str) -> list[str]:
    names = list(arguments.instance(function, "kernel_names", names, (list, tuple), what))
    for name in names:
        arguments.instance(function, "kernel_names", name, str, what)
    return names


def _measure(function: str, fn: Callable, num_warmups: int, num_tests: int, flush_l2: bool, barrier: Callable | None,
             trace_path: str | None = None) -> list:
    """The records of the kernels of the last call measured; operators that are charged by formula are no kernels."""
    import ascend_sim

    _require_ascend(function)
    if not flush_l2 and num_warmups:
        fn()                        # brings the L2 into the state that repeated calls leave
    times_us, records = [], []
    while len(times_us) < num_tests and not _repeats(times_us):
        if flush_l2:
            _flush_l2()
        if barrier is not None:
            barrier()
        with ascend_sim.profile(timeline=trace_path is not None) as profile:
            fn()
        records = [record for record in profile.records if not record.is_estimate]
        times_us.append(sum(record.simulated_us for record in records))
    if trace_path is not None:
        profile.export_chrome_trace(trace_path)
    return records


def _repeats(times: list[float]) -> bool:
    return len(times) > 1 and abs(times[-1] - times[-2]) <= 1e-6 * times[-1]


def _flush_l2() -> None:
    from ascend_sim import _C
    _C.flush_l2(torch.npu.current_device())


def _require_ascend(function: str) -> None:
    from ascend_sim import backends, modes
    if backends.current() != "ascend":
        raise RuntimeError(f"{function}: the backend {backends.current()!r} keeps no simulated time; use the backend 'ascend'.")
    if modes.get() == "functional":
        raise RuntimeError(f"{function}: there is no simulated time in functional mode; use ascend_sim.mode('full') or ('timing').")


def _by_name(records: list) -> dict[str, list]:
    names: dict[str, list] = {}
    for record in records:
        names.setdefault(record.name, []).append(record)
    return names


def _mean(launches: list) -> KernelProfile:
    profiles = [_profile(record) for record in launches]
    return KernelProfile(**{field.name: sum(getattr(profile, field.name) for profile in profiles) / len(profiles)
                            for field in fields(KernelProfile)})


# pipe of a launch record -> field
_AIC = {"M": "aic_mad", "S": "aic_scalar", "MTE1": "aic_mte1", "MTE2": "aic_mte2", "MTE3": "aic_mte3", "FIX": "aic_fixpipe"}
_AIV = {"V": "aiv_vec", "S": "aiv_scalar", "MTE2": "aiv_mte2", "MTE3": "aiv_mte3"}


def _profile(record) -> KernelProfile:
    ratios = {field: uses[pipe].busy for uses, names in ((record.aic, _AIC), (record.aiv, _AIV)) for pipe, field in names.items() if pipe in uses}
    return KernelProfile(
        dur_ns=record.simulated_us * 1000,
        aic_total_cycles=record.cycles if record.cube_cores else 0.0,
        aiv_total_cycles=record.cycles if record.vector_cores else 0.0,
        **ratios,
    )
