# SPDX-License-Identifier: MIT
"""What changes in generated device source before the host compiler sees it: three insertions, nothing else.

UB pointers are declared as constant zero and then dereferenced; they become the running core's UB base. Each SIMD vector
function begins with ASC_VF, which counts its call. Each kernel gets an entry that unpacks a block of arguments
(csrc/isa/kernel_entry.h). A form that this file does not know is an error, not a guess.
"""

import re
from typing import NamedTuple

UB_POINTER = re.compile(r"^(\s*__ubuf__ (?P<type>[\w:]+) \*\w+ = \(__ubuf__ (?P=type) \*\))0;$", re.MULTILINE)
ZERO_UB = re.compile(r"\(\s*__ubuf__[^()]*\*\s*\)\s*0\s*[;,)]")
SIMD_FUNCTION = re.compile(r"^__simd_vf__ inline void \w+\([^()]*\) \{$", re.MULTILINE)
KERNEL = re.compile(r'^extern "C" __global__ (?P<kind>__\w+__)(?:\(1, 2\))? void (?P<name>\w+)\(', re.MULTILINE)
KINDS = {"__cube__": "cube", "__vector__": "vector", "__mix__": "mix"}


class Kernel(NamedTuple):
    """name: of the device function. kind: "cube", "vector" or "mix". entry: the C symbol void entry(const uint8_t*)."""

    name: str
    kind: str
    entry: str


class Rewritten(NamedTuple):
    source: str
    kernels: list[Kernel]


def rewrite(source: str) -> Rewritten:
    """The text to compile against csrc/include, and the kernels in it.

    Raises: ValueError for a zero UB pointer, vector function or kernel in a form that TileLang 0.1.15 does not generate.
    """
    text = UB_POINTER.sub(r"\g<1>ascend::isa::ub_base();", source)
    unknown = ZERO_UB.search(text)
    if unknown:
        raise ValueError(f"rewrite: UB pointer in an unknown form: {line_of(text, unknown.start())}")
    text, functions = SIMD_FUNCTION.subn(lambda match: match.group(0) + "\n  ASC_VF;", text)
    if functions != len(re.findall(r"^__simd_vf__", source, re.MULTILINE)):
        raise ValueError("rewrite: a __simd_vf__ function in an unknown form; expected `__simd_vf__ inline void f(...) {`")
    kernels = []
    for match in KERNEL.finditer(text):
        kind, name = match.group("kind"), match.group("name")
        if kind not in KINDS:
            raise ValueError(f"rewrite: kernel {name} is {kind}; expected one of {', '.join(KINDS)}")
        kernels.append(Kernel(name, KINDS[kind], f"{name}_entry"))
    if len(kernels) != source.count("__global__"):
        raise ValueError(f"rewrite: {source.count('__global__')} kernels, {len(kernels)} of them in a known form")
    entries = "".join(
        f'extern "C" void {kernel.entry}(const uint8_t* args) {{ ascend::isa::kernel_entry<&{kernel.name}>(args); }}\n'
        for kernel in kernels
    )
    return Rewritten(f'{text.rstrip()}\n\n#include "isa/kernel_entry.h"\n{entries}', kernels)


def line_of(text, position):
    start = text.rfind("\n", 0, position) + 1
    return text[start : text.find("\n", position)].strip()
