# SPDX-License-Identifier: MIT
"""ASCEND_SIM_CHECK=memory: is every access to bytes that are not there, or that nobody wrote, reported with its line, and nothing else?"""

import re
import time
from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit

SOURCE = Path(__file__).with_name("checked_kernels.cpp")
TEXT = SOURCE.read_text()
LINES = {match[1]: number for number, line in enumerate(TEXT.splitlines(), 1) if (match := re.search(r"// @(\w+)$", line))}
NAMES = {name: "vector" for name in re.findall(r"^(?:VECTOR|SIMD|SIMT|COPIES)\((\w+)", TEXT, re.MULTILINE)}
NOTHING = "holds undefined data"


def leaves(line, offset=0x1000):
    """Undefined data leaves UB by the transfer of store(); the message names the line that read it, too."""
    return ("store", f"asc_copy_ub2gm_align: source: UB0 address {offset:#x} {NOTHING}.*; undefined data was read last in checked_kernels.cpp:{LINES[line]}")


# kernel: line, instruction, what it says
FAULTS = {
    "load_one_byte_too_far": ("load", "asc_copy_gm2ub_align: source: global memory 0x.* leaves its tensor, .*1 bytes too far"),
    "store_one_element_more_than_was_computed": ("store", "asc_copy_ub2gm_align: (destination: global memory 0x.* leaves|source: UB0 address 0x1100 holds undefined)"),
    "store_of_what_nobody_wrote": ("store", f"asc_copy_ub2gm_align: source: UB0 address 0x2000 {NOTHING}"),
    "store_of_a_row_too_many": ("store", f"asc_copy_ub2gm_align: source: UB0 address 0x1100 {NOTHING}"),
    "store_beyond_the_tensor": ("store", "asc_copy_ub2gm_align: destination: global memory 0x.* leaves its tensor, .*8 bytes too far"),
    "vector_load_of_nothing": leaves("vector_load"),
    "vector_load_beyond": ("vector_load_beyond", "asc_loadalign: UB0 address 0x3ff80, 256 bytes: the memory has addresses 0x0 to 0x40000"),
    "vector_store_beyond": ("vector_store_beyond", "asc_storealign: UB0 address 0x3ff80, 256 bytes: the memory has"),
    "broadcast_of_nothing": leaves("broadcast"),
    "gather_of_nothing": leaves("gather", 0x10fc),
    "scatter_beyond": ("scatter", "asc_scatter: UB0 address 0x40000, 4 bytes: the memory has"),
    "widened_from_nothing": leaves("widen"),
    "exp_of_nothing": leaves("exp"),
    "first_lane_beyond": ("first_lane", "asc_storealign_1st: UB0 address 0x40000, 4 bytes"),
    "scalar_load_of_nothing": leaves("scalar_load", 0x10fc),
    "scalar_load_beyond": ("scalar_load_beyond", "S: scalar load: UB0 address 0x40000, 4 bytes: the memory has"),
    "scalar_store_before": ("scalar_store", "S: scalar store: UB0 address -0x4, 4 bytes: the memory has"),
    "scalar_load_beyond_a_tensor": ("tensor_load", "S: scalar load: global memory 0x.* belongs to no live tensor"),
    "scalar_store_beyond_a_tensor": ("tensor_store", "S: scalar store: global memory 0x.* belongs to no live tensor"),
    "scalar_load_across_the_end": ("across", "S: scalar load: global memory 0x.* leaves its tensor, .*4 bytes too far"),
    "data_of_the_block_before": ("store", f"asc_copy_ub2gm_align: source: UB0 address 0x1000 {NOTHING}"),
    "struct_copy_of_nothing": leaves("struct_copy"),
    "simt_load_of_nothing": leaves("simt_load", 0x10fc),
    "simt_store_of_nothing_into_a_tensor": ("simt_gm_store", r"V: SIMT store: thread \(63, 0, 0\): undefined data goes to global memory 0x.*; undefined data was read last in"),
    "index_from_nothing": ("index", r"V: SIMT load: thread \(0, 0, 0\): UB0 address 0x1ff95ff94, 4 bytes: the memory has"),
    "simt_wild_load": ("simt_wild_load", r"V: SIMT load: thread \(5, 0, 0\): UB0 address 0x100000000, 4 bytes"),
    "simt_wild_store": ("simt_wild_store", r"V: SIMT store: thread \(5, 0, 0\): UB0 address -0x435c0, 4 bytes"),
    "simt_load_beyond_a_tensor": ("simt_tensor", r"V: SIMT load: thread \(63, 0, 0\): global memory 0x.* belongs to no live tensor"),
    "simt_store_before_a_tensor": ("simt_before", r"V: SIMT store: thread \(0, 0, 0\): global memory 0x.* belongs to no live tensor"),
    "simt_atomic_on_nothing": leaves("simt_atomic"),
    "simt_atomic_beyond_a_tensor": ("simt_gm_atomic", r"V: asc_atomic_add: thread \(63, 0, 0\): global memory 0x.* belongs to no live tensor"),
    "simt_reads_what_nobody_has_written": leaves("simt_order"),
    **{name: leaves("copy_as", 0x10e0) for name in ("copies_of_16_bits", "copies_of_words", "copies_of_two_words", "copies_of_large_structures")},
    "simt_shuffle_from_another_branch": leaves("shuffle", 0x1004),
    "simt_write_meets_a_read": ("race_write", r"V: SIMT store: thread \(32, 0, 0\): a race on UB0 address 0x80, 4 bytes: warp 0 \(threads 0 to 31\) has read there, with no asc_syncthreads"),
    "simt_read_meets_a_write": ("race_read", r"V: SIMT load: thread \(32, 0, 0\): a race on UB0 address 0x1000, 4 bytes: warp 0 \(threads 0 to 31\) has written there"),
    "simt_two_write_one_place": ("race_writes", r"V: SIMT store: thread \(32, 0, 0\): a race on UB0 address 0x1000, 4 bytes: warp 0 .* has written there"),
    "simt_pair_straddles": ("race_halves", r"V: SIMT store: thread \(32, 0, 0\): a race on UB0 address 0x103e, 2 bytes: warp 0 .* has written there"),
    "simt_counts_without_atomics": ("race_count", r"V: SIMT load: thread \(32, 0, 0\): a race on UB0 address 0x1100, 4 bytes: warp 0 .* has (changed what it has read|written) there"),
    "f16_of_nothing": leaves("f16"),
    "thrown": ("thrown", "S: throw: an exception of type Reason; the chip has no exceptions"),
    "last_store_of_nothing": ("last_store", "S: scalar store: undefined data goes to global memory 0x.*; undefined data was read last in"),
}
RIGHT = sorted(set(NAMES) - set(FAULTS))


