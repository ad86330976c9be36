# SPDX-License-Identifier: MIT
"""What the dense GEMM benchmarks share: which published rows there are, how they are grouped, how one is measured, and the command line."""

import argparse
import time
from collections.abc import Callable

import torch

import ascend_sim
from ascend_sim.bench import report
from ascend_sim.bench.report import Measured, Row, published

PEAK = (4096, 7168, 16384)
# Fitted constants, and to which rows: docs/timing.md, "Calibration".
CALIBRATED: set[tuple] = {("fp8", 128, 2112, 7168), ("fp8", 128, 24576, 1536), ("fp8", 128, 7168, 16384), ("fp8", 128, 7168, 2048),
                          ("fp8", 4096, 576, 7168)}


def rows(a: str, b: str, run: Callable[[int, int, int], Measured] | None) -> list[Row]:
    """The published dense rows of an operand pair; `run` measures one shape."""
    found = []
    for entry in published("deep_gemm", "dense", a=a, b=b):
        m, n, k = (entry["params"][axis] for axis in "mnk")
        name = a if a == b else f"{a}x{b}"
        found.append(Row(
            label=f"{name} {m}x{n}x{k}", group=group_of(m, n, k), run=(lambda shape=(m, n, k): run(*shape)) if run else None,
            published_us=entry["us"], source=entry["source"], is_calibrated=(name, m, n, k) in CALIBRATED))
    return found


def main(name: str, published_rows: list[Row], own_row: Callable[..., Row], formats: tuple[str, ...] = ()) -> None:
    """`python -m ascend_sim.bench.<name>`: all published rows, or m n k and, where the benchmark has several, the formats of a and b. In timing mode."""
    tail = f" [{'|'.join(formats)} {'|'.join(formats)}]" if formats else ""
    parser = argparse.ArgumentParser(f"python -m ascend_sim.bench.{name}", usage=f"python -m ascend_sim.bench.{name} [m n k{tail}]", allow_abbrev=False,
                                     description="All published shapes, or one of your own; simulated time, values are not computed.")
    parser.add_argument("given", nargs="*", metavar="m n k", help="sizes in elements")
    given = parser.parse_args().given
    accepted = f"none, m n k{', or m n k and the formats of a and b' if formats else ''}"
    if len(given) not in (0, 3, *([5] if formats else [])):
        parser.error(f"{len(given)} arguments ({' '.join(given)}); expected {accepted}")
    sizes = []
    for axis, text in zip("mnk", given):
        if not (text.isascii() and text.isdigit() and len(text) < 11 and 1 <= int(text) < 2**31):
            parser.error(f"{axis} is {text!r}; expected a whole number from 1 to {2**31 - 1}")
        sizes.append(int(text))
    for operand, text in zip("ab", given[3:]):
        if text not in formats:
            parser.error(f"the format of {operand} is {text!r}; expected {' or '.join(formats)}")
    ascend_sim.mode("timing")
    try:
        print(report.table(report.run([own_row(*sizes, *given[3:])] if given else published_rows)))
    except (ValueError, torch.OutOfMemoryError) as error:
        parser.error(str(error).partition("\n")[0])


def group_of(m: int, n: int, k: int) -> str:
    if (m, n, k) == PEAK:
        return "peak"
    return "M=128 or N=576" if m == 128 or n == 576 else "others"


def measure(function: Callable[[], None], kernel: str) -> Measured:
    """The simulated time of the one kernel whose name contains `kernel`, L2 cold; the host time of the whole call."""
    from ascend_sim import _C
    _C.flush_l2(torch.npu.current_device())
    with ascend_sim.profile(timeline=False) as profile:
        begin = time.perf_counter()
        function()
        host_s = time.perf_counter() - begin
    matches = [record for record in profile.records if kernel in record.name]
    if len(matches) != 1:
        launched = ", ".join(record.name for record in profile.records)
        raise RuntimeError(f"{kernel!r} is in the name of {len(matches)} launches ({launched}); expected one")
    record = matches[0]
    return Measured(record.simulated_us, host_s, record.limit, record.busy[record.limit], record.name)
