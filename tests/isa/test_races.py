# SPDX-License-Identifier: MIT
"""ASCEND_SIM_CHECK=races: is each flag, lock and cross-core flag that a kernel lacks found where two accesses meet, and nothing in right kernels?"""

import re
from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit
from support.launches import races_looked_for

SOURCE = Path(__file__).with_name("raced_kernels.cpp")
TEXT = SOURCE.read_text()
LINES = {match[1]: number for number, line in enumerate(TEXT.splitlines(), 1) if (match := re.search(r"// @(\w+)$", line))}
CORES = {"VECTOR": "vector", "CUBE": "cube", "MIX": "mix"}
KERNELS = {match[2]: CORES[match[1]] for match in re.finditer(r"^(VECTOR|CUBE|MIX)\((\w+)", TEXT, re.MULTILINE)}

# kernel, what is missing: the access that is too early, the one before, what the message says: memory, who, what would order them
RACES = {
    ("tiles", 1): ("load", "vector_load", "MTE2: asc_copy_gm2ub_align: a race on UB0 address 0x0: a vector function has read there", "a flag V->MTE2 would"),
    ("tiles", 2): ("vector_load", "load", "V: asc_loadalign: a race on UB0 address 0x0: asc_copy_gm2ub_align of MTE2 has written there", "a flag MTE2->V would"),
    ("tiles", 3): ("vector_store", "store", "V: asc_storealign: a race on UB0 address 0x400: asc_copy_ub2gm_align of MTE3 has read there", "a flag MTE3->V would"),
    ("tiles", 4): ("store", "vector_store", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x400: a vector function has written there", "a flag V->MTE3 would"),
    ("scalars", 1): ("scalar", "load", "S: scalar load: a race on UB0 address 0x0: asc_copy_gm2ub_align of MTE2 has written there", "a flag MTE2->S would"),
    ("scalars", 2): ("vector_load", "scalar", "V: asc_loadalign: a race on UB0 address 0x0: scalar code has written there", "a flag S->V would"),
    ("scalars", 3): ("scalar_behind", "vector_store", "S: scalar load: a race on UB0 address 0x400: a vector function has written there", "a flag V->S would"),
    ("scalars", 4): ("store", "scalar_behind", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x400: scalar code has written there", "a flag S->MTE3 would"),
    ("locks", 1): ("vector_load", "load", "V: asc_loadalign: a race on UB0 address 0x0: asc_copy_gm2ub_align of MTE2 has written", "a flag MTE2->V would"),
    ("locks", 2): ("store", "vector_store", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x400: a vector function has written", "a flag V->MTE3 would"),
    ("threads", 1): ("simt", "load", r"V: SIMT load: thread \(0, 0, 0\): a race on UB0 address 0x0: asc_copy_gm2ub_align of MTE2 has written", "a flag MTE2->V would"),
    ("threads", 2): ("store", "simt", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x400: a vector function has written", "a flag V->MTE3 would"),
    ("products", 1): ("load_a", "load_l0a", "MTE2: asc_copy_gm2l1_nd2nz: a race on L1 address 0x0: asc_copy_l12l0a of MTE1 has read there", "a flag MTE1->MTE2 would"),
    ("products", 2): ("load_l0a", "load_a", "MTE1: asc_copy_l12l0a: a race on L1 address 0x0: asc_copy_gm2l1_nd2nz of MTE2 has written there", "a flag MTE2->MTE1 would"),
    ("products", 3): ("load_l0a", "mmad", "MTE1: asc_copy_l12l0a: a race on L0A address 0x0: asc_mmad of M has read there", "a flag M->MTE1 would"),
    ("products", 4): ("mmad", "load_l0a", "M: asc_mmad: a race on L0A address 0x0: asc_copy_l12l0a of MTE1 has written there", "a flag MTE1->M would"),
    ("products", 5): ("mmad", "fix", "M: asc_mmad: a race on L0C address 0x0: asc_copy_l0c2gm of FIX has read there", "a flag FIX->M would"),
    ("products", 6): ("fix", "mmad", "FIX: asc_copy_l0c2gm: a race on L0C address 0x0: asc_mmad of M has written there", "a flag M->FIX would"),
    ("ahead", 1): ("fix", "mmad", "FIX: asc_copy_l0c2gm: a race on L0C address 0x0: asc_mmad of M has written there already,", "a flag FIX->M would"),
    ("between_cores", 1): ("store_product", "fix_to_ub", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x0: asc_copy_l0c2ub of FIX of aic has written", "a cross-core flag would"),
    # The cube is ahead: the product of the last tile is there when the first one is stored.
    ("between_cores", 2): ("store_product", "fix_to_ub", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x0: asc_copy_l0c2ub of FIX of aic has written", "a cross-core flag would"),
    **{("tables", number): (line, before, f"a race on {memory} address {at}: {who} there", "") for number, line, before, memory, at, who in (
        (1, "load_l0a_e4m3", "gm2l1", "L1", "0x0", "asc_copy_gm2l1 of MTE2 has written"),
        (2, "load_l0a_mx", "fill_l1", "L1", "0x1000", "asc_fill_l1 of MTE2 has written"),
        (3, "fill_again", "load_l0a_mx", "L1", "0x1000", "asc_copy_l12l0a_mx of MTE1 has read"),
        (5, "load_l0a_mx_again", "mmad_mx", "L0A_MX", "0x0", "asc_mmad_mx of M has read"),
        (4, "load_l0b_mx", "fill_again", "L1", "0x1000", "asc_fill_l1 of MTE2 has written"),
        (6, "l12bt_again", "mmad_mx", "BT", "0x0", "asc_mmad_mx of M has read"),
        (7, "load_result", "l0c2l1", "L1", "0x2000", "asc_copy_l0c2l1 of FIX has written"),
        (8, "l12fb_again", "l0c2l1", "FB", "0x40", "asc_copy_l0c2l1 of FIX has read"),
        (9, "l0c2l1", "l12fb_again", "FB", "0x40", "asc_copy_l12fb of MTE1 has written"))},
    **{("layouts", number): (line, before, f"a race on {memory} address 0x0: {who} there", "") for number, line, before, memory, who in (
        (1, "transpose", "dn2nz", "L1", "asc_copy_gm2l1_dn2nz of MTE2 has written"),
        (3, "img2col", "gm2l1_again", "L1", "asc_copy_gm2l1 of MTE2 has written"),
        (4, "mmad_f16", "img2col", "L0A", "asc_copy_l12l0a_img2col of MTE1 has written"),
        (5, "transpose_b32", "gm2l1_f32", "L1", "asc_copy_gm2l1 of MTE2 has written"),
        (6, "mmad_behind", "transpose_b32", "L0B", "asc_copy_l12l0b_transpose of MTE1 has written"))},
    ("behind_unit_flags", 1): ("load_a", "load_l0a_again", "MTE2: asc_copy_gm2l1_nd2nz: a race on L1 address 0x0: asc_copy_l12l0a of MTE1 has read there", "a flag MTE1->MTE2 would"),
    ("behind_unit_flags", 2): ("mmad", "load_l0a_again", "M: asc_mmad: a race on L0A address 0x0: asc_copy_l12l0a of MTE1 has written there", "a flag MTE1->M would"),
    ("in_place", 1): ("store", "vector_store", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x0: a vector function has written there", "a flag V->MTE3 would"),
    ("in_place", 2): ("load", "store", "MTE2: asc_copy_gm2ub_align: a race on UB0 address 0x0: asc_copy_ub2gm_align of MTE3 has read there", "a flag MTE3->MTE2 would"),
    ("in_a_block", 1): ("load_in_block", "load", "V: asc_loadalign: a race on UB0 address 0x0: asc_copy_gm2ub_align of MTE2 has written there", "a flag MTE2->V would"),
    ("in_a_block", 2): ("store", "store_in_block", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0x400: a vector function has written there", "a flag V->MTE3 would"),
    ("late_load", 1): ("load", "vector_load", "MTE2: asc_copy_gm2ub_align: a race on UB0 address 0x0: a vector function has read there already,", "a flag MTE2->V would"),
    ("later_unlock", 1): ("load", "vector_load", "MTE2: asc_copy_gm2ub_align: a race on UB0 address 0x0: a vector function has read there already,", "a flag MTE2->V would"),
    ("barriers", 1): ("second_turn", "first_turn", "aiv1 block 0 MTE3: asc_copy_ub2l1: a race on L1 address 0x0: asc_copy_ub2l1 of MTE3 of aiv0 has written", "a cross-core flag"),
    ("stores", 1): ("behind_scalar", "mere_store", "MTE3: asc_copy_ub2gm_align: a race on UB0 address 0xc: scalar code has written there", "a flag S->MTE3 would"),
    ("stores", 2): ("last_word", "behind_scalar", "S: scalar store: a race on UB0 address 0x0: asc_copy_ub2gm_align of MTE3 has read there", "a flag MTE3->S would"),
    ("store_before_function", 1): ("announced_as_load", "reads_first", "S: scalar store: a race on UB0 address 0x0: asc_copy_ub2gm_align of MTE3 has read there", "a flag MTE3->S would"),
    ("stores", 3): ("mere_load", "load", "S: scalar load: a race on UB0 address 0xc: asc_copy_gm2ub_align of MTE2 has written there", "a flag MTE2->S would"),
    ("out_of_l1", 1): ("l12ub", "gm2l1_for_ub", "a race on L1 address 0x0: asc_copy_gm2l1 of MTE2 has written there", ""),
    ("out_of_l1", 2): ("store_of_l1", "l12ub", "a race on UB0 address 0x0: asc_copy_l12ub of MTE1 of aic has written there", "a cross-core flag"),
}
IN_HEADER = r"( \(in \w+\.h:\d+\))?"
WITHOUT_VALUES = {"tables", "layouts", "out_of_l1", "late_load", "later_unlock", "barriers", "stores", "store_before_function", "many_waits"}


@pytest.fixture
def races():
    with races_looked_for():
        yield


@pytest.fixture(scope="module")
def checked():
    with races_looked_for():
        return jit.compile_all(SOURCE, KERNELS)


def run(kernel, missing, blocks=1):
    """What came out, and what must."""
    numbers = torch.randn(512, generator=torch.Generator().manual_seed(1))
    if kernel.cores == "vector":
        y = torch.full((256,), torch.nan).npu()
        kernel[blocks](numbers[:256].npu(), y, missing)
        return y.cpu(), y.cpu() if kernel.name in WITHOUT_VALUES else 2 * numbers[:256]
    a, b = numbers.bfloat16().view(2, 16, 16)
    y = torch.full((16, 16), torch.nan).npu()
    kernel[blocks](torch.stack([a, b]).npu(), y, missing)
    if kernel.name in WITHOUT_VALUES:
        return y.cpu(), y.cpu()
    return y.cpu(), (a.double() @ b.double().T).float()


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_reported_on_right_kernels(checked, races, name):
    torch.testing.assert_close(*run(checked[name], missing=0, blocks=3), rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name, missing", RACES)
def test_what_a_kernel_lacks_is_named_with_both_lines(checked, races, name, missing):
    line, before, says, would = RACES[name, missing]
    with pytest.raises(ascend_sim.LaunchError) as caught:
        run(checked[name], missing)
    message = str(caught.value)
    assert re.search(f"{says}.* in raced_kernels.cpp:{LINES[before]}{IN_HEADER}, and nothing orders the two; {would}.*     raced_kernels.cpp:{LINES[line]}$", message), message
    torch.testing.assert_close(*run(checked[name], missing=0), rtol=1e-5, atol=1e-5, equal_nan=True)     # the device goes on


def test_without_the_check_nothing_shows(checked):
    torch.testing.assert_close(*run(checked["tiles"], missing=2), rtol=1e-5, atol=1e-5)


def test_what_is_remembered_does_not_grow_with_a_kernel(checked, races):
    with ascend_sim.mode("functional"):             # without a trace, which does
        run(checked["many_waits"], missing=0)       # what the device needs once
        before = peak_bytes(resets=True)
        run(checked["many_waits"], missing=1)
        assert peak_bytes() - before < 16 << 20


def peak_bytes(resets=False):
    """Of this process's memory in RAM, since it was reset."""
    if resets:
        Path("/proc/self/clear_refs").write_text("5")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
