# SPDX-License-Identifier: MIT
"""From what processes left in the folder ASCEND_SIM_TRACE to a table, a CSV file and a timeline. Reads line by line: memory does not grow with the launches.

<pid>.launches has a line of JSON per launch, <pid>.events a timeline event per line (csrc/chip/launch_log.h). A process that was
killed leaves all its lines; the last one may be cut.
"""

import csv
import json
import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ascend_sim import profiler

_PIPES = tuple(("aic", pipe) for pipe in ("M", "MTE1", "MTE2", "FIX")) + tuple(("aiv", pipe) for pipe in ("V", "MTE2", "MTE3"))
_PLAIN = ("name", "detail", "chip", "device", "stream", "is_estimate", "start_us", "simulated_us", "launch_us", "host_us", "cycles", "blocks", "cube_cores",
          "vector_cores", "limit", "gm_read_bytes", "gm_written_bytes", "l2_bytes", "hbm_read_bytes", "hbm_written_bytes", "macs", "flops", "tflops", "instructions")
COLUMNS = ("process", *_PLAIN, *(f"busy_{kind}_{pipe}" for kind, pipe in _PIPES))
_plain = operator.attrgetter(*_PLAIN)
_NO_PIPES = ("",) * len(_PIPES)             # of an estimate
_PROCESS_STEP = 10_000_000                  # of process numbers in a timeline; each device takes 1000, there are at most 1024
_PROCESS = re.compile(r'"pid":(\d+)')


@dataclass
class Total:
    """All launches of one name."""

    is_estimate: bool
    calls: int = 0
    timed: int = 0
    simulated_us: float = 0.0
    shortest_us: float = float("inf")
    longest_us: float = 0.0
    host_us: float = 0.0
    moved_bytes: int = 0
    hbm_bytes: int = 0
    work: float = 0.0                       # FLOP
    limit_us: dict[str, float] = field(default_factory=dict)
    busy_us: dict[str, float] = field(default_factory=dict)

    def add(self, record: profiler.LaunchRecord) -> None:
        self.calls += 1
        self.host_us += record.host_us
        self.moved_bytes += record.gm_read_bytes + record.gm_written_bytes
        self.hbm_bytes += record.hbm_bytes
        self.work += 2 * record.macs or record.flops
        us = record.simulated_us
        if us is None:
            return
        self.timed += 1
        self.simulated_us += us
        self.shortest_us, self.longest_us = min(self.shortest_us, us), max(self.longest_us, us)
        if not (record.aic or record.aiv):
            return
        for pipe, ratio in record.busy.items():
            self.busy_us[pipe] = self.busy_us.get(pipe, 0.0) + ratio * us
        if record.limit:
            self.limit_us[record.limit] = self.limit_us.get(record.limit, 0.0) + us


@dataclass
class Summary:
    """processes: those that launched something    cut: lines that are not whole"""

    totals: dict[str, Total]
    processes: int
    launches: int
    cut: int

    def table(self, most: int | None = None) -> str:
        """A line per name, the longest simulated time first; `most` of them."""
        return _table(self, most)


def write(folder: Path, csv_path: Path, timeline_path: Path) -> Summary:
    """Turns the folder's files into a CSV file (a row per launch) and a timeline for Perfetto. OSError if they cannot be written."""
    files = sorted(folder.glob("*.launches"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    summary = Summary({}, 0, 0, 0)
    with open(csv_path, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(COLUMNS)
        for path in files:
            summary.processes += 1
            for record in _records(path, summary):
                summary.launches += 1
                label = record.name + (" (estimated)" if record.is_estimate else "")
                summary.totals.setdefault(label, Total(record.is_estimate)).add(record)
                busy = [_busy(record, *pipe) for pipe in _PIPES] if record.aic or record.aiv else _NO_PIPES
                rows.writerow((path.stem, *_plain(record), *busy))
    _write_timeline([path.with_suffix(".events") for path in files], timeline_path)
    return summary


def _records(path: Path, summary: Summary) -> Iterator[profiler.LaunchRecord]:
    for line in _lines(path):
        try:
            yield profiler.record_of(json.loads(line))
        except ValueError:
            summary.cut += 1


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from file


def _busy(record: profiler.LaunchRecord, kind: str, pipe: str) -> str:
    use = getattr(record, kind).get(pipe)
    return f"{use.busy:.4f}" if use and record.simulated_us else ""


def _write_timeline(files: Iterable[Path], to: Path) -> None:
    files = list(files)
    with open(to, "w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit":"ns","traceEvents":[')
        separator = "\n"
        for index, path in enumerate(files):
            for line in _lines(path):
                if not line.endswith("}\n"):
                    continue                                # cut
                if index:
                    line = _PROCESS.sub(lambda match, index=index: f'"pid":{int(match[1]) + index * _PROCESS_STEP}', line, count=1)
                if len(files) > 1 and '"process_name"' in line:
                    line = line.replace('{"name":"', f'{{"name":"process {path.stem} ', 1)
                out.write(separator + line[:-1])
                separator = ",\n"
        out.write("\n]}\n")


def _table(summary: Summary, most: int | None) -> str:
    entries = sorted(summary.totals.items(), key=lambda entry: (-entry[1].simulated_us, -entry[1].host_us, entry[0]))
    whole_us = sum(total.simulated_us for total in summary.totals.values())
    rows = [("name", "calls", "simulated us", "share", "mean us", "shortest", "longest", "limit", "busy", "GM MB", "HBM MB", "TFLOPS", "host ms")]
    for name, total in entries[:most]:
        timed = total.simulated_us > 0
        limit = max(total.limit_us, key=total.limit_us.get) if total.limit_us else None
        rows.append((
            name, str(total.calls), f"{total.simulated_us:.2f}" if total.timed else "-", f"{total.simulated_us / whole_us:.1%}" if timed else "-",
            *((f"{total.simulated_us / total.timed:.2f}", f"{total.shortest_us:.2f}", f"{total.longest_us:.2f}") if total.timed else ("-", "-", "-")),
            limit or "-", f"{total.busy_us[limit] / total.simulated_us:.0%}" if limit and timed else "-",
            f"{total.moved_bytes / 1e6:.2f}", f"{total.hbm_bytes / 1e6:.2f}",
            f"{total.work / total.simulated_us / 1e6:.1f}" if timed and total.work else "-", f"{total.host_us / 1e3:.2f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) if column in (0, 7) else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
             for row in rows]
    if most is not None and len(entries) > most:
        lines.append(f".. and {len(entries) - most} more names")
    processes = f" in {summary.processes} processes" if summary.processes > 1 else ""
    lines.append(f"{summary.launches} launches{processes}, {whole_us:.2f} us simulated, {sum(total.host_us for total in summary.totals.values()) / 1e3:.2f} ms host")
    return "\n".join(lines)
