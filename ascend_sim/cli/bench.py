# SPDX-License-Identifier: MIT
"""Runs the bundled benchmarks: simulated beside published time, L2 cold.

NAME is a benchmark or a package, as --list shows them; all of them if there is none. Timing mode: values are not computed, which
takes seconds; --full computes them, which takes minutes, and the simulated times are the same.
"""

import argparse
import json

from ascend_sim import bench, config, modes
from ascend_sim.bench import report
from ascend_sim.cli.text import Refused, columns

HELP = "run the bundled benchmarks: simulated beside published time"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument("--full", action="store_true", help="compute the values, too")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")


def main(arguments: argparse.Namespace) -> int:
    try:
        chosen = bench.select(arguments.names)
    except ValueError as error:
        raise Refused(str(error)) from None
    problems = config.problems()
    if problems:
        raise Refused("\n  ".join(problems))
    if arguments.list:
        _list(chosen, arguments.json)
        return 0
    rows = bench.rows(chosen)
    with modes.mode("full" if arguments.full else "timing"):
        results = report.run(rows)
    print(report.as_json(results) if arguments.json else report.table(results))
    return 0


def _list(chosen: list[str], as_json: bool) -> None:
    entries = [{"name": name, "rows": len(module.ROWS), "description": module.__doc__.partition("\n")[0]}
               for name in chosen for module in [bench.module(name)]]
    if as_json:
        print(json.dumps(entries, indent=1))
        return
    print(columns([(entry["name"], f"{entry['rows']} rows", entry["description"]) for entry in entries], indent=""))
    covered = sum(row.published_us is not None for name in bench.names() for row in bench.module(name).ROWS)
    print(f"\n{covered} of {len(report.all_published())} published figures have a benchmark; the others wait for their kernels.")
