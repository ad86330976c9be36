# SPDX-License-Identifier: MIT
"""Compiles C++ against the instruction-set headers for one host level, as tests need it; results are kept between runs."""

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ascend_sim

CSRC = Path(__file__).resolve().parents[2] / "csrc"
PACKAGE = Path(ascend_sim.__file__).parent
# Headers as an installed package carries them; in the checkout, where they come from.
INCLUDES = [PACKAGE / "include"] if (PACKAGE / "include").is_dir() else [CSRC, CSRC / "include"]
COMMON = ["-std=c++20", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fno-strict-aliasing",
          "-ffp-contract=off", "-fwrapv", "-pthread"]
FLAGS = {
    "portable": ["-march=x86-64"] if platform.machine() == "x86_64" else [],
    "avx2": ["-march=x86-64-v3"],
    "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "aarch64": ["-march=armv8-a"],      # support/aarch64.py
}
NEEDS = {"avx2": {"avx2", "fma", "bmi2", "f16c"}, "avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq"}, "aarch64": {"qemu"}}


def cpu_features():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return set(next((line.split(":")[1] for line in lines if line.startswith("flags")), "").split())


LEVELS = [level for level in FLAGS if NEEDS.get(level, set()) <= cpu_features()]


def compiler(level):
    if level == "aarch64":
        return "aarch64-linux-gnu-g++"
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")


@functools.cache
def not_unique(command):
    """g++ makes static members of templates unique in the process, whatever library they are in; clang does not, nor knows the option."""
    macros = subprocess.run([command, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True, check=True).stdout
    return [] if "__clang__" in macros else ["-fno-gnu-unique"]


def build_folder():
    folder = Path(tempfile.gettempdir()) / f"ascend_sim_test_builds_{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def build_levels(name, sources):
    """Builds for every level, side by side."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda level: build(name, sources, level), LEVELS))


def build(name, sources, level, *options, optimize="-O1"):
    """Path of a shared library built from `sources` (paths). The same text after preprocessing: the earlier build."""
    command = [compiler(level), *COMMON, *not_unique(compiler(level)), optimize, *FLAGS[level], *(f"-I{path}" for path in INCLUDES)]
    text = subprocess.run([*command, "-Wno-unused-command-line-argument", "-E", "-P", *map(str, sources), *options], capture_output=True, check=True)
    digest = hashlib.sha256(repr((command, options)).encode() + text.stdout)
    folder = build_folder()
    library = folder / f"{name}_{level}_{digest.hexdigest()[:16]}.so"
    if not library.exists():
        partial = library.with_suffix(f".{os.getpid()}.tmp")
        done = subprocess.run([*command, *map(str, sources), "-o", str(partial), *options], capture_output=True, text=True)
        assert done.returncode == 0, f"{name} does not compile at level {level}:\n{done.stderr[:4000]}"
        partial.rename(library)
    return library
