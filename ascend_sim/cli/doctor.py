# SPDX-License-Identifier: MIT
"""Finds the usual faults of an installation, and says the mend for each.

Looks at environment variables, PyTorch, our libraries, packages and stray files of the same names, CPU, memory, limits, caches, the
compiler and TileLang; then runs a GEMM. Exit status 1 if there is a fault. What can only be found out by importing is asked in a
process of its own, so it works where `import torch` fails.
"""

import argparse
import json
import sys
from dataclasses import asdict

import ascend_sim
from ascend_sim.cli import checks
from ascend_sim.cli.text import paragraph

HELP = "find the usual faults of an installation, and say the mend for each"
_LABELS = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    parser.add_argument("--quick", action="store_true", help="without the GEMM")


def main(arguments: argparse.Namespace) -> int:
    context = checks.Context(runs_kernels=not arguments.quick)
    if not arguments.json:
        print(f"ascend-sim {ascend_sim.__version__}, Python {sys.version.split()[0]} in {sys.prefix}\n", flush=True)
    findings = []
    with _Waiting() as waiting:
        for finding in checks.run(context, waiting.show):
            findings.append(finding)
            if not arguments.json:
                waiting.clear()
                print(as_text(finding), flush=True)
    faults = sum(finding.state == "fault" for finding in findings)
    if arguments.json:
        print(json.dumps({"faults": faults, "findings": [asdict(finding) for finding in findings]}, indent=1))
    else:
        print(f"\n{'no' if not faults else faults} fault{'' if faults == 1 else 's'}")
    return 1 if faults else 0


def as_text(finding: checks.Finding) -> str:
    head = f"{_LABELS[finding.state]}  {finding.check:14} "
    lines = [paragraph(head, finding.what)]
    indent = " " * len(head)
    lines += [paragraph(f"{indent}{label} ", text) for label, text in (("why: ", finding.why), ("mend:", finding.mend)) if text]
    return "\n".join(lines)


class _Waiting:
    """What is being looked at, on stderr, if a person watches it."""

    def __init__(self):
        self._is_shown = sys.stderr.isatty()

    def __enter__(self) -> "_Waiting":
        return self

    def show(self, check: str) -> None:
        self._put(f"\r\033[K.. {check.replace('_', ' ')}")

    def clear(self) -> None:
        self._put("\r\033[K")

    def _put(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(text)
            sys.stderr.flush()

    def __exit__(self, *exception) -> None:
        self.clear()
