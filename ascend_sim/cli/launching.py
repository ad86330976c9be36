# SPDX-License-Identifier: MIT
"""What do `run` and `trace` share? The options that become environment variables, and the program to start: a script, -m module or -c code, with its arguments."""

import argparse
import importlib.metadata
import importlib.util
import sys

from ascend_sim import backends, chips, config
from ascend_sim.cli.text import Refused
from ascend_sim.compat._torch_npu import FOLDER as STAND_INS


def add_arguments(parser: argparse.ArgumentParser, shims_default: str) -> None:
    accepted = {name: variable.accepted for name, variable in config.VARIABLES.items()}
    group = parser.add_argument_group("settings for the script and its children")
    group.add_argument("--shims", metavar="LIST", help=f"ASCEND_SIM_SHIMS: {accepted['ASCEND_SIM_SHIMS']} (default: {shims_default})")
    group.add_argument("--backend", metavar="NAME", help=f"ASCEND_SIM_BACKEND: {accepted['ASCEND_SIM_BACKEND']}")
    group.add_argument("--mode", metavar="MODE", help=f"ASCEND_SIM_MODE: {accepted['ASCEND_SIM_MODE']}")
    group.add_argument("--chip", metavar="NAME", help="ASCEND_SIM_CHIP: a bin such as 950PR_9579, or the path of a chip file")
    group.add_argument("--strict", action="store_true", help="ASCEND_SIM_STRICT=1: refuse what the real Ascend library refuses")
    group.add_argument("--check", metavar="LIST", help=f"ASCEND_SIM_CHECK: {accepted['ASCEND_SIM_CHECK']}")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE ...", help="a module to run, as python -m does, and its arguments")
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE ...", help="a program as text, as python -c does, and its arguments")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="SCRIPT ...", help="a script to run, and its arguments")


def command(arguments: argparse.Namespace) -> list[str]:
    """The interpreter and what it is given.

    Raises: Refused if there is neither a script nor a module.
    """
    target = arguments.script[1:] if arguments.script[:1] == ["--"] else arguments.script
    for option, given, what in (("-m", arguments.module, "the name of a module"), ("-c", arguments.code, "a program as text")):
        if given == []:
            raise Refused(f"{option} needs {what}.")
        if given:
            return [sys.executable, option, *given]
    if not target:
        raise Refused(f"there is no script to run; give one, or -m MODULE or -c CODE, as in: ascend-sim {arguments.command} script.py --its arguments")
    script = f"./{target[0]}" if target[0].startswith("-") and target[0] != "-" else target[0]
    return [sys.executable, script, *target[1:]]


def environment(arguments: argparse.Namespace, default_shims: str | None) -> dict[str, str]:
    """The environment for the program. default_shims: if neither --shims nor ASCEND_SIM_SHIMS says anything; None leaves it so.

    Raises: Refused that names every setting that is not accepted.
    """
    shims = arguments.shims
    if shims is None and not config.foreign("ASCEND_SIM_SHIMS").strip():
        shims = default_shims
    chosen = {"ASCEND_SIM_SHIMS": shims, "ASCEND_SIM_BACKEND": arguments.backend, "ASCEND_SIM_MODE": arguments.mode, "ASCEND_SIM_CHIP": arguments.chip,
              "ASCEND_SIM_STRICT": "1" if arguments.strict else None, "ASCEND_SIM_CHECK": arguments.check}
    result = config.environment_of_children({name: text for name, text in chosen.items() if text is not None})
    problems = config.problems(environment=result)
    if not problems:
        try:
            chips.load(config.value("ASCEND_SIM_CHIP", result))
        except ValueError as error:
            problems.append(str(error))
        name = config.value("ASCEND_SIM_BACKEND", result)
        if name.partition(":")[0] not in backends.available():
            problems.append(f"backend {name!r} is not known; known: {', '.join(sorted(backends.available()))}.")
    if problems:
        raise Refused("\n  ".join(problems))
    if {"torch_npu", "toolkit"} & set(config.value("ASCEND_SIM_SHIMS", result)) and importlib.util.find_spec("torch_npu") is None:
        # A program may import torch_npu before torch, which would bring it.
        result["PYTHONPATH"] = ":".join(filter(None, [result.get("PYTHONPATH"), str(STAND_INS)]))
    return result


def why_import_torch_brings_no_npu(environment: dict[str, str]) -> str | None:
    """A sentence if `import torch` alone will not load ascend-sim in the program."""
    if environment.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        return "TORCH_DEVICE_BACKEND_AUTOLOAD=0"
    if not config.value("ASCEND_SIM_AUTOLOAD", environment):
        return "ASCEND_SIM_AUTOLOAD is off"
    if not any(entry.value.startswith("ascend_sim.") for entry in importlib.metadata.entry_points(group="torch.backends")):
        return "ascend-sim is not installed in this environment"
    return None
