# SPDX-License-Identifier: MIT
"""Where did the simulated time go? A record per kernel launch and estimated operator, a table, a timeline for Perfetto."""

import json
import os
import warnings
from dataclasses import dataclass

from ascend_sim import arguments

PIPES = ("S", "M", "V", "MTE1", "MTE2", "MTE3", "FIX")


@dataclass(frozen=True)
class PipeUse:
    """One pipe, over all cores of its kind that took part."""
    busy_cycles: float      # its path was occupied
    wait_cycles: float      # it stood at a flag, lock, barrier or unit flag
    instructions: int       # without synchronisation
    busy: float             # busy_cycles / (cores * cycles of the launch)
    wait: float


@dataclass(frozen=True)
class LaunchRecord:
    """One launch. Times named simulated are those of the emulated chip; host_us is what the emulator took."""
    name: str
    detail: str                     # e.g. the tile a GEMM chose
    chip: str
    device: int
    stream: int
    blocks: int
    cube_cores: int                 # that took part
    vector_cores: int
    is_estimate: bool               # an operator charged by formula, not a kernel that was replayed
    start_us: float | None          # on the device's simulated clock; None in functional mode, as all simulated times
    simulated_us: float | None
    launch_us: float | None         # of it, before the first core starts
    host_us: float
    cycles: float | None            # simulated_us in core cycles
    aic: dict[str, PipeUse]         # by pipe: S, M, MTE1, MTE2, FIX
    aiv: dict[str, PipeUse]         # by pipe: S, V, MTE2, MTE3
    gm_read_bytes: int              # sums of the launch's DMA instructions
    gm_written_bytes: int
    l2_bytes: int                   # what crossed between cores and L2, in whole 128-byte transactions
    hbm_read_bytes: int
    hbm_written_bytes: int
    macs: float                     # multiply-accumulates, padded to whole fractals
    flops: float                    # of an estimate
    instructions: int               # records in the trace

    @property
    def hbm_bytes(self) -> int:
        return self.hbm_read_bytes + self.hbm_written_bytes

    @property
    def busy(self) -> dict[str, float]:
        """Busy ratio of each pipe that did anything, "aic.M" and so on."""
        return {f"{kind}.{pipe}": use.busy for kind, uses in (("aic", self.aic), ("aiv", self.aiv))
                for pipe, use in uses.items() if use.instructions or use.busy_cycles}

    @property
    def limit(self) -> str | None:
        """The busiest pipe, e.g. "aic.M"; None if nothing was replayed."""
        busy = {name: ratio for name, ratio in self.busy.items() if not name.endswith(".S")}
        return max(busy, key=busy.get) if busy else None

    @property
    def tflops(self) -> float | None:
        work = 2 * self.macs or self.flops
        return work / self.simulated_us / 1e6 if work and self.simulated_us else None


