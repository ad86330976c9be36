# SPDX-License-Identifier: MIT
"""What changes in generated source before the host compiler sees it? Insertions within lines, so that line numbers stay.

UB pointers are declared as constant zero and then dereferenced; they become the running core's UB base, which is told the pointer's name for messages. Each SIMD vector
function begins with ASC_VF, which counts its call, and marks loops that follow each other (vf_loops.py); blocks of SIMT functions say what they cost (simt_cost.py). A launcher's name<<<..>>>(..) becomes a call (csrc/toolkit/host_launch.h).
A form that this file does not know is an error, not a guess.
"""

import re
from typing import NamedTuple

from ascend_sim.toolkit.simt_cost import with_costs
from ascend_sim.toolkit.vf_loops import with_loops

UB_POINTER = re.compile(r"^(\s*__ubuf__ (?P<type>[\w:]+) \*(?P<name>\w+) = \(__ubuf__ (?P=type) \*\))0;$", re.MULTILINE)
ZERO_UB = re.compile(r"\(\s*__ubuf__[^()]*\*\s*\)\s*0\s*[;,)]")
SIMD_FUNCTION = re.compile(r"^__simd_vf__ inline void \w+\([^()]*\) \{$", re.MULTILINE)
KERNEL = re.compile(r'^extern "C" __global__ (?P<kind>__\w+__)(?:\(1, 2\))? void (?P<name>\w+)\(', re.MULTILINE)
LAUNCH = re.compile(r"^\s*(?P<name>\w+)<<<(?P<config>.*)>>>\((?P<arguments>.*)\);$", re.MULTILINE)
CHECK = re.compile(r"^\s*TILELANG_CHECK_LAST_ERROR\(\"\w+\"\);$", re.MULTILINE)
KINDS = {"__cube__": "cube", "__vector__": "vector", "__mix__": "mix"}
CORE_TYPES = {"cube": 0, "vector": 1, "mix": 2}


class Rewritten(NamedTuple):
    """source: to compile against csrc/include, with its line numbers    kernels: cores ("cube", "vector", "mix") by name"""

    source: str
    kernels: dict[str, str]


def rewrite(source: str) -> Rewritten:
    """The device code of the text, changed. Raises ValueError for a zero UB pointer, vector function or kernel in a form that
    TileLang 0.1.15 does not generate, and for a text without a kernel."""
    text = UB_POINTER.sub(r'\g<1>ascend::isa::ub_base("\g<name>");', source)
    unknown = ZERO_UB.search(text)
    if unknown:
        raise ValueError(f"rewrite: UB pointer in an unknown form: {line_of(text, unknown.start())}")
    text, functions = SIMD_FUNCTION.subn(lambda match: match.group(0) + " ASC_VF;", text)
    if functions != len(re.findall(r"^__simd_vf__", source, re.MULTILINE)):
        raise ValueError("rewrite: a __simd_vf__ function in an unknown form; expected `__simd_vf__ inline void f(...) {`")
    kernels = {}
    for match in KERNEL.finditer(text):
        kind, name = match.group("kind"), match.group("name")
        if kind not in KINDS:
            raise ValueError(f"rewrite: kernel {name} is {kind}; expected one of {', '.join(KINDS)}")
        kernels[name] = KINDS[kind]
    if not kernels or len(kernels) != source.count("__global__"):
        raise ValueError(f"rewrite: {source.count('__global__')} kernels, {len(kernels)} of them in a known form; "
                         'expected `extern "C" __global__ __vector__ void name(`')
    return Rewritten(with_costs(with_loops(text)), kernels)


def rewrite_launcher(done: Rewritten) -> str:
    """The text with its launches too. Raises ValueError for a launch in an unknown form."""
    def call(match: re.Match) -> str:
        name, config = match["name"], _split(match["config"])
        if name not in done.kernels or len(config) != 3:
            raise ValueError(f"rewrite: a launch in an unknown form: {match.group(0).strip()}; expected kernel<<<blocks, bytes, stream>>>(..)")
        blocks, ub_bytes, stream = config
        arguments = f", {match['arguments']}" if match["arguments"].strip() else ""
        return (f'if (ascend::toolkit::launch<&{name}>("{name}", {CORE_TYPES[done.kernels[name]]}, (uint32_t)({blocks}), '
                f'(uint32_t)({ub_bytes}), (void*)({stream}){arguments})) {{ snprintf(error_buf, ERROR_BUF_SIZE, "%s", aclGetRecentErrMsg()); return -1; }}')
    text = CHECK.sub("", LAUNCH.sub(call, done.source))
    if "<<<" in text:
        raise ValueError(f"rewrite: a launch in an unknown form: {line_of(text, text.index('<<<'))}")
    # Before the first line, so that no line moves.
    return f'#include "toolkit/host_launch.h"\n#line 1\n{text}'


def _split(text: str) -> list[str]:
    """At commas outside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def line_of(text, position):
    start = text.rfind("\n", 0, position) + 1
    return text[start : text.find("\n", position)].strip()
