# SPDX-License-Identifier: MIT
"""What can be wrong with an installation? Each check is a function that yields findings; `ascend-sim doctor` runs them all.

A module lists its functions in CHECKS. A check takes a Context, which starts a process for what only importing can tell, once for all checks.
"""

import functools
import importlib
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_sim.cli import probes

MODULES = ("settings", "install", "neighbours", "machine", "compilers", "self_test")


@dataclass(frozen=True)
class Finding:
    """state: "ok", "note" (nothing is broken) or "fault"    what: the observation    why: what comes of it    mend: what to do"""

    check: str
    state: str
    what: str
    why: str = ""
    mend: str = ""


def ok(check: str, what: str) -> Finding:
    return Finding(check, "ok", what)


def note(check: str, what: str, why: str, mend: str) -> Finding:
    return Finding(check, "note", what, why, mend)


def fault(check: str, what: str, why: str, mend: str) -> Finding:
    return Finding(check, "fault", what, why, mend)


class Context:
    """What the checks share. runs_kernels: may the self test run?"""

    def __init__(self, runs_kernels: bool = True):
        self.runs_kernels = runs_kernels
        self._outcome = functools.cache(probes.run)

    def ask(self, question: str) -> probes.Outcome:
        """Of ascend_sim.cli.probes; asked once."""
        return self._outcome(question)


def run(context: Context, progress=lambda check: None) -> Iterator[Finding]:
    """The findings of all checks, in order. A check that fails itself is a finding, too."""
    for name in MODULES:
        for check in importlib.import_module(f"{__name__}.{name}").CHECKS:
            progress(check.__name__)
            try:
                yield from check(context)
            except Exception as error:
                yield fault(check.__name__, f"this check could not be made: {type(error).__name__}: {error}",
                            "What it looks at is unknown.", "Report this as a fault of ascend-sim, with the output of `ascend-sim info`.")
