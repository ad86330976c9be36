# SPDX-License-Identifier: MIT
"""Runs a script and writes where the simulated time went: a table, a CSV file and a timeline.

The script runs as `python SCRIPT` does; its exit status is the command's. Every process that uses npu is traced, child processes, too.
A record is written as each launch ends, so results are there when the script raises, calls sys.exit or is killed, and memory does not
grow with the length of the run. Options of ascend-sim stand before SCRIPT, what follows belongs to the script.
"""

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from ascend_sim.cli import launching
from ascend_sim.cli.text import Refused
from ascend_sim.profiler import log

HELP = "run a script and write a table, a CSV file and a timeline of its launches"
SHOWN = 20                              # names in the table that is printed; summary.txt has all
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "ascend-sim trace [options] (SCRIPT | -m MODULE | -c CODE) [its arguments]"
    parser.add_argument("--out", metavar="DIR", help="where summary.txt, launches.csv and timeline.json go; those of an earlier trace are replaced (default: <script>.trace)")
    parser.add_argument("--timeline", action="store_true", help="the timeline has every instruction, of up to two million; else whole launches, of up to one million")
    launching.add_arguments(parser, "ASCEND_SIM_SHIMS if it is set, else none")


def main(arguments: argparse.Namespace) -> int:
    command = launching.command(arguments)
    environment = launching.environment(arguments, None)
    folder = _folder(arguments.out or f"{_name(command)}.trace")
    records = Path(tempfile.mkdtemp(prefix=".records-", dir=folder))
    try:
        sys.stdout.flush()
        status = _wait_for(command, environment | {"ASCEND_SIM_TRACE": str(records), "ASCEND_SIM_TRACE_TIMELINE": "1" if arguments.timeline else "0"})
        _report(records, folder, status, launching.why_import_torch_brings_no_npu(environment))
    finally:
        shutil.rmtree(records, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()                                  # if nothing was launched, and nothing else is in it
    return status if status >= 0 else 128 - status          # as a shell tells that a signal ended it


def _name(command: list[str]) -> str:
    special = {"-m": command[2:3], "-c": ["code"], "-": ["stdin"]}
    return next(iter(special.get(command[1], [Path(command[1]).stem or "script"])))


def _folder(text: str) -> Path:
    folder = Path(text).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = "it is not a folder" if folder.exists() and not folder.is_dir() else error.strerror
        raise Refused(f"{folder} cannot be written: {reason}. Choose another folder with --out.") from None
    return folder


def _wait_for(command: list[str], environment: dict[str, str]) -> int:
    """The script's status; negative if a signal ended it. Ctrl-C reaches the script from the terminal; we stay, to write what there is."""
    child = None

    def forward(number: int, frame) -> None:
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)
    # A handler, not SIG_IGN: the script would inherit that.
    before = {number: signal.signal(number, forward) for number in _FORWARDED} | {signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None)}
    try:
        child = subprocess.Popen(command, env=environment)
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(records: Path, folder: Path, status: int, reason: str | None) -> None:
    """On stderr: stdout is the script's."""
    paths = {name: folder / name for name in ("summary.txt", "launches.csv", "timeline.json")}
    try:
        summary = log.write(records, paths["launches.csv"], paths["timeline.json"])
        paths["summary.txt"].write_text(summary.table() + "\n", encoding="utf-8")
    except OSError as error:
        _say([f"ascend-sim trace: {folder} cannot be written: {error.strerror}"])
        return
    if not summary.launches:
        for path in paths.values():
            path.unlink(missing_ok=True)
        _say(["ascend-sim trace: the script launched nothing on npu, so there is nothing to write." + (f" ({reason}: `import torch` alone does not load ascend-sim.)" if reason else "")])
        return
    lines = ["", summary.table(SHOWN)]
    if status:
        lines.append(f"the script ended {f'with status {status}' if status > 0 else f'by the signal {signal.Signals(-status).name}'}; what it launched until then is here")
    if summary.cut:
        lines.append(f"{summary.cut} records are cut: the process was killed, or the disk is full")
    elif shutil.disk_usage(folder).free < 1 << 20:
        lines.append(f"the disk of {folder} is full: later launches may be missing")
    _say(lines + [str(path) for path in paths.values()] + ["open timeline.json at https://ui.perfetto.dev"])


def _say(lines: list[str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        print("\n".join(lines), file=sys.stderr, flush=True)
