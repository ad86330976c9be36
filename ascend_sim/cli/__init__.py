# SPDX-License-Identifier: MIT
"""The command `ascend-sim`, also `python -m ascend_sim`: one module a subcommand.

Each has HELP, one line; add_arguments(parser); and main(arguments), which returns the exit status. docs/command_line.md shows them all.
Exit status: that of a script that is run; else 0, 1 if doctor finds a fault or a command fails, 2 for arguments that are refused.
"""

import argparse
import contextlib
import importlib
import os
import sys

import ascend_sim
from ascend_sim.cli.text import Refused

COMMANDS = ("info", "doctor", "bench", "trace", "run", "cache")


def main(argv: list[str] | None = None) -> int:
    """Runs a command line, by default the process's own, and returns its exit status."""
    parser, commands, modules = _parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        commands.get(arguments.command, parser).error(f"unknown arguments: {' '.join(unknown)}")
    try:
        if arguments.command is None:
            parser.print_help()
            return 0
        status = modules[arguments.command].main(arguments)
        sys.stdout.flush()                  # here, where a closed pipe is noticed
        return status
    except Refused as error:
        print(f"ascend-sim {arguments.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _drop_output()
        return 128 + 13                     # a reader that goes away, as in `| head`, is no error: as a program that the signal SIGPIPE ended
    except OSError as error:                # output to a disk that is full, mostly
        _drop_output()
        print(f"ascend-sim {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser():
    parser = argparse.ArgumentParser("ascend-sim", description="An emulated Ascend 950 as a PyTorch device.", allow_abbrev=False,
                                     epilog="ascend-sim COMMAND --help says what a command takes. Environment variables: ascend-sim info.")
    parser.add_argument("--version", action="version", version=f"ascend-sim {ascend_sim.__version__}")
    added = parser.add_subparsers(dest="command", metavar="COMMAND")
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in COMMANDS}
    for name, module in modules.items():
        module.add_arguments(added.add_parser(name, help=module.HELP, description=module.__doc__.partition("\n\n")[2] or module.HELP,
                                                 formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False))
    return parser, added.choices, modules


def _drop_output() -> None:
    """What is still buffered for stdout must not be tried again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
