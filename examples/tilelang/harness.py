# SPDX-License-Identifier: MIT
"""What every TileLang example does around its kernel: read sizes, run it under a profile, compare, print error and simulated time."""

import argparse
from collections.abc import Callable
from pathlib import Path

import ascend_sim
import ascend_sim.tilelang  # noqa: F401  before tilelang compiles its first kernel


class SizeError(ValueError):
    """A size that a kernel is not written for."""


def expect(kernel: str, **sizes: tuple[int, range]) -> None:
    """Raises SizeError unless each size is in its range, which names the multiples that the kernel takes."""
    faults = [f"{name} is {size!r}; expected {accepted.start} to {accepted[-1]}" + (f", a multiple of {accepted.step}" if accepted.step > 1 else "")
              for name, (size, accepted) in sizes.items() if type(size) is not int or size not in accepted]
    if faults:
        raise SizeError(f"{kernel}: {'; '.join(faults)}")


def multiples(step: int = 1, most: int = 2**20) -> range:
    return range(step, most + 1, step)


def main(description: str, check: Callable, **sizes: int) -> None:
    """The command line: --name N for each size, and --trace FILE for a timeline. A size that the kernel does not take is a usage error."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0], allow_abbrev=False)
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--trace", metavar="FILE", help="write the timeline there, for https://ui.perfetto.dev")
    chosen = vars(parser.parse_args())
    if chosen["trace"] and not Path(chosen["trace"]).absolute().parent.is_dir():
        parser.error(f"--trace is {chosen['trace']}, in a folder that does not exist")
    try:
        check(**chosen)
    except SizeError as error:
        parser.error(str(error))


def report(name: str, run, want, tolerance: float, trace: str | None = None, flops: float = 0.0, moved_bytes: float = 0.0):
    """Runs `run`, a launch that returns its output; fails if it is further than `tolerance` (relative to the largest value) from `want`."""
    with ascend_sim.profile(timeline=trace is not None) as profile:
        got = run()
    error = ((got.cpu().double() - want.cpu().double()).abs().max() / want.double().abs().max()).item()
    (record,) = [record for record in profile.records if not record.is_estimate]
    line = f"{name}: largest error {error:.1e} of the largest value, allowed {tolerance:.0e}"
    if record.simulated_us is not None:
        line += f"; simulated {record.simulated_us:.1f} us"
        if flops:
            line += f", {flops / record.simulated_us / 1e6:.1f} TFLOP/s"
        if moved_bytes:
            line += f", {moved_bytes / record.simulated_us / 1e3:.0f} GB/s"
        line += f", busiest pipe {record.limit} {record.busy[record.limit]:.0%}"
    print(line)
    if not error <= tolerance:
        raise SystemExit(f"{name}: error {error} exceeds {tolerance}")
    if trace:
        profile.export_chrome_trace(trace)
        print(f"timeline: {trace}")
    return record