class profile:
    """Collects every launch of the process while the `with` block runs; blocks may nest.

        with ascend_sim.profile() as p:
            deep_gemm.bf16_gemm_nt(a, b, d)
        print(p)                                    one line per launch
        p.records[0].simulated_us, p.records[0].busy["aic.M"]
        p.export_chrome_trace("trace.json")         for https://ui.perfetto.dev

    timeline: keep begin and end of every instruction for the export, up to two million a profile; launches beyond that have
    sums only. False saves that memory, and the export then shows whole launches.
    """

    _handle: int | None = None          # of the class, too: __del__ comes after an __init__ that failed

    def __init__(self, timeline: bool = True):
        self._timeline = arguments.flag("ascend_sim.profile", "timeline", timeline)
        self._is_open = False
        self._records: list[LaunchRecord] | None = None

    def __enter__(self) -> "profile":
        from ascend_sim import _C
        if self._handle is not None:
            raise RuntimeError("ascend_sim.profile: this object has been used already; make a new one for each `with`.")
        self._handle = _C.profile_begin(self._timeline)
        self._is_open = True
        return self

    def __exit__(self, *exception) -> None:
        from ascend_sim import _C
        if not self._is_open:
            raise RuntimeError("ascend_sim.profile: left without having been entered.")
        _C.profile_end(self._handle)
        self._is_open = False
        self._records = None

    def __del__(self):
        if self._handle is None:
            return
        try:
            from ascend_sim import _C
            _C.profile_forget(self._handle)
        except (ImportError, TypeError, AttributeError):
            pass                            # the interpreter is going away

    @property
    def records(self) -> list[LaunchRecord]:
        """In launch order; inside the `with` block, those so far."""
        if self._records is not None:
            return self._records
        records = [record_of(fields) for fields in self._fields()]
        if not self._is_open:
            self._records = records
        return records

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Writes Trace Event JSON: a process per core, a thread per pipe, an event per instruction; simulated time.

        Raises: RuntimeError if the file cannot be written. Warns if launches have no timeline because of its size.
        """
        from ascend_sim import _C
        arguments.instance("ascend_sim.profile.export_chrome_trace", "path", path, (str, os.PathLike), "the path of a file")
        fields = self._fields()
        without = [entry["name"] for entry in fields if not (entry["has_timeline"] or entry["is_estimate"])]
        if self._timeline and without:
            warnings.warn(f"{len(without)} of {len(fields)} launches have no timeline (functional mode, or more than two "
                          f"million instructions in this profile); the first is {without[0]}.", stacklevel=2)
        try:
            _C.profile_write_chrome_trace(self._handle, os.fspath(path))
        except RuntimeError:
            raise RuntimeError(f"ascend_sim.profile.export_chrome_trace: path is {os.fspath(path)!r}, which cannot be written to: expected a file in a "
                               "folder that exists, on a disk with room.") from None

    def table(self) -> str:
        return table(self.records)

    __str__ = table

    def _fields(self) -> list[dict]:
        from ascend_sim import _C
        if self._handle is None:
            raise RuntimeError("ascend_sim.profile: nothing was profiled yet; use it in a `with` statement.")
        return json.loads(_C.profile_json(self._handle))


def table(records: list[LaunchRecord]) -> str:
    """One line per launch, totals below: simulated time, limiting pipe, busy ratios, bytes, rate; host time last."""
    for record in arguments.instance("ascend_sim.profiler.table", "records", records, (list, tuple), "a list of records, as of a profile"):
        arguments.instance("ascend_sim.profiler.table", "records", record, LaunchRecord, "records of a profile")
    header = ("name", "simulated us", "limit", "M", "MTE1", "MTE2", "FIX", "V", "MTE3", "GM MB", "HBM MB", "TFLOPS", "host ms")
    rows = [header]
    for record in records:
        def ratio(kind: str, pipe: str, record=record) -> str:
            use = getattr(record, kind).get(pipe)
            return f"{use.busy:.1%}" if use and use.instructions else "-"
        moved = record.gm_read_bytes + record.gm_written_bytes
        rows.append((
            record.name + (" (estimated)" if record.is_estimate else ""),
            "-" if record.simulated_us is None else f"{record.simulated_us:.2f}",
            record.limit or "-",
            ratio("aic", "M"), ratio("aic", "MTE1"), ratio("aic", "MTE2"), ratio("aic", "FIX"),
            ratio("aiv", "V"), ratio("aiv", "MTE3"),
            f"{moved / 1e6:.2f}", f"{record.hbm_bytes / 1e6:.2f}",
            "-" if record.tflops is None else f"{record.tflops:.1f}",
            f"{record.host_us / 1e3:.2f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) if column in (0, 2) else cell.rjust(width)
                       for column, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
    timed = [record for record in records if record.simulated_us is not None]
    lines.append(f"{len(records)} launches, {sum(record.simulated_us for record in timed):.2f} us simulated, "
                 f"{sum(record.host_us for record in records) / 1e3:.2f} ms host")
    return "\n".join(lines)


def record_of(fields: dict) -> LaunchRecord:
    """A launch as csrc/chip/profile_text.h writes it: what is not there is 0."""
    get, is_timed = fields.get, fields["is_timed"]
    total_cycles = get("total_cycles", 0)

    def uses(kind: str, cores: int) -> dict[str, PipeUse]:
        available = cores * total_cycles
        return {pipe: PipeUse(use["busy_cycles"], use["wait_cycles"], use["instructions"],
                              use["busy_cycles"] / available if available else 0.0,
                              use["wait_cycles"] / available if available else 0.0) for pipe, use in fields[kind].items()} if kind in fields else {}

    cube_cores, vector_cores = get("aics", 0), get("aivs", 0)
    return LaunchRecord(
        name=fields["name"], detail=get("detail", ""), chip=fields["chip"], device=get("device", 0), stream=get("stream", 0),
        blocks=get("blocks", 0), cube_cores=cube_cores, vector_cores=vector_cores, is_estimate=fields["is_estimate"],
        start_us=get("start_us", 0) if is_timed else None, simulated_us=get("simulated_us", 0) if is_timed else None,
        launch_us=get("launch_us", 0) if is_timed else None,
        host_us=get("host_us", 0), cycles=total_cycles if is_timed else None,
        aic=uses("aic", cube_cores), aiv=uses("aiv", vector_cores),
        gm_read_bytes=get("gm_read_bytes", 0), gm_written_bytes=get("gm_written_bytes", 0), l2_bytes=get("l2_bytes", 0),
        hbm_read_bytes=get("hbm_read_bytes", 0), hbm_written_bytes=get("hbm_written_bytes", 0),
        macs=get("macs", 0), flops=get("flops", 0), instructions=get("records", 0))
