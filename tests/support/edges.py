# SPDX-License-Identifier: MIT
"""Which edge values does each instruction need, and which test goes through them?

    @edges("values lanes", "asc_{add,sub}")         on a test: of these instructions it goes through these kinds of edges

tests/isa/test_completeness.py fails for an instruction some of whose kinds (NEEDS) no test claims; docs/isa_coverage.md lists them.
A new instruction: its kinds follow from its header; write them into the values of its test and the mark on top.
"""

import ast
import re
from pathlib import Path

KINDS = {
    "values": "±0, subnormals, ±inf, NaN, the largest; of integers the least, −1, 0, 1, the largest; every code of 8 bits",
    "ties": "halfway between two results, both parities, every rounding it has; the last value that does not overflow and the first that does",
    "lanes": "none, only the first, only the last, a tail, all; what lanes hold that are off leaves no trace",
    "sizes": "0, 1, one less and one more than a whole unit",
    "strides": "0, dense, with gaps; backwards where a step may be negative",
    "bounds": "the largest field, id and last address accepted, and the first one refused",
    "indices": "the first, the last, twice the same, outside: wrapped, ignored or refused",
    "parts": "each part of the wider lane",
}

# The first pattern that matches "header instruction" says what is needed; "" with a reason: nothing.
NEEDS = [
    (r"setup.h .*", "", "no operands; what they give is in every mixed kernel"),
    (r"sync.h asc_sync(_pipe)?", "", "no operand but the pipe; drains are compared in pairs of kernels with and without (test_faults.py)"),
    (r"sync.h .*", "bounds"),
    (r"scalar_gm.h .*", "values bounds"),
    (r"dma.h asc_set_atomic_none", "", "no operand"),
    (r"dma.h asc_set_atomic_.*", "values"),
    (r"dma.h asc_set_copy_pad_val", "values"),
    (r"dma.h asc_set_gm2l1_nz_para", "strides bounds"),
    (r"dma.h asc_copy_ub2l1|load.h asc_copy_l12ub|dma.h asc_copy_.*|load.h asc_copy_l12l0.*", "sizes strides bounds"),
    (r"(dma|load).h asc_fill_.*", "sizes strides bounds"),
    (r"load.h asc_copy_l12(bt|fb)", "values sizes bounds"),
    (r"img2col.h .*", "values sizes strides bounds"),
    (r"cube.h asc_mmad(_mx)?", "values sizes bounds"),
    (r"cube.h asc_set_mmad_direction_.*", "", "an order in time; values do not depend on it"),
    (r"cube.h asc_(enable|disable)_hf32|cube.h asc_set_hf32_round_mode", "values ties"),
    (r"fixpipe.h asc_copy_.*", "values ties sizes strides bounds"),
    (r"fixpipe.h asc_set_l0c_copy_(quant|prelu)_vector", "values bounds"),
    (r"fixpipe.h asc_set_l0c_copy_(nz_para|c0_stride)", "strides bounds"),
    (r"fixpipe.h asc_set_.*", "values"),
    (r"simd_(arithmetic|merge|reduce|mask).h asc_unsqueeze|.* asc_squeeze", "lanes"),
    (r"simd_mask.h asc_create_mask_.*|simd_mask.h asc_update_mask_.*", "lanes"),
    (r"simd_mask.h asc_mem_bar", "", "orders what is in order here"),
    (r"simd_mask.h asc_(loadalign|storealign).*", "lanes bounds"),
    (r"simd_mask.h .*", "lanes"),
    (r"simd_memory.h asc_update_addr_reg.*", "values"),
    (r"simd_memory.h asc_loadalign.*_postupdate", "strides bounds"),
    (r"simd_memory.h asc_loadalign.*", "bounds"),
    (r"simd_memory.h asc_storealign(_postupdate)?", "lanes strides bounds"),
    (r"simd_memory.h asc_storealign_1st", "values bounds"),
    (r"simd_memory.h asc_storealign.*", "lanes bounds"),
    (r"simd_memory.h asc_(gather|scatter).*", "lanes indices bounds"),
    (r"simd_permute.h asc_gather", "indices"),
    (r"simd_permute.h asc_arange.*", "values"),
    (r"simd_permute.h asc_(de)?intlv|simd_permute.h asc_(un)?pack.*", "values"),
    (r"simd_convert.h .*", "values ties lanes parts"),
    (r"simd_\w+.h .*", "values lanes"),
    (r"simt.h asc_shfl.*", "values lanes indices"),
    (r"simt.h asc_reduce_.*|simt.h asc_(ballot|any|all)", "values lanes"),
    (r"simt.h asc_threadfence.*", "", "orders what is in order here"),
    (r"simt.h .*", "lanes"),
    (r"simt_launch.h .*", "bounds"),
    (r"simt_atomic.h .*", "values bounds"),
]


def edges(kinds: str, names: str):
    """Marks a test: it goes through these kinds of edges of these instructions. Read from the source, so both are literals."""
    def mark(test):
        return test
    return mark


def spelled_out(pattern: str) -> list[str]:
    """asc_{add,sub}_scalar -> asc_add_scalar, asc_sub_scalar"""
    match = re.search(r"\{([^}]*)\}", pattern)
    if not match:
        return [pattern]
    return [name for part in match[1].split(",") for name in spelled_out(pattern.replace(match[0], part, 1))]


def needed(header: str, name: str) -> tuple[frozenset, str]:
    """(kinds, the reason if there are none); KeyError if no row of NEEDS speaks of it."""
    for pattern, kinds, *reason in NEEDS:
        if re.fullmatch(pattern, f"{header} {name}"):
            return frozenset(kinds.split()), *(reason or [""])
    raise KeyError(f"{header} {name}")


def claimed(folder: Path) -> dict[str, dict[str, set[str]]]:
    """Instruction -> kind -> tests ("file::test") that say they go through it."""
    found = {}
    for file in sorted(folder.glob("test_*.py")):
        for function in ast.walk(ast.parse(file.read_text())):
            for mark in getattr(function, "decorator_list", ()):
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "edges":
                    kinds, names = (ast.literal_eval(argument).split() for argument in mark.args)
                    for name in (one for pattern in names for one in spelled_out(pattern)):
                        for kind in kinds:
                            found.setdefault(name, {}).setdefault(kind, set()).add(f"{file.name}::{function.name}")
    return found
