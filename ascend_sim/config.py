# SPDX-License-Identifier: MIT
"""Which environment variables there are, what they accept, and what they say now. Nothing else reads the environment.

Values are read at the call, not at import, so that a process may set them any time before the matching part is first used;
docs/env.md says which are only looked at once. C++ never reads the environment: it is handed these values.
"""

import difflib
import os
import platform
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

MODES = ("full", "functional", "timing")
HOST_ISAS = ("auto", "portable", "avx2", "avx512", "amx", "neon")
MAX_DEVICES = 127       # PyTorch keeps a device's number in a signed byte
SHIMS = ("torch_npu", "cuda", "davinci", "toolkit")


@dataclass(frozen=True)
class Variable:
    name: str
    default: str                        # as it would be written in the environment
    parse: Callable[[str], object]      # raises ValueError for what it does not accept
    accepted: str                       # completes "accepted: ..."
    meaning: str


VARIABLES: dict[str, Variable] = {}


def _variable(name: str, default: str, parse: Callable[[str], object], accepted: str, meaning: str) -> None:
    VARIABLES[name] = Variable(name, default, parse, accepted, meaning)


def value(name: str, environment: Mapping[str, str] = os.environ):
    """The parsed value of one variable; an error that names what is accepted if it cannot be parsed."""
    variable = VARIABLES[name]
    text, _ = _said(name, environment)
    try:
        return variable.parse(text or variable.default)
    except ValueError as error:
        detail = f" ({error})" if str(error) else ""
        raise ValueError(f"{name}={text!r} is not understood{detail}; accepted: {variable.accepted}.") from None


def _said(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """What the environment says, and in which variable; two empty texts if it says nothing."""
    for spelling in (name, *_other_names(name)):
        if text := environment.get(spelling, "").strip():
            return text, spelling
    return "", ""


def _other_names(name: str) -> tuple[str, ...]:
    if name.startswith("DG_JIT_"):                  # every DG_JIT_X falls back to DJ_JIT_X, deep_gemm.md 18.1
        return ("DJ_JIT_" + name.removeprefix("DG_JIT_"),)
    return ("ASCEND_TOOLKIT_HOME",) if name == "ASCEND_HOME_PATH" else ()


# Parsers. Each takes the stripped text and raises ValueError, with a detail where that helps. Words may be written in any case.

def _flag(text: str) -> bool:
    switch = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.lower() not in switch:
        raise ValueError
    return switch[text.lower()]


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError
        return text.lower()
    return parse


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _whole_number(text, "not a whole number")
        if not low <= number <= high:
            raise ValueError(f"outside {low}..{high}")
        return number
    return parse


def _whole_number(text: str, otherwise: str) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,300}", text):         # int() takes other scripts' digits and underscores, too
        raise ValueError(otherwise)
    return int(text)


