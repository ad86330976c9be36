# SPDX-License-Identifier: MIT
"""What does a broken kernel get? One error that names kernel, core, pipe, instruction, address or flag, and line. And the device goes on.

Every kernel of faulty_kernels.cpp comes as a pair: right, and with one rule broken.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import ascend_sim
import pytest
import torch
from ascend_sim import jit
from support.launches import time_limit

SOURCE = Path(__file__).with_name("faulty_kernels.cpp")
CORES = {"CUBE": "cube", "PRODUCT": "cube", "VECTOR": "vector", "TWICE": "vector", "MIX": "mix"}
KERNELS = {match[2]: CORES[match[1]]
           for match in re.finditer(r"^(CUBE|PRODUCT|VECTOR|TWICE|MIX)\((\w+)", SOURCE.read_text(), re.MULTILINE)}
LINES = {match[1]: number for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
         if (match := re.search(r"// @(\w+)$", line))}

AIC, AIV = "core 0 aic block 0", "core 0 aiv0 block 0"
AIC_WAITS, AIV_WAITS = "core 0  aic  block 0", "core 0  aiv0  block 0"
STUCK = "no core can continue"

# kernel: the line, then what the message says (regular expressions), in this order
FAULTS = {
    # addresses
    "l1_out_of_range": ("load_a", f"{AIC} MTE2: asc_copy_gm2l1_nd2nz: destination: L1 addresses 0x7ff00 to 0x80100; the memory ends at 0x80000"),
    "l1_misaligned": ("load_a", f"{AIC} MTE2: asc_copy_gm2l1_nd2nz: destination: L1 address 0x10 is not 32-byte aligned"),
    "l0a_out_of_range": ("load_l0a", f"{AIC} MTE1: asc_copy_l12l0a: destination: L0A addresses 0x10000 to 0x10200; the memory ends at 0x10000"),
    "l0a_misaligned": ("load_l0a", f"{AIC} MTE1: asc_copy_l12l0a: destination: L0A address 0x100 is not 512-byte aligned"),
    "l0c_out_of_range": ("mmad", f"{AIC} M: asc_mmad: destination: L0C addresses 0x3fe00 to 0x40200; the memory ends at 0x40000"),
    "l0c_misaligned": ("mmad", f"{AIC} M: asc_mmad: destination: L0C address 0x20 is not 64-byte aligned"),
    "gm_one_row_too_many": ("load_a", f"{AIC} MTE2: asc_copy_gm2l1_nd2nz: source: global memory 0x.* leaves its tensor, .*32 bytes too far"),
    "ub_out_of_range": ("gm2ub", f"{AIV} MTE2: asc_copy_gm2ub_align: destination: UB0 addresses 0x3ff80 to 0x40080; the memory ends at 0x40000"),
    "ub_misaligned": ("gm2ub", f"{AIV} MTE2: asc_copy_gm2ub_align: destination: UB0 address 0x10 is not 32-byte aligned"),
    "gm_one_byte_too_far": ("gm2ub", f"{AIV} MTE2: asc_copy_gm2ub_align: source: global memory 0x.* leaves its tensor, .*1 bytes too far"),
    "vector_load_misaligned": ("vector_load", f"{AIV} V: asc_loadalign: the address is not 32-byte aligned; UB address 0x4"),
    "vector_load_out_of_range": ("vector_load", f"{AIV} V: asc_loadalign: UB0 address 0x40000 lies behind the memory, which ends at 0x40000"),
    "scalar_out_of_range": ("scalar_store", f"{AIV} S: scalar load or store: UB0 address 0x40000 lies behind the memory"),
    "null_pointer": ("scalar_load", f"{AIV} S: scalar load or store: address 0x40 is .*null, or an offset into L1 or L0"),
    # flags
    "lost_flag": ("wait_m", STUCK, f"{AIC_WAITS}  M  asc_sync_wait waits for flag MTE1->M id 1: never set; set and not waited for so far: MTE1->M id 0     ",
                  f"{AIC_WAITS}  FIX  asc_sync_wait waits for flag M->FIX id 0: its set is queued behind what M waits for"),
    "lost_flag_of_vector_core": ("wait_v", STUCK, f"{AIV_WAITS}  V  asc_sync_wait waits for flag MTE2->V id 5: never set"),
    "flag_set_twice": ("second_set", "flags are used wrongly; outputs may be written",
                       r"core 0  aic  MTE2  asc_sync_notify sets flag MTE2->MTE1 id 0 at cycle \d+, before the wait at cycle \d+"),
    "sets_left": ("sets_left", "flags are used wrongly; outputs may be written",
                  r"core 0  aic  MTE2  asc_sync_notify sets flag MTE2->MTE1 id 5 at cycle \d+, and nothing ever consumes the one before: 3 sets are left when"),
    "more_sets_than_waits": ("many_sets", "flags are used wrongly", r"sets flag MTE2->V id 3 at cycle \d+, .*\n.* MTE2->V id 3 .*nothing ever consumes the one before: 19 sets are left"),
    "flag_id": ("wait_m", f"{AIC} M: asc_sync_wait: id = 8; the field holds 0 to 7"),
    "unit_flag_never_set": ("fix", STUCK, f"{AIC_WAITS}  FIX  asc_copy_l0c2gm waits for the unit flags of L0C address 0x0, 16x16 results"),
    "cores_wait_for_each_other": ("cube_waits", STUCK,
                                  f"{AIC_WAITS}  MTE2  asc_sync_intra_wait waits for cross-core flag 3 of aiv0 .*: never set",
                                  f"{AIV_WAITS}  V  asc_sync_wait waits for flag MTE2->V id 0: its set is queued behind what MTE2 waits for",
                                  f"{AIV_WAITS}  MTE2  asc_sync_intra_wait waits for cross-core flag 2: its set is queued behind what MTE2 of aic waits for"),
    "one_of_two_arrives": ("needs_both", STUCK, f"{AIC_WAITS}  FIX  asc_sync_cross_wait waits for cross-core flag 4 of aiv1"),
    "cross_flag_of_another_id": ("waits_for_two", STUCK,
                                 f"{AIV_WAITS}  MTE2  asc_sync_intra_wait waits for cross-core flag 2: never set; set and not waited for so far: cross-core flag 3     "),
    "counter_overflow": ("count", f"{AIC} FIX: asc_sync_intra_arrive: cross-core flag 1: aiv0 has not consumed 16 sets; .*at most 15"),
    "grid_barrier": ("grid_wait", STUCK, f"{AIV_WAITS}  MTE3  asc_sync_inter_wait waits for grid-wide barrier 11: 3 of 4 cores arrived"),
    # fields
    "mmad_m_field": ("mmad", f"{AIC} M: asc_mmad: m = 4096; the field holds 0 to 4095"),
    "mmad_unit_flag_mode": ("mmad", f"{AIC} M: asc_mmad: unit flag 1; accepted are 0 off, 2 wait, 3 wait and flip"),
    "fix_n_field": ("fix", f"{AIC} FIX: asc_copy_l0c2gm: n = 4096; the field holds 0 to 4095"),
    "fix_quant_mode": ("fix", f"{AIC} FIX: asc_copy_l0c2gm: quant mode 7; available are 0 NONE, 1 F322F16, "),
    "mx_k": ("mx_k", f"{AIC} M: asc_mmad_mx: k = 96; with block scales k is a multiple of 64"),
    "burst_count": ("gm2ub", f"{AIV} MTE2: asc_copy_gm2ub_align: n = 4096; the field holds 0 to 4095"),
    # undefined data
    "l0a_undefined": ("mmad", f"{AIC} M: asc_mmad: left operand: L0A address 0x200 holds undefined data"),
    "l0b_undefined": ("mmad", f"{AIC} M: asc_mmad: right operand: L0B address 0x0 holds undefined data"),
    "row_undefined": ("fix", f"{AIC} FIX: asc_copy_l0c2gm: source: L0C address 0x400 holds undefined data; undefined data was multiplied last by "
                      r"asc_mmad \(left operand, L0A address 0x200\) in faulty_kernels.cpp:\d+"),
    "columns_undefined": ("fix", f"{AIC} FIX: asc_copy_l0c2gm: source: L0C address 0x400 holds undefined data; undefined data was multiplied last by "
                          r"asc_mmad \(right operand, L0B address 0x200\) in faulty_kernels.cpp:\d+"),
    "accumulator_undefined": ("mmad", f"{AIC} M: asc_mmad: accumulator: L0C address 0x0 holds undefined data"),
    "l0c_undefined": ("fix", f"{AIC} FIX: asc_copy_l0c2gm: source: L0C address 0x400 holds undefined data"),
    "scales_undefined": ("mmad_mx", f"{AIC} M: asc_mmad_mx: left scales: L0A_MX address 0x0 holds undefined data"),
    # the wrong core, and what ends any program
    "cube_instruction": ("wrong_core", f"{AIV} M: asc_mmad: only the cube core .AIC. has this instruction"),
    "instruction_where_nothing_may_be_thrown": ("notify_nothing", f"{AIV} M: asc_sync_notify: this core has no pipe M"),
    "wait_where_nothing_may_be_thrown": ("wait_for_nothing", STUCK, f"{AIV_WAITS}  S  asc_sync_wait waits for flag V->S id 5: never set"),
    "pipe_of_the_cube": ("wrong_pipe", f"{AIV} MTE1: asc_sync_notify: this core has no pipe MTE1"),
    "assertion": ("assert", f"{AIV} S: assert: assertion failed: !broken"),
    "division_by_zero": ("division", f"{AIV} S: scalar code: integer division by zero"),
    "quotient_too_large": ("quotient", f"{AIV} S: scalar code: integer division by zero, or of the most negative integer by -1"),
    "wild_call": ("wild_call", f"{AIV} S: scalar code: call of address 0x1234560, where no code is"),
    "null_call": ("null_call", f"{AIV} S: scalar code: call of address 0x0, where no code is"),
    "call_of_data": ("call_of_data", f"{AIV} S: scalar code: call of address 0x.*, where no code is"),
    "impossible_address": ("impossible", f"{AIV} S: scalar load or store: an address that no memory can have"),
    "thrown": ("throw", f"{AIV} S: throw: an exception of type short; the chip has no exceptions"),
    "thrown_where_nothing_may_be": ("throw_nothing", f"{AIV} S: throw: an exception of type int"),
    "aborted": ("abort", f"{AIV} S: abort: called by kernel code"),
    "exited": ("exit", f"{AIV} S: exit: called by kernel code, with status 3; a kernel ends by returning"),
    "left_at_once": ("_exit", f"{AIV} S: _exit: called by kernel code, with status 4; a kernel ends by returning"),
    "terminated": ("terminate", f"{AIV} S: std::terminate: called by kernel code"),
    "raised": ("raise", f"{AIV} S: raise: signal 9 raised by kernel code"),
    "trap_instruction": ("trap", f"{AIV} S: scalar code: a trap instruction: __builtin_trap"),
    "trap_of_a_thread": ("simt_trap", f"{AIV} V: SIMT code: thread .5, 0, 0.: a trap instruction: __builtin_trap"),
    "no_such_element": ("element", f"{AIV} S: throw: std::out_of_range: vector::_M_range_check: __n .which is 7.*; the chip has no exceptions"),
    "library_throws_where_nothing_may_be": ("locale", f"{AIV} S: std::terminate: an exception of type std::runtime_error left a function that may not throw: locale::facet.*; the chip has no exceptions"),
    "pure_virtual": ("virtual", f"{AIV} S: virtual call: a pure virtual function was called"),
    "stack_overflow": ("recursion", f"{AIV} S: scalar load or store: local variables need more than the 512 KiB"),
    "never_ends": ("endless", f"{AIV} V: asc_sync_pipe: still running after 1 s, the limit set by DG_JIT_LAUNCH_TIMEOUT"),
}


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(SOURCE, KERNELS)


def run(kernel, broken=0, blocks=1):
    """Launches the kernel; (what it wrote, what it should write)."""
    generator = torch.Generator().manual_seed(3)
    if kernel.cores == "cube":
        if kernel.name == "scales_undefined":
            codes = torch.randn(16, 64, generator=generator).to(torch.float8_e4m3fn)
            # nd2nz of 16 rows of 32 bytes, twice the same half
            half = codes[:, :32].contiguous()
            a = b = half.view(torch.bfloat16).reshape(16, 16).npu()
            expected = 2 * (half.double() @ half.double().T)
        else:
            a, b = (torch.randn(16, 16, generator=generator).bfloat16().npu() for _ in range(2))
            expected = a.cpu().double() @ b.cpu().double().T
        d = torch.full((17, 16), torch.nan).npu()
        kernel[blocks](a, b, d, broken)
        return d[:16].cpu().double(), expected
    x = torch.randn(64 * blocks, generator=generator).npu()
    y = torch.full((64 * blocks,), torch.nan).npu()
    kernel[blocks](x, y, broken)
    return y.cpu(), 2 * x.cpu()


def check(kernel, **options):
    got, expected = run(kernel, **options)
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-5)


def grid_of(name):
    return 4 if name == "grid_barrier" else 1


def test_every_kernel_has_its_fault():
    assert set(FAULTS) | {"freed_tensor"} == set(KERNELS) and len(FAULTS) >= 20


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_the_device_goes_on(kernels, name):
    kernel, (line, *says) = kernels[name], FAULTS[name]
    check(kernel, blocks=grid_of(name))
    with time_limit(1.0 if name == "never_ends" else 300.0), pytest.raises(ascend_sim.LaunchError) as caught:
        run(kernel, broken=1, blocks=grid_of(name))
    message = str(caught.value)
    assert message.startswith(f"{name} on 950DT_9581: ")
    assert re.search(".*".join(says), message, re.DOTALL), message
    assert re.search(rf"     faulty_kernels\.cpp:{LINES[line]}\b", message), f"line {LINES[line]} expected:\n{message}"
    check(kernel, blocks=grid_of(name))                             # the same core, right this time
    check(kernels["l0a_undefined" if kernel.cores != "cube" else "assertion"])      # and one of the other kind


def test_a_freed_tensor_is_not_read(kernels):
    kernel = kernels["freed_tensor"]
    check(kernel)
    x, y = torch.ones(64).npu(), torch.zeros(64).npu()
    address = x.data_ptr()
    kernel[1](address, y, 0)
    del x
    with pytest.raises(ascend_sim.LaunchError, match=f"{AIV} MTE2: asc_copy_gm2ub_align: source: global memory {address:#x} belongs to no live tensor"
                                                     rf"     faulty_kernels.cpp:{LINES['gm2ub']}"):
        kernel[1](address, y, 0)
    check(kernel)


def test_what_a_library_throws_ends_the_launch():
    text = """#include <string>
    extern "C" __global__ __vector__ void parses(__gm__ float* x, int broken) { x[0] = static_cast<float>(std::string("abc").at(broken ? 7 : 0)); }"""
    kernel, x = jit.compile(text), torch.zeros(1).npu()
    with pytest.raises(ascend_sim.LaunchError, match="parses on .*core 0 aiv0 block 0 S: throw: std::out_of_range: basic_string::at.*; the chip has no exceptions     parses.cpp:2"):
        kernel[1](x, 1)
    kernel[1](x, 0)
    assert x.item() == ord("a")


def test_a_grid_barrier_needs_every_block_on_the_chip(kernels):
    kernel = kernels["grid_barrier"]
    check(kernel, blocks=64)
    with pytest.raises(ascend_sim.LaunchError, match=r"aiv. block \d+ MTE3: asc_sync_inter_arrive: grid-wide barrier 11 needs all blocks alive at once; "
                                                     rf"the grid has 65 blocks, the chip runs 64 at a time.*faulty_kernels.cpp:{LINES['arrive']}"):
        run(kernel, blocks=65)
    check(kernel, blocks=64)


def test_every_block_that_waits_is_listed(kernels):
    with pytest.raises(ascend_sim.LaunchError) as caught:
        run(kernels["grid_barrier"], broken=1, blocks=4)
    assert [line.split()[:5] for line in str(caught.value).splitlines()[1:]] == [
        ["core", "0", "aiv0", "block", "0"], ["core", "0", "aiv1", "block", "1"], ["core", "1", "aiv1", "block", "3"]]


def test_one_broken_block_of_many_ends_the_launch(kernels):
    x = torch.ones(64).npu()
    with pytest.raises(ascend_sim.LaunchError, match=r"lost_flag_of_vector_core on .*: no core can continue"):
        kernels["lost_flag_of_vector_core"][64](x, x.clone(), 1)
    check(kernels["lost_flag_of_vector_core"])


def test_a_wild_pointer_outside_kernels_still_ends_the_process():
    program = """
import ctypes, faulthandler, torch, ascend_sim.npu
text = 'extern "C" __global__ __vector__ void wild(__gm__ float* x) { x[0] = *(volatile float*)(ascend::isa::ub_base() - 4); }'
kernel, x = ascend_sim.jit.compile(text), torch.ones(1).npu()
for enable in (faulthandler.enable, lambda: None):
    try:
        kernel[1](x)
    except ascend_sim.LaunchError as error:
        print(error, flush=True)
    enable()
ctypes.string_at(0)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert done.returncode == -signal.SIGSEGV and done.stderr.count("Segmentation fault") == 1
    assert done.stdout.count("UB0 address -0x4 lies before the memory") == 2


def test_functional_mode_finds_them_too_but_for_the_order_of_sets(kernels):
    with ascend_sim.mode("functional"):
        check(kernels["flag_set_twice"], broken=1)
        for name in ("l1_misaligned", "lost_flag", "counter_overflow", "accumulator_undefined"):
            with pytest.raises(ascend_sim.LaunchError, match=name):
                run(kernels[name], broken=1)
