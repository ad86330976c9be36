# SPDX-License-Identifier: MIT
"""Which loops of a SIMD vector function follow each other? ASC_VF_LOOP before each tells the clock that they share no cycles (csrc/isa/vf.h).

Marked are loops that have another beside them in the same function or loop. A loop alone in what is around it needs no mark, and one of at most
four rounds without a loop inside is none: the chip's compiler unrolls it. Insertions stay within their lines.
"""

import re

_FUNCTION = re.compile(r"^__simd_vf__ [^\n]*\{[^{}\n]*$", re.MULTILINE)
_LOOP = re.compile(r"(?:for|while) \(.*\{$")
_COUNTED = re.compile(r"for \(\w+ (\w+) = 0; \1 < (\d+); \+\+\1\) \{$")
_UNROLLED = 4


class _Block:
    def __init__(self, line: int, is_loop: bool, is_short: bool = False):
        self.line, self.is_loop, self.is_short = line, is_loop, is_short
        self.loops: list[int] = []      # lines of the loops directly inside


def with_loops(text: str) -> str:
    """The text with its sequences of loops marked."""
    lines = text.split("\n")
    for match in _FUNCTION.finditer(text):
        _mark(lines, text.count("\n", 0, match.start()))
    return "\n".join(lines)


def _mark(lines: list[str], first: int) -> None:
    blocks = [_Block(first, True)]
    for number in range(first + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith("}"):
            block = blocks.pop()
            if block.is_loop and len(block.loops) > 1:
                for loop in block.loops:
                    _insert(lines, loop)
            if not blocks:
                return
            if block.is_loop and not (block.is_short and not block.loops):
                next(outer for outer in reversed(blocks) if outer.is_loop).loops.append(block.line)
            line = line[1:].strip()
        if line.endswith("{"):
            counted = _COUNTED.match(line)
            blocks.append(_Block(number, bool(_LOOP.match(line)), bool(counted) and int(counted[2]) <= _UNROLLED))


def _insert(lines: list[str], loop: int) -> None:
    while lines[loop - 1].lstrip().startswith("#"):     # a pragma belongs to the loop behind it
        loop -= 1
        if not lines[loop - 1].lstrip().startswith("#"):
            lines[loop - 1] += " ASC_VF_LOOP;"
            return
    indent = len(lines[loop]) - len(lines[loop].lstrip())
    lines[loop] = f"{lines[loop][:indent]}ASC_VF_LOOP; {lines[loop][indent:]}"