@pytest.fixture(scope="module")
def checked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_CHECK", "memory")
        return jit.compile_all(SOURCE, NAMES)


@pytest.fixture(scope="module")
def plain():
    return jit.compile_all(SOURCE, NAMES)


class Tensors:
    """x and y with nothing live beside them: their neighbours are freed."""

    def __init__(self):
        around = [torch.zeros(64).npu() for _ in range(5)]
        self.x, self.y = around[1], around[3]
        self.x.copy_(torch.randn(64, generator=torch.Generator().manual_seed(1)))
        self.y.fill_(torch.nan)
        del around

    def run(self, kernel, broken=0, blocks=1):
        kernel[blocks](self.x, self.y, broken)
        return self.y.cpu(), 2 * self.x.cpu()


def blocks_of(name):
    return 65 if name == "data_of_the_block_before" else 1      # 64 vector cores: block 64 follows block 0 on its core


def test_there_are_twenty_faults_at_least():
    assert len(FAULTS) >= 20


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_reported_with_its_line(checked, name):
    line, says = FAULTS[name]
    tensors = Tensors()
    if name != "simt_atomic_beyond_a_tensor":       # whose right form adds to what it stores
        got, expected = tensors.run(checked[name])
        assert got.equal(expected)
    with pytest.raises(ascend_sim.LaunchError) as caught:
        tensors.run(checked[name], broken=1, blocks=blocks_of(name))
    message = str(caught.value)
    assert re.search(f"{says}.*     checked_kernels.cpp:{LINES[line]}$", message), message
    got, expected = tensors.run(checked["local_arrays"])
    assert got.equal(expected)                      # and the device goes on


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_reported_on_right_kernels(checked, name):
    got, expected = Tensors().run(checked[name], blocks=3)
    assert got.equal(expected)


def test_unchecked_kernels_say_nothing_where_nothing_traps(plain):
    for name in ("store_of_what_nobody_wrote", "vector_load_of_nothing", "scalar_load_of_nothing", "simt_load_of_nothing"):
        Tensors().run(plain[name], broken=1)


def test_checked_and_unchecked_kernels_alternate(checked, plain):
    tensors = Tensors()
    for kernels in (checked, plain, checked, plain):
        got, expected = tensors.run(kernels["half_a_register"], blocks=70)
        assert got.equal(expected)
    with ascend_sim.mode("functional"):
        got, expected = tensors.run(checked["half_a_register"])
        assert got.equal(expected)


def test_simt_programs_run_checked():
    """The SIMT tests' own kernels: barriers, exchanges, atomics of all types; nothing is reported."""
    source = SOURCE.with_name("simt_kernels.cpp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_CHECK", "memory")
        kernels = jit.compile_all(source, {name: "vector" for name in ("barriers", "leaving", "costs")})
    x, out = torch.arange(100, dtype=torch.int32).npu(), torch.zeros(600, dtype=torch.int32).npu()
    kernels["barriers"][1](x, out, 100, 5)
    assert out[:100].cpu().equal(x.cpu().roll(-5) + 10)
    kernels["leaving"][1](out, 1)
    kernels["costs"][1](out, 256, 3, 3, 3, 3, 3)


@pytest.mark.parametrize("name, limit", [("many_vector_instructions", 3), ("many_plain_accesses", 15)])
def test_checking_costs_no_more_than_a_known_factor(checked, plain, name, limit):
    tensors, seconds = Tensors(), {}
    for attempt in range(40):           # of the processor's time: others on this machine interrupt the longer one more often
        for kind, kernels in (("checked", checked), ("plain", plain)):
            begin = time.process_time()
            tensors.run(kernels[name], broken=200_000 if limit == 3 else 3000)
            seconds[kind] = min(seconds.get(kind, 9e9), time.process_time() - begin)
        if attempt >= 4 and seconds["checked"] < limit * seconds["plain"]:
            break
    assert seconds["checked"] < limit * seconds["plain"], seconds
