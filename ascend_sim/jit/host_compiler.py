# SPDX-License-Identifier: MIT
"""Which C++ compiler does this machine have, and with which options does a kernel compile for it?"""

import ctypes
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ascend_sim import config
from ascend_sim.jit import disk_cache

PACKAGE = Path(__file__).resolve().parent.parent
LIBRARY = PACKAGE / "lib" / "libascend_sim.so"

OLDEST = {"gcc": 12, "clang": 16}       # C++20 as csrc/isa uses it
TRIED = ("g++", "clang++", "c++")
HOW_TO_GET_ONE = ("Install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; conda: conda install -c conda-forge gxx), "
                  "or name one in ASCEND_SIM_CXX.")

# csrc/Makefile compiles the library's own kernels with the same; tests/jit compares.
COMMON_FLAGS = ("-std=c++20", "-fPIC", "-O2", "-g1", "-fno-strict-aliasing", "-ffp-contract=off", "-fwrapv",
                "-fvisibility-inlines-hidden")
LEVEL_FLAGS = {
    "x86_64": {
        "portable": ("-march=x86-64",),
        "avx2": ("-march=x86-64-v3",),
        "avx512": ("-march=x86-64-v4", "-mavx512vbmi", "-mavx512vbmi2", "-mprefer-vector-width=512"),
    },
    "aarch64": {"portable": ("-march=armv8-a",)},
}
_INSTRUMENTED = ("-DASCEND_SIM_CHECK_MEMORY", "-fsanitize=kernel-address", "-fno-omit-frame-pointer")
CHECK_MEMORY_FLAGS = {
    "gcc": (*_INSTRUMENTED, "--param=asan-instrumentation-with-call-threshold=0", "--param=asan-stack=0", "--param=asan-globals=0",
            "--param=asan-instrument-allocas=0"),
    "clang": (*_INSTRUMENTED, "-mllvm", "-asan-instrumentation-with-call-threshold=0", "-mllvm", "-asan-stack=0", "-mllvm", "-asan-globals=0",
              "-mllvm", "-asan-kernel-mem-intrinsic-prefix=1"),     # copies of whole objects are calls, too
}
# Kernel text may be wrong in any way. A local variable larger than the stack must meet the guard page below it, an index beyond a local array
# be seen where it can be (csrc/isa/local_arrays.h), and an endless loop not be taken for one that ends. A division by what is zero on one path,
# as of a load that TileLang makes 0 behind a tensor's end, stays one there: g++ would put a trap in its place. Another text may have a kernel of
# the same name: nothing of one is unique in the process.
GUARD_FLAGS = {
    "gcc": ("-fstack-clash-protection", "-fno-finite-loops", "-fno-isolate-erroneous-paths-dereference", "-fsanitize=bounds",
            "-fno-sanitize-recover=bounds", "-fno-gnu-unique"),
    "clang": ("-fstack-clash-protection", "-fno-finite-loops", "-fsanitize=array-bounds", "-fno-sanitize-recover=array-bounds"),
}
# What ends a process, and what throws: of kernel text these calls go to csrc/isa/kernel_text.cpp.
_INSTEAD = ("abort", "exit", "_exit", "_Exit", "quick_exit", "raise", "_ZSt9terminatev", "__assert_fail", "__cxa_pure_virtual", "__stack_chk_fail",
            "__cxa_allocate_exception", "__cxa_free_exception", "__cxa_throw", "__cxa_rethrow",
            "_ZSt20__throw_length_errorPKc", "_ZSt19__throw_logic_errorPKc", "_ZSt24__throw_invalid_argumentPKc",
            "_ZSt20__throw_out_of_rangePKc", "_ZSt24__throw_out_of_range_fmtPKcz", "_ZSt25__throw_bad_function_callv")
LINK_FLAGS = (f"-Wl,{','.join(f'--wrap={symbol}' for symbol in _INSTEAD)}",)
# Of functions in headers addr2line of binutils 2.40 names the wrong file with version 5. Where both branches call the same instruction
# clang makes one call of the two, which then has no line.
DEBUG_FLAGS = {
    "gcc": ("-gdwarf-4", "-g1"),
    "clang": ("-gdwarf-4", "-g1", "-mllvm", "-simplifycfg-sink-common=false", "-mllvm", "-simplifycfg-hoist-common=false",
              "-mllvm", "-enable-tail-merge=false"),
}
# Matrix units matter to the cube only, which is in the library.
LEVEL_OF_HOST = {"amx": "avx512", "neon": "portable"}


@dataclass(frozen=True)
class Compiler:
    command: tuple[str, ...]
    family: str                         # "gcc" or "clang"
    version: str                        # as the compiler says it, e.g. "12.2.0"
    identity: str                       # changes when the compiler is replaced

    def __str__(self):
        return f"{' '.join(self.command)} ({self.family} {self.version})"


