# SPDX-License-Identifier: MIT
"""Does a message name the line of the kernel's own text if the fault is in a header that it calls, at whichever of its lines?"""

import re
from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit
from ascend_sim.jit import host_compiler

FOLDER = Path(__file__).with_name("fault_lines")


def marked(file):
    """Of each `// @mark` at the end of a line: the line's number."""
    return {match[1]: number for number, line in enumerate((FOLDER / file).read_text().splitlines(), 1)
            if (match := re.search(r"// @(\w+(?: \d)?)$", line))}


LINES, SHARED = marked("lines.cpp"), marked("shared.h")

# kernel and `where`: what the message says, the line of the header or None
FAULTS = {
    **{f"inlined {where}": (f"V: asc_loadalign: the address is not 32-byte aligned; UB address 0x10{4 * where:x}", "load") for where in (1, 2, 3)},
    **{f"called {where}": ("MTE2: asc_copy_gm2ub_align: destination: UB0 address 0x10 is not 32-byte aligned", "copy_in") for where in (1, 2)},
    **{f"ends_in_a_jump {where}": ("V: asc_sync_wait: id = 9; the field holds 0 to 7", "wait") for where in (1, 2)},
    **{f"trap_of_scalar_code {where}": ("S: scalar load or store: UB0 address -0x4 lies before the memory", "element") for where in (1, 2)},
    **{f"of_an_exported_function {where}": ("S: scalar load or store: UB0 address -0x4 lies before the memory", "exported") for where in (1, 2)},
    **{f"unlikely {where}": ("MTE2: asc_copy_gm2ub_align: ", "rarely") for where in (1, 2)},
    **{f"assertion {where}": (f"S: assert: Check failed: x is {('one', 'two')[where - 1]} in block 0", "assert") for where in (1, 2)},
    "simt 1": (r"V: SIMT load or store: thread \(33, 0, 0\): UB0 address -0x4 lies before the memory", "element"),
    "simt 2": (r"V: SIMT load or store: thread \(34, 0, 0\): UB0 address -0x4 lies before the memory", "element"),
    "simt 3": (r"V: assert: thread \(35, 0, 0\): Check failed: in a thread in block 0", "assert"),
    "printed_before 1": (r"S: assert: assertion failed: !where \(this core printed last: x\[3\] = 0\.5\)", None),
    "broken_stack 1": ("S: scalar load or store: UB0 address -0x4 lies before the memory", None),
}

FAMILY = host_compiler.find().family


@pytest.fixture(scope="module")
def kernels():
    names = {name: "vector" for name in re.findall(r"^VECTOR\((\w+)", (FOLDER / "lines.cpp").read_text(), re.MULTILINE)}
    return jit.compile_all(FOLDER / "lines.cpp", names, include_dirs=[FOLDER])


def message_of(kernel, where):
    with pytest.raises(ascend_sim.LaunchError) as caught:
        kernel[1](torch.zeros(64).npu(), where)
    return str(caught.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_line_is_the_kernels_own_and_the_headers_is_added(kernels, fault):
    (name, where), (says, header) = fault.split(), FAULTS[fault]
    kernels[name][1](torch.zeros(64).npu(), 0)
    line, inside = LINES[fault], f" (in shared.h:{SHARED[header]})" if header else ""
    message = message_of(kernels[name], int(where))
    found = re.search(rf"{says}.*     lines\.cpp:([\d, or]+){re.escape(inside)}$", message)
    lines = re.findall(r"\d+", found[1]) if found else []
    # clang gives a device assertion a function of its own, and several lines call it
    assert str(line) in lines and (len(lines) == 1 or FAMILY == "clang"), f"lines.cpp:{line}{inside} expected:\n{message}"
    kernels[name][1](torch.zeros(64).npu(), 0)


def test_a_queued_instruction_names_every_line_that_may_have_issued_it(kernels):
    """The line of the header is known, and not who called it when."""
    kernels["deferred"][1](torch.zeros(64).npu(), 0)
    lines = f"lines.cpp:{LINES['deferred 1']} or {LINES['deferred 2']}"
    for where, flag in ((1, 0), (2, 1)):
        message = message_of(kernels["deferred"], where)
        assert message.endswith(f"MTE3  asc_sync_wait waits for flag V->MTE3 id {flag}: never set     {lines} (in shared.h:{SHARED['queued']})"), message
