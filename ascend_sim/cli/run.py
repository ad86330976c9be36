# SPDX-License-Identifier: MIT
"""Runs a script as `python SCRIPT` does, on the emulated chip.

Stand-ins for torch_npu, CUDA, the driver's device file and the toolkit (--shims) are loaded when the script imports torch, in child
processes, too. The script is the process: same arguments, exit status, tracebacks, signals and standard streams as without ascend-sim.
Options of ascend-sim stand before SCRIPT, what follows belongs to the script.
"""

import argparse
import os
import sys

from ascend_sim import config
from ascend_sim.cli import launching

HELP = "run a script with stand-ins for CUDA, torch_npu and the toolkit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "ascend-sim run [options] (SCRIPT | -m MODULE | -c CODE) [its arguments]"
    launching.add_arguments(parser, "ASCEND_SIM_SHIMS if it is set, else all")


def main(arguments: argparse.Namespace) -> int:
    """Does not return: the interpreter for the script takes this process's place, so that nothing of ours is between the script and its caller."""
    command = launching.command(arguments)
    environment = launching.environment(arguments, "all")
    reason = launching.why_import_torch_brings_no_npu(environment)
    if reason and config.value("ASCEND_SIM_SHIMS", environment):
        print(f"ascend-sim run: {reason}: shims are loaded only once the script imports ascend_sim.npu.", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, environment)