def _name(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _gigabytes(text: str) -> int | None:
    if text.lower() == "auto":
        return None
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise ValueError("not a number")
    size = float(text)
    if not 0.001 <= size <= 65536:
        raise ValueError("outside 0.001..65536")
    return int(size * 2**30)


def _shims(text: str) -> tuple[str, ...]:
    if text.lower() in ("none", "all"):
        return SHIMS if text.lower() == "all" else ()
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    unknown = [name for name in names if name not in SHIMS]
    if unknown:
        raise ValueError(f"unknown: {', '.join(map(repr, unknown))}")
    return names


@dataclass(frozen=True)
class Checks:
    memory: bool = False
    division: bool = False
    races: bool = False


def _checks(text: str) -> Checks:
    names = [] if text.lower() == "none" else [part.strip().lower() for part in text.split(",")]
    unknown = [name for name in names if name not in Checks.__dataclass_fields__]
    if unknown:
        raise ValueError(f"there is no check {', '.join(map(repr, unknown))}")
    if "division" in names and platform.machine() != "x86_64":
        raise ValueError(f"the check division needs a processor that traps, x86-64; this one is {platform.machine()}, where the quotient is 0")
    if "races" in names:
        names.append("memory")      # what watches memory tells which accesses there are
    return Checks(**dict.fromkeys(names, True))


def _devices(text: str) -> tuple[int, ...] | None:
    """'0,2,4-6' -> (0, 2, 4, 5, 6); 'all' -> None. Order is kept: the first one becomes npu:0."""
    if text.lower() == "all":
        return None
    numbers = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        begin = _whole_number(first, f"not a device number: {part.strip()!r}")
        end = _whole_number(last, f"not a device number: {part.strip()!r}") if dash else begin
        if begin > end:
            raise ValueError(f"the range {part.strip()!r} ends before it begins")
        if end >= MAX_DEVICES:
            raise ValueError(f"no machine has a device {end}: at most {MAX_DEVICES} devices")
        numbers += range(begin, end + 1)
    if len(set(numbers)) != len(numbers):
        raise ValueError("a device is named twice")
    return tuple(numbers)


def _capability(text: str) -> tuple[int, int] | None:
    """'9.0' or '9,0' -> (9, 0)."""
    if text.lower() == "none":
        return None
    found = re.fullmatch(r"([0-9]{1,9})\s*[.,]\s*([0-9]{1,9})", text)
    if found is None:
        raise ValueError
    return int(found[1]), int(found[2])


def _command(text: str) -> str | None:
    chosen = (os.environ.get("CXX", "").strip() or None) if text.lower() == "auto" else text
    if chosen is not None:
        try:
            shlex.split(chosen)
        except ValueError as error:
            raise ValueError(f"{chosen!r} cannot be split into words: {error}") from None
    return chosen


def _folder(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:                # a ~ that means nobody's folder
        raise ValueError("there is no such user") from None


def _folder_or_none(text: str) -> Path | None:
    if text.lower() == "none":
        return None
    folder = _folder(text)
    if not os.path.isdir(folder):           # which, unlike Path.is_dir, has no text that it raises for
        raise ValueError("not a folder")
    return folder.absolute()


_variable("ASCEND_SIM_BACKEND", "ascend", _name, "ascend, torch, cuda, cuda:sm90, cuda:sm100, or the name of an installed plug-in (entry-point group ascend_sim.backends)",
          "which implementation the packages use")
_variable("ASCEND_SIM_MODE", "full", _one_of(*MODES), ", ".join(MODES),
          "full: values and time; functional: values only; timing: time only, bulk data is not computed")
_variable("ASCEND_SIM_STRICT", "0", _flag, "0 or 1",
          "1: a call that the real Ascend library refuses raises instead of warning")
_variable("ASCEND_SIM_CHIP", "950DT_9581", _name, "the name of a file in ascend_sim/chips without .toml, or a path to such a file",
          "which chip is emulated")
_variable("ASCEND_SIM_DEVICES", "8", _integer(1, MAX_DEVICES), f"1 to {MAX_DEVICES}",
          "how many devices the machine appears to have")
_variable("ASCEND_RT_VISIBLE_DEVICES", "all", _devices, "all, or numbers and ranges below ASCEND_SIM_DEVICES, e.g. 0,2,4-6",
          "which of those devices the process sees; the first listed becomes npu:0")
_variable("ASCEND_SIM_HBM_GB", "auto", _gigabytes, "auto (the chip's own size) or a number of GiB from 0.001 to 65536, e.g. 16 or 0.5",
          "memory of each emulated device")
_variable("ASCEND_SIM_THREADS", "0", _integer(0, 4096), "0 (one for each usable CPU) to 4096",
          "host threads that run the emulated cores; never changes results")
_variable("ASCEND_SIM_HOST_ISA", "auto", _one_of(*HOST_ISAS), ", ".join(HOST_ISAS),
          "host SIMD level; a level that this CPU lacks is an error")
_variable("ASCEND_SIM_CHECK", "none", _checks, "none, or a list of memory, division, races",
          "memory: kernels given as text report accesses out of range and undefined data that leaves UB; division: their SIMT threads report integer division by zero; "
          "races: accesses to on-chip memories that no flag, lock or barrier orders, with memory's checks")
_variable("ASCEND_SIM_SHIMS", "none", _shims, "none, all, or a list of " + ", ".join(SHIMS),
          "stand-ins for what existing code imports or looks for; toolkit brings torch_npu and davinci")
_variable("ASCEND_SIM_CACHE_DIR", "~/.cache/ascend-sim", _folder, "a folder",
          "where kernels compiled at run time are kept")
_variable("ASCEND_SIM_CXX", "auto", _command, "auto (CXX if set, else g++, clang++ or c++, whichever is there and new enough), or a command",
          "which C++ compiler kernels given as text are compiled with")
_variable("ASCEND_SIM_TRACE", "none", _folder_or_none, "none, or a folder that exists",
          "every process that uses npu leaves a record of each launch there; `ascend-sim trace` sets it")
_variable("ASCEND_SIM_TRACE_TIMELINE", "0", _flag, "0 or 1",
          "1: those records have the times of every instruction, too")
_variable("ASCEND_SIM_AUTOLOAD", "1", _flag, "0 or 1",
          "0: `import torch` does not make the device npu available")
_variable("DG_JIT_LAUNCH_TIMEOUT", "300", _integer(0, 10**9), "whole seconds, 0 for no limit",
          "host time after which a launch ends with the table of who waits for what; DJ_JIT_LAUNCH_TIMEOUT is used if unset")
_variable("DG_PRINT_CONFIGS", "0", _flag, "0 or 1",
          "1: GEMMs of deep_gemm print each distinct problem and the tile chosen for it, once")
_variable("DG_TEST_MAX_WORKERS", "0", _integer(0, 4096), "0 (one for each usable CPU) to 4096",
          "threads of deep_gemm.testing.par_compile")
_variable("ASCEND_HOME_PATH", "/usr/local/Ascend/ascend-toolkit/latest", _name, "a folder",
          "what deep_gemm.ASCEND_HOME says; nothing is read there. ASCEND_TOOLKIT_HOME is used if unset")
_variable("TORCH_NPU_DEVICE_CAPABILITY", "none", _capability, "none, or two whole numbers, e.g. 9.0",
          "what torch.npu.get_device_capability says, as torch_npu answers; the chips have no such number")
_variable("MASTER_ADDR", "127.0.0.1", _name, "a host name or address",
          "init_dist of deep_gemm: where rank 0 listens")
_variable("MASTER_PORT", "8361", _integer(1, 65535), "1 to 65535",
          "init_dist of deep_gemm: where rank 0 listens")
_variable("WORLD_SIZE", "1", _integer(1, 10**6), "1 to 1000000",
          "init_dist of deep_gemm: number of nodes, as in DeepGEMM's own tests")
_variable("RANK", "0", _integer(0, 10**6), "0 to 1000000",
          "init_dist of deep_gemm: number of this node")


# What the rest of the project calls.

def backend() -> str:
    return value("ASCEND_SIM_BACKEND")


def mode() -> str:
    return value("ASCEND_SIM_MODE")


def strict() -> bool:
    return value("ASCEND_SIM_STRICT")


def chip() -> str:
    return value("ASCEND_SIM_CHIP")


def hbm_bytes() -> int | None:
    """None: as much as the chip has."""
    return value("ASCEND_SIM_HBM_GB")


def threads() -> int:
    """At least 1."""
    return value("ASCEND_SIM_THREADS") or len(os.sched_getaffinity(0))


def host_isa() -> str:
    return value("ASCEND_SIM_HOST_ISA")


def checks() -> Checks:
    return value("ASCEND_SIM_CHECK")


def shims() -> tuple[str, ...]:
    return value("ASCEND_SIM_SHIMS")


def cache_dir() -> Path:
    return value("ASCEND_SIM_CACHE_DIR")


def cxx() -> str | None:
    """A command, perhaps of several words; None: whichever is found."""
    return value("ASCEND_SIM_CXX")


def trace() -> tuple[Path | None, bool]:
    """(folder that takes a record of each launch, with the times of every instruction?)"""
    return value("ASCEND_SIM_TRACE"), value("ASCEND_SIM_TRACE_TIMELINE")


def autoload() -> bool:
    return value("ASCEND_SIM_AUTOLOAD")


def launch_timeout_s() -> int:
    """0: none."""
    return value("DG_JIT_LAUNCH_TIMEOUT")


def print_configs() -> bool:
    return value("DG_PRINT_CONFIGS")


def test_workers() -> int:
    """At least 1."""
    return value("DG_TEST_MAX_WORKERS") or len(os.sched_getaffinity(0))


def rendezvous() -> tuple[str, int, int, int]:
    """(address and port of rank 0, number of nodes, number of this node)"""
    return value("MASTER_ADDR"), value("MASTER_PORT"), value("WORLD_SIZE"), value("RANK")


def device_capability() -> tuple[int, int] | None:
    return value("TORCH_NPU_DEVICE_CAPABILITY")


def ascend_home() -> str:
    return value("ASCEND_HOME_PATH")


def devices(environment: Mapping[str, str] = os.environ) -> tuple[int, ...]:
    """Physical numbers of the visible devices; npu:i is the i-th of them."""
    count = value("ASCEND_SIM_DEVICES", environment)
    visible = value("ASCEND_RT_VISIBLE_DEVICES", environment)
    if visible is None:
        return tuple(range(count))
    beyond = [number for number in visible if number >= count]
    if beyond:
        raise ValueError(f"ASCEND_RT_VISIBLE_DEVICES names {', '.join(map(str, beyond))}; "
                         f"accepted: 0 to {count - 1}, since ASCEND_SIM_DEVICES is {count}.")
    return visible


def announce_toolkit(folder: Path) -> None:
    """Names the folder to TileLang, whose variables these are, unless the user has named one."""
    for name in ("BISHENG_HOME", "ASCEND_HOME_PATH"):
        if not os.environ.get(name):
            os.environ[name] = str(folder)


# What the command line shows and passes on.

@dataclass(frozen=True)
class Setting:
    """One variable as it stands. text: in the environment, or the default    origin: the variable that says it, or "default" """

    name: str
    text: str
    default: str
    origin: str
    problem: str | None


def settings() -> list[Setting]:
    """Every variable, good or bad."""
    found = []
    for name, variable in VARIABLES.items():
        text, origin = _said(name, os.environ)
        if name == "ASCEND_SIM_CXX" and text in ("", "auto") and foreign("CXX").strip():
            text, origin = foreign("CXX").strip(), "CXX"
        found.append(Setting(name, text or variable.default, variable.default, origin or "default", _problem(name, os.environ)))
    return found


def problems(names: Iterable[str] = VARIABLES.keys(), environment: Mapping[str, str] = os.environ) -> list[str]:
    """A sentence for each variable whose value is not accepted, and for those that do not fit together."""
    chosen = list(names)
    found = [problem for name in chosen if (problem := _problem(name, environment))]
    if not found and {"ASCEND_SIM_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"} <= set(chosen):
        try:
            devices(environment)
        except ValueError as error:
            found.append(str(error))
    return found


def check() -> None:
    """Called when a device is first needed: all that is wrong with the emulator's own variables, in one ValueError."""
    found = problems(name for name in VARIABLES if name.startswith("ASCEND_"))
    if found:
        raise ValueError("\n".join(found))


def _problem(name: str, environment: Mapping[str, str]) -> str | None:
    try:
        value(name, environment)
    except ValueError as error:
        return str(error)
    return None


def unknown() -> dict[str, str | None]:
    """Variables that look like ours and are not -> the name that may be meant."""
    names = [name for name in os.environ if name.startswith("ASCEND_SIM_") and name not in VARIABLES]
    return {name: next(iter(difflib.get_close_matches(name, VARIABLES, 1, 0.8)), None) for name in sorted(names)}


def foreign(name: str) -> str:
    """A variable that belongs to somebody else, as text; empty if it is not set."""
    return os.environ.get(name, "")


def environment_of_children(changes: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process to be started: this one's, and these variables."""
    return {**os.environ, **changes}
