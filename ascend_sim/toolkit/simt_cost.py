# SPDX-License-Identifier: MIT
"""What does a SIMT function of generated text cost? Its statements are counted, and ASC_SIMT_COST tells the clock at run time.

An operation is an arithmetic, logical or comparison operator, a load or store of memory, or a call; index arithmetic counts as none, since
addresses are shared and folded. Every block of statements says what it costs when it is entered; a loop whose length is written out is
counted in the block around it. Insertions stay within their lines.
"""

import re

_FUNCTION = re.compile(r"^__simt_vf__ [^\n]*\((?P<parameters>[^()]*)\) \{$", re.MULTILINE)
_PARAMETER = re.compile(r"__gm__\s+(?:const\s+)?(?P<type>\w+)\s*\*\s*(?:__restrict__\s+)?(?P<name>\w+)")
_COUNTED_LOOP = re.compile(r"for \(int32_t (\w+) = 0; \1 < (\d+); \+\+\1\) \{$")
_BYTES = {"float": 4, "half": 2, "bfloat16_t": 2, "int32_t": 4, "uint32_t": 4, "int": 4, "int64_t": 8, "uint64_t": 8, "int16_t": 2, "uint16_t": 2,
          "int8_t": 1, "uint8_t": 1, "float2": 8, "float4": 16, "double": 8}
_OPERATOR = re.compile(r"<<|>>|&&|\|\||[=!<>]=|[-+*/%^|&]=?|[<>?]")
_DECLARATION = re.compile(r"\w+ \w+(?:\[\d+\])?;$")
_CALL = re.compile(r"\b(?!if\b|for\b|while\b|sizeof\b|static_cast\b|reinterpret_cast\b)[A-Za-z_]\w*\(")


class _Block:
    def __init__(self, line: int, times: int):
        self.line, self.times, self.operations, self.gm_bytes = line, times, 0, 0


def with_costs(text: str) -> str:
    """The text with the cost of each block of its SIMT functions written behind the brace that opens it."""
    lines = text.split("\n")
    for match in _FUNCTION.finditer(text):
        first = text.count("\n", 0, match.start())
        pointers = {p["name"]: _BYTES.get(p["type"], 4) for p in _PARAMETER.finditer(match["parameters"])}
        _count(lines, first, pointers)
    return "\n".join(lines)


def _count(lines: list[str], first: int, pointers: dict[str, int]) -> None:
    blocks = [_Block(first, 1)]
    for number in range(first + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith("#") or _DECLARATION.match(line):
            continue
        if line.startswith("}"):
            block = blocks.pop()
            if block.times > 1:                 # a loop of known length: part of what is around it
                blocks[-1].operations += block.operations * block.times
                blocks[-1].gm_bytes += block.gm_bytes * block.times
            elif block.operations or block.gm_bytes:
                lines[block.line] += f" ASC_SIMT_COST({block.operations}, {block.gm_bytes});"
            if not blocks:
                return
            line = line[1:].strip()
        if line.endswith("{"):
            loop = _COUNTED_LOOP.match(line)
            # A condition belongs to the block around it, a step to each round.
            blocks[-1].operations += 0 if loop else 1
            blocks.append(_Block(number, int(loop[2]) if loop and int(loop[2]) > 1 else 1))
            continue
        operations, gm_bytes = _cost(line, pointers)
        blocks[-1].operations += operations
        blocks[-1].gm_bytes += gm_bytes


def _cost(statement: str, pointers: dict[str, int]) -> tuple[int, int]:
    text = re.sub(r"/\*.*?\*/|//.*", "", statement)
    gm_bytes = sum(_BYTES.get(match[1] or "", size) for name, size in pointers.items()
                   for match in re.finditer(rf"(?:\(__gm__ (\w+)\s*\*\)\s*\(?\s*)?\b{name}\b\s*(?:\[|\+)", text))
    accesses = 0
    while (inner := re.sub(r"\[[^\[\]]*\]", "@", text)) != text:    # what is between brackets is an address
        accesses += inner.count("@") - text.count("@")
        text = inner
    text = re.sub(r"\(\s*(?:__\w+__\s+)?(?:const\s+)?\w+\s*\*+\s*\)", "", text)      # casts of pointers
    text = re.sub(r"\((?:u?int\d*(?:_t)?|float|half|bfloat16_t|bool)\)", "", text)   # and of numbers
    return accesses + len(_OPERATOR.findall(text)) + len(_CALL.findall(text)), gm_bytes