def find() -> Compiler:
    """The compiler that ASCEND_SIM_CXX names, or else the first suitable one on PATH.

    Raises: RuntimeError that says what was looked for, what was found and how to get one.
    """
    chosen = config.cxx()
    commands = [tuple(shlex.split(chosen))] if chosen else [(name,) for name in TRIED]
    found = []
    for command in commands:
        path = shutil.which(command[0])
        if path is None:
            found.append(f"{command[0]}: not found")
            continue
        compiler = _examine((path, *command[1:]), os.stat(path))
        if isinstance(compiler, Compiler):
            return compiler
        found.append(f"{command[0]}: {compiler}")
    raise RuntimeError(f"ascend_sim.jit: a kernel given as text needs g++ {OLDEST['gcc']} or newer, or clang++ {OLDEST['clang']} or newer. "
                       f"{f'ASCEND_SIM_CXX or CXX says {chosen!r}. ' if chosen else ''}{'; '.join(found)}. {HOW_TO_GET_ONE}")


class _Unusable(Exception):
    """A program that is no compiler, or does not work."""


def _examine(command: tuple[str, ...], program: os.stat_result) -> Compiler | str:
    """The compiler, or why it will not do."""
    state = (command, os.path.realpath(command[0]), program.st_size, program.st_mtime_ns)
    try:
        # A wrapper stays the same when the compiler that it starts is replaced: it is asked in each process.
        said = _ask(state) if len(command) > 1 else disk_cache.remembered(f"compiler {command[0]}", state, lambda: _ask(state))
    except _Unusable as error:
        return str(error)
    title, _, macros = said.partition("\n")
    defined = dict(re.findall(r"^#define (__clang_major__|__clang_minor__|__GNUC__|__GNUC_MINOR__|__GNUC_PATCHLEVEL__) (\d+)$", macros, re.MULTILINE))
    if "__clang_major__" in defined:
        family, parts = "clang", ("__clang_major__", "__clang_minor__")
    elif "__GNUC__" in defined:
        family, parts = "gcc", ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    else:
        return "is neither gcc nor clang"
    version = ".".join(defined[part] for part in parts)
    if int(defined[parts[0]]) < OLDEST[family]:
        return f"is {family} {version}, too old"
    return Compiler(command, family, version, f"{title} {os.path.realpath(command[0])}")


@functools.cache
def _ask(state: tuple) -> str:
    """What it calls itself, and below that the macros it defines. Once per process and state of the program file."""
    command = state[0]
    try:
        asked = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        macros = subprocess.run([*command, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Unusable(str(error)) from None
    if asked.returncode or macros.returncode or not asked.stdout:
        why = (asked.stderr or macros.stderr).strip()[:200] or f"asked for its version, it says nothing and ends with status {asked.returncode or macros.returncode}"
        raise _Unusable(f"does not work: {why}")
    return f"{asked.stdout.splitlines()[0]}\n{macros.stdout}"


def level() -> str:
    """The SIMD level that kernels are compiled for: that of the host, or the forced one. Works without torch, too."""
    if "torch" in sys.modules:
        from ascend_sim import _C
        _C.device_count()               # the first question about devices applies ASCEND_SIM_HOST_ISA
        name = _C.host_isa()
    else:
        name = _level_of_library()
    return LEVEL_OF_HOST.get(name, name)


def _level_of_library() -> str:
    library = ctypes.CDLL(str(LIBRARY))
    chosen = config.host_isa()
    reason = ctypes.create_string_buffer(200)
    if chosen != "auto" and not library.ascend_host_set_level(chosen.encode(), reason, len(reason)):
        raise ValueError(f"ASCEND_SIM_HOST_ISA={chosen!r} cannot be used: {reason.value.decode()}, auto.")
    library.ascend_host_level.restype = ctypes.c_char_p
    return library.ascend_host_level().decode()


def flags(of_level: str) -> tuple[str, ...]:
    machine = os.uname().machine
    if machine not in LEVEL_FLAGS:
        raise RuntimeError(f"ascend_sim.jit: kernels run on {' and '.join(LEVEL_FLAGS)}; this machine is {machine}.")
    return (*COMMON_FLAGS, *LEVEL_FLAGS[machine][of_level], f"-DASCEND_SIM_LEVEL={of_level}", f"-DASCEND_SIM_LEVEL_{of_level}=1")


def check_flags(compiler: Compiler) -> tuple[str, ...]:
    """For ASCEND_SIM_CHECK=memory and races: plain loads and stores call what csrc/isa/memory_check.h defines; no sanitizer library is linked."""
    checks = config.checks()
    return (CHECK_MEMORY_FLAGS[compiler.family] if checks.memory else ()) + (("-DASCEND_SIM_CHECK_RACES",) if checks.races else ())


def include_folders() -> tuple[Path, ...]:
    """Where the public names are: installed beside this package, or in the checkout it runs from."""
    installed, checkout = PACKAGE / "include", PACKAGE.parent / "csrc"
    if installed.is_dir():
        return (installed,)
    if (checkout / "isa").is_dir():
        return (checkout / "include", checkout)
    raise RuntimeError(f"ascend_sim.jit: the headers that belong to this package are missing: neither {installed} nor {checkout} has them. "
                       "Install the package anew.")
