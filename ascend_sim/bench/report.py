# SPDX-License-Identifier: MIT
"""How a benchmark shows its rows: simulated, published, error, what limits the kernel; host seconds apart; groups with their median.

Simulated time and host time never share a column. A row without a published figure has none invented for it.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

PUBLISHED = Path(__file__).parent / "published_performance.json"


@dataclass
class Row:
    """One published measurement, or a shape of one's own, and what to call to repeat it."""

    label: str                          # "bf16 4096x7168x16384"
    group: str
    run: Callable[[], "Measured"] | None    # None: not supported yet
    published_us: float | None = None
    source: str = ""
    is_calibrated: bool = False         # a constant of the chip was fitted to it


@dataclass
class Measured:
    simulated_us: float
    host_s: float
    limit: str                          # the busiest pipe
    limit_busy: float                   # 0..1
    kernel: str = ""


@dataclass
class Result:
    row: Row
    measured: Measured | None

    @property
    def error(self) -> float | None:
        if self.measured is None or self.row.published_us is None:
            return None
        return self.measured.simulated_us / self.row.published_us - 1


def all_published() -> list[dict]:
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))


def published(component: str, op: str, **params) -> list[dict]:
    """The published rows of an operation whose parameters have these values."""
    return [entry for entry in all_published()
            if entry["component"] == component and entry["op"] == op and all(entry["params"].get(key) == value for key, value in params.items())]


def run(rows: Iterable[Row]) -> list[Result]:
    rows = list(rows)
    results = []
    with Progress(len(rows)) as progress:
        for row in rows:
            progress.show(row.label)
            results.append(Result(row, row.run() if row.run else None))
    return results


class Progress:
    """A bar on stderr if a person watches it, else nothing."""

    def __init__(self, total: int):
        self._total, self._done, self._is_shown = total, 0, sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        return self

    def show(self, label: str) -> None:
        """The step that begins now."""
        if self._is_shown:
            filled = 24 * self._done // max(self._total, 1)
            sys.stderr.write(f"\r\033[K[{'#' * filled}{'.' * (24 - filled)}] {self._done}/{self._total}  {label}")
            sys.stderr.flush()
        self._done += 1

    def __exit__(self, *exception) -> None:
        if self._is_shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def table(results: list[Result]) -> str:
    """Text: a section a group, a line a row, the median error below."""
    width = max((len(result.row.label) for result in results), default=0)
    lines = []
    for group in dict.fromkeys(result.row.group for result in results):
        members = [result for result in results if result.row.group == group]
        lines += ["", group]
        lines += [line(result, width) for result in members]
        errors = [abs(result.error) for result in members if result.error is not None]
        if len(errors) > 1:
            lines.append(f"  {'':{width}}   median |error| {statistics.median(errors):.1%}, largest {max(errors):.1%}, rows {len(errors)}")
    if any(result.row.is_calibrated for result in results):
        lines += ["", "* a constant of the chip description was fitted to this row (docs/timing.md)"]
    return "\n".join(lines[1:])


def line(result: Result, width: int) -> str:
    row, measured = result.row, result.measured
    mark = "*" if row.is_calibrated else " "
    published_us = f"{row.published_us:10.1f} us" if row.published_us is not None else f"{'none':>13}"
    if measured is None:
        return f" {mark}{row.label:{width}}   simulated {'not yet':>13}   published {published_us}"
    error = "      " if result.error is None else f"{result.error:+6.1%}"
    return (f" {mark}{row.label:{width}}   simulated {measured.simulated_us:10.1f} us   published {published_us}   error {error}   "
            f"limit {measured.limit:8} {measured.limit_busy:4.0%}   host {measured.host_s:7.2f} s")


def as_json(results: list[Result]) -> str:
    entries = []
    for result in results:
        row, measured = result.row, result.measured
        entries.append({
            "label": row.label, "group": row.group, "published_us": row.published_us, "source": row.source, "is_calibrated": row.is_calibrated,
            **(asdict(measured) if measured else {"simulated_us": None}), "error": result.error,
        })
    return json.dumps(entries, indent=1)
