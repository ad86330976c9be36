# SPDX-License-Identifier: MIT
"""Is there a C++ compiler for kernels given as text, and does TileLang fit?"""

import importlib.metadata
import shutil
import subprocess
import sys

from ascend_sim.cli.checks import Context, fault, note, ok
from ascend_sim.jit import host_compiler

TILELANG, TILE_KERNELS = "0.1.15", "2.1.0"      # pyproject.toml
INSTALL_TILE_KERNELS = f"pip install --no-deps --ignore-requires-python tile-kernels=={TILE_KERNELS}"
_PROGRAM = "#include <concepts>\n#include <cmath>\n#include <cstdint>\nint main() { return std::integral<int> ? 0 : 1; }\n"


def compiler(context: Context):
    why = "Kernels given as text (ascend_sim.jit, TileLang) cannot be compiled. deep_gemm works without."
    try:
        found = host_compiler.find()
    except (RuntimeError, ValueError) as error:
        text = str(error).removeprefix("ascend_sim.jit: ")
        yield fault("compiler", text.removesuffix(host_compiler.HOW_TO_GET_ONE).strip(), why, f"{host_compiler.HOW_TO_GET_ONE} Or unset a wrong ASCEND_SIM_CXX or CXX.")
        return
    tried = subprocess.run([*found.command, "-std=c++20", "-x", "c++", "-", "-fsyntax-only"], input=_PROGRAM, capture_output=True, text=True, timeout=60)
    if tried.returncode:
        yield fault("compiler", f"{found} cannot compile C++20: {tried.stderr.strip().splitlines()[0] if tried.stderr.strip() else f'status {tried.returncode}'}", why,
                    "Install the C++ standard library's headers (Debian, Ubuntu: apt install libstdc++-12-dev or newer), or name another compiler in ASCEND_SIM_CXX.")
    else:
        yield ok("compiler", str(found))


def tilelang(context: Context):
    version = _version("tilelang")
    if version is None:
        yield note("tilelang", "not installed", "TileLang programs need it; nothing else does.", "pip install 'ascend-sim[tilelang]', if you want to run such programs.")
        return
    if version != TILELANG:
        yield fault("tilelang", f"version {version}; needed: {TILELANG}", "Each version writes its kernels differently; those of another one may not compile or not be right.",
                    f"pip install tilelang=={TILELANG}")
    elif (answer := context.ask("tilelang")).error:
        yield fault("tilelang", f"`import tilelang` fails: {answer.error}", "TileLang programs do not run.", f"pip install --force-reinstall tilelang=={TILELANG}")
    else:
        yield ok("tilelang", f"{version}, imports in {answer.host_s:.1f} s")
    if shutil.which("g++") is None:
        yield fault("tilelang", "there is no g++ on PATH", "TileLang compiles a host stub for each kernel with it, whatever ASCEND_SIM_CXX says.",
                    "Install it (Debian, Ubuntu: apt install g++).")


def tile_kernels(context: Context):
    version = _version("tile-kernels")
    on_311 = sys.version_info < (3, 12)
    if version is not None and version != TILE_KERNELS:
        yield fault("tile-kernels", f"version {version}; the one with Ascend kernels is {TILE_KERNELS}", "Other versions are for other chips.",
                    INSTALL_TILE_KERNELS if on_311 else f"pip install tile-kernels=={TILE_KERNELS}")
    elif version is not None:
        yield ok("tile-kernels", version)
    elif on_311 and _version("tilelang") is not None:
        yield note("tile-kernels", "not installed; its metadata asks for Python 3.12, so pip refuses it here", "It runs on 3.11 all the same.", f"If you want it: {INSTALL_TILE_KERNELS}")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


CHECKS = (compiler, tilelang, tile_kernels)
