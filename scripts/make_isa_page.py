# SPDX-License-Identifier: MIT
"""Writes docs/isa_coverage.md: every instruction that csrc/isa defines, with its pipe, its path, its cost and the files that test it.

    python scripts/make_isa_page.py            after adding an instruction or its test; tests/docs/test_isa_page.py compares

Names are read from the preprocessed headers, so those that macros make are there too; pipes and paths from the records that
csrc/isa/*.cpp build; costs from the counters that vector instructions increment and from the chip file; tests are the files of
tests/isa that name the instruction; edges are what their @edges marks say.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ISA = ROOT / "csrc" / "isa"
PAGE = ROOT / "docs" / "isa_coverage.md"

FAMILIES = [    # title, headers; what is in none of them is an error
    ("Scalar unit", ("setup.h", "builtin.h", "scalar_gm.h")),
    ("Synchronisation", ("sync.h",)),
    ("Global memory: MTE2 and MTE3", ("dma.h",)),
    ("Loads beside the cube: MTE1", ("load.h", "img2col.h")),
    ("Cube", ("cube.h",)),
    ("Fixpipe", ("fixpipe.h",)),
    ("Vector: arithmetic, logic, comparison", ("simd_arithmetic.h", "simd_float.h", "simd_merge.h")),
    ("Vector: conversion", ("simd_convert.h",)),
    ("Vector: predicates", ("simd_mask.h",)),
    ("Vector: loads and stores", ("simd_memory.h",)),
    ("Vector: permutation, reduction", ("simd_permute.h", "simd_reduce.h", "simd_register.h")),
    ("SIMT", ("simt.h", "simt_launch.h", "simt_atomic.h", "simt_math.h", "simt_types.h")),
]
_DEFINITION = re.compile(r"[\w>&*]\s+(?P<name>asc_[a-z0-9_]+|v[a-z0-9]+)\s*\((?P<parameters>[^(){};]*(?:\([^()]*\)[^(){};]*)*)\)\s*(?:const\s*)?\{")
_NO_INSTRUCTION = re.compile(r"\b(?:return|else|new|throw|constexpr \w+)\s+$")


def preprocessed(text: str) -> str:
    compiler = shlex.split(os.environ.get("ASCEND_SIM_CXX") or os.environ.get("CXX") or "g++")
    command = [*compiler, "-std=c++20", "-E", "-x", "c++", "-DASCEND_SIM_LEVEL=portable", "-DASCEND_SIM_LEVEL_portable=1",
               f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc/include'}", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def instructions() -> dict[str, list[str]]:
    """Header -> names of the functions that kernels call, in order."""
    text = preprocessed('#include "c_api/asc_simd.h"\n#include "simt_api/asc_simt.h"\n')
    by_file, here = {}, None
    for line in text.splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            path = Path(marker[1])
            here = path.name if path.parent == ISA else None
        elif here:
            by_file.setdefault(here, []).append(line)
    found = {}
    for header, lines in by_file.items():
        body = "\n".join(lines)
        found[header] = list(dict.fromkeys(match["name"] for match in _DEFINITION.finditer(body)
                                           if not _NO_INSTRUCTION.search(body[:match.start("name")][-40:])))
    return found


def records() -> dict[str, tuple[set[str], set[str]]]:
    """Name -> (pipes, paths) of the records that functions of csrc/isa/*.cpp build under that name."""
    found = {}
    for file in sorted(ISA.glob("*.cpp")):
        for function in re.split(r"\n(?=\S[^\n]*\([^;]*\)\s*\{\n|void \w+\()", file.read_text()):
            if "Issue issue{" not in function and "record_of" not in function:
                continue
            names = set(re.findall(r'"(asc_\w+)"', function))
            pipes = set(re.findall(r"Pipe::(\w+)", function))
            paths = set(re.findall(r"\bPath::(\w+)", function))
            for name in names:
                known = found.setdefault(name, (set(), set()))
                known[0].update(pipes)
                known[1].update(paths)
    return {name: (pipes, _own(name, paths)) for name, (pipes, paths) in found.items()}


def _own(name: str, paths: set[str]) -> set[str]:
    """Of the paths of a function that serves several instructions, those that the name speaks of."""
    if way := re.match(r"asc_copy_(l0c|l1|gm|ub)2(gm|ub|l1|l0a|l0b|bt|fb)", name):
        way = f"{way[1]}_to_{way[2]}"
    elif fill := re.match(r"asc_fill_(l0a|l0b)", name):
        way = f"l1_to_{fill[1]}"
    mine = {path for path in paths if way and path.startswith(way)}
    if "transpose" in name and f"{way}_transposed" in mine:
        return {f"{way}_transposed"}
    return {path for path in mine if not path.endswith("_transposed")} or paths


def pipe_and_path(header: str, name: str, known: dict) -> tuple[str, str]:
    if header.startswith("simt"):
        return "V", "simt"
    if header.startswith("simd"):
        return "V", "vector"
    if header == "sync.h":
        return "as said" if name not in ("asc_sync",) else "all", "sync"
    pipes, paths = known.get(name, (set(), set()))
    if not pipes and header in ("fixpipe.h",) and name.startswith("asc_set_"):
        return "FIX", "none"
    return ", ".join(sorted(pipes)) or "S", ", ".join(sorted(paths)) or "none"


_NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch"}


def _closed(text: str, at: int, brackets: str) -> int:
    """Behind the bracket that closes the one before `at`."""
    depth = 1
    while depth and at < len(text):
        depth += (text[at] == brackets[0]) - (text[at] == brackets[1])
        at += 1
    return at


def _functions(text: str):
    """(name, body) of each function definition."""
    for match in re.finditer(r"\b(\w+)\(", text):
        if match[1] in _NOT_FUNCTIONS or not re.search(r"[\w>&*]\s$", text[max(match.start() - 2, 0):match.start()]):
            continue
        behind = _closed(text, match.end(), "()")
        if brace := re.match(r"\s*(?:const\s*)?\{", text[behind:behind + 40]):
            begin = behind + brace.end()
            yield match[1], text[begin:_closed(text, begin, "{}")]


def slots() -> dict[str, list[str]]:
    """Name of a vector instruction -> what it counts (csrc/isa/vf.h): "alu", "gather 2", by way of the functions it calls."""
    text = "\n".join(line for line in preprocessed('#include "c_api/asc_simd.h"\n').splitlines() if not line.startswith("#"))
    counted, called = {}, {}
    for name, body in _functions(text[text.index("vf_count"):]):
        counts = re.findall(r"vf_count\((?:ascend::isa::)?VfClass::(\w+)(?:, ([^)]*))?\)", body)
        counted.setdefault(name, []).extend(kind if not number else f"{kind} {number}" if number.isdigit() else f"{kind}, by type" for kind, number in counts)
        called.setdefault(name, set()).update(re.findall(r"\b(\w+)\s*(?:<[^<>();]*>)?\(", body))

    def of(name: str, seen: frozenset) -> list[str]:
        own = list(dict.fromkeys(counted.get(name, [])))
        if own or name in seen:
            return own
        return list(dict.fromkeys(kind for callee in sorted(called.get(name, ())) if callee in called for kind in of(callee, seen | {name})))
    return {name: of(name, frozenset()) for name in counted if name.startswith(("asc_", "v"))}


def cost_of(header: str, name: str, path: str, counts: dict[str, list[str]], chip) -> str:
    if header.startswith("simd"):
        return " or ".join(counts.get(name, [])) or "nothing"
    if header.startswith("simt"):
        return {"asc_vf_call": "`[simt]` of the chip file", "asc_syncthreads": f"{chip['simt.barrier']:g} cycles"}.get(
            name, f"{chip['simt.ub_atomic']:g} cycles a thread in UB; GM {chip['simt.gm_atomic']:g}, the same address again {chip['simt.gm_atomic_again']:g}"
            if "atomic" in name else "nothing" if "fence" in name else f"{chip['simt.exchange']:g} cycles a warp")
    parts = []
    for one in path.split(", "):
        if f"path.{one}.rate" in chip.constants:
            issue = chip.constants.get(f"path.{one}.issue", {}).get("value", 0)
            parts.append(f"{chip[f'path.{one}.rate']:g} B/cycle, +{chip[f'path.{one}.latency']:g}" + (f", issue {issue:g}" if issue else ""))
    return "; ".join(dict.fromkeys(parts)) or {"sync": "its flag", "cube": "`[cube]`: a fractal a cycle", "none": "issue"}.get(path, "issue")


def tests() -> dict[str, set[str]]:
    """Name -> files of tests/isa that name it, C++ after its macros are expanded."""
    found, folder = {}, ROOT / "tests" / "isa"
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".py", ".cpp", ".asc") or not file.is_file():
            continue
        text = file.read_text()
        if file.suffix == ".cpp":       # without what it includes
            text = preprocessed("\n".join(line for line in text.splitlines() if not re.match(r"\s*#\s*include", line)))
        for name in set(re.findall(r"\b(?:asc_[a-z0-9_]+|v[a-z0-9]+)\b", text)):
            found.setdefault(name, set()).add(str(file.relative_to(folder)))
    return found


def page() -> str:
    defined, known, tested = instructions(), records(), tests()
    from support.edges import KINDS, claimed, needed
    claims = claimed(ROOT / "tests" / "isa")

    def edges_of(header: str, name: str) -> str:
        kinds, reason = needed(header, name)
        return ", ".join(kind for kind in KINDS if kind in kinds and kind in claims.get(name, ())) or (f"none: {reason}" if reason else "**none**")
    placed = {header for _, headers in FAMILIES for header in headers}
    if lost := sorted(header for header, names in defined.items() if names and header not in placed):
        sys.exit(f"make_isa_page.py: {', '.join(lost)} belong to no family")
    from ascend_sim import chips
    chip, counts = chips.load("950DT_9581"), slots()
    lines, total, untested = [], 0, []
    for title, headers in FAMILIES:
        rows, seen = [], set()
        for header in headers:
            for name in defined.get(header, []):
                if name in seen:
                    continue
                seen.add(name)
                pipe, path = pipe_and_path(header, name, known)
                files = sorted(tested.get(name, ()))
                if not files:
                    untested.append(name)
                cost = cost_of(header, name, path, counts, chip)
                rows.append(f"| `{name}` | {pipe} | {path} | {cost} | {edges_of(header, name)} | {', '.join(files) or '**none**'} |")
        if rows:
            total += len(rows)
            lines += ["", f"## {title}", "", f"In {', '.join(f'`{h}`' for h in headers if defined.get(h))}.", "", "| instruction | pipe | path | cost | edges | named in tests/isa |", "|---|---|---|---|---|---|",
                      *sorted(rows)]
    head = ["<!-- Generated by scripts/make_isa_page.py from csrc/isa and tests. Do not edit. -->",
            "# Instruction set: coverage", "",
            f"{total} instructions, as kernels spell them. *Pipe*: where one waits and works; \"as said\" is its argument. *Path*: what it occupies there, by the names of the chip file",
            "(`docs/timing.md`); `sync`, `vector`, `simt` and `cube` have rules of their own, `none` costs its issue only. *Cost*: of vector instructions the slots it counts, priced by `[vf.*]` of",
            "the chip file; else bytes a cycle and the cycles until the result is visible, of 950DT_9581. Arguments and rules are in the headers of `csrc/isa`.",
            "", "*Edges*: which kinds of edge values a test goes through and compares with its oracle (`tests/support/edges.py`):", "",
            *(f"* {kind}: {meaning}" for kind, meaning in KINDS.items()),
            "", f"No test names: {', '.join(f'`{name}`' for name in sorted(untested)) or 'nothing; every instruction is in a test'}."]
    return "\n".join(head + lines) + "\n"


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    PAGE.write_text(page(), encoding="utf-8")
