# SPDX-License-Identifier: MIT
"""Is it the emulated chip that computes and that is timed? Damage inside it reaches the result, its records add up to the profile,
its clock sets the time, and its library has no other arithmetic to fall back on.
"""

import shutil
import subprocess
from pathlib import Path

import ascend_sim
import deep_gemm
import pytest
import torch
from ascend_sim import _C, chips, config, jit
from support.cases import bf16, fp8, poisoned
from support.chip import K0, LIBRARY, TYPES
from support.observe import observed

KERNELS = Path(__file__).with_name("pipe_bound.cpp")
DEVICE = torch.device("npu:0")
ELEMENT = {number: name for name, number in TYPES.items()}


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(KERNELS)


def gemm(m, n, k, family="bf16"):
    """(D as a CPU tensor, a, b) of one call on the emulated chip."""
    make = {"bf16": bf16, "fp8": fp8}[family]
    a, b = make(m, k, DEVICE, seed=1), make(n, k, DEVICE, seed=2)
    d = poisoned(m, n, DEVICE, torch.float32)
    getattr(deep_gemm, f"{family}_gemm_nt")(a.tensor, b.tensor, d)
    return d.cpu(), a, b


def profiled(launch):
    """The one record of a launch whose operands L2 has seen."""
    launch()
    with ascend_sim.profile() as p:
        launch()
    record, = (record for record in p.records if not record.is_estimate)
    return record


# ---- values -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("memory, path", [("L1", "gm_to_l1"), ("L0A", "l1_to_l0a")])
def test_one_bit_of_an_operand_inside_the_chip_changes_d(memory, path):
    right, a, b = gemm(128, 64, 256)
    flipped = []

    def flip_once(step):
        if step.path == path and step.ai_core == 0 and not flipped:         # its block is the first of D
            offset = step.record.gm.local if path == "gm_to_l1" else 0      # its first element is A[0, 0]
            element = step.memory(memory, offset, 2)
            element[1] ^= 0x80                                              # the sign of a bf16
            flipped.append(bytes(element))
    with observed(flip_once):
        wrong, _, _ = gemm(128, 64, 256)
    assert flipped == [bytes((-a.tensor[0, :1]).cpu().view(torch.uint8).tolist())]
    rows, columns = (set(at.tolist()) for at in (wrong != right).nonzero(as_tuple=True))
    assert rows == {0} and columns == set(range(len(columns)))              # what this core multiplies with A[0, 0]
    change = -2 * float(a.values[0, 0]) * torch.from_numpy(b.values[:len(columns), 0])
    torch.testing.assert_close((wrong - right)[0, :len(columns)], change, rtol=0, atol=1e-4)


def test_one_scale_byte_inside_the_chip_changes_d():
    right, _, _ = gemm(32, 32, 64, "fp8")
    flipped = []

    def double_once(step):
        if step.instruction == "asc_copy_l12l0a_mx" and step.ai_core == 0 and not flipped:
            step.memory("L0A_MX", 0, 1)[0] += 1     # the scale of A[0, :32]
            flipped.append(True)
    with observed(double_once):
        wrong, _, _ = gemm(32, 32, 64, "fp8")
    assert flipped
    rows = (wrong != right).any(dim=1).nonzero().flatten().tolist()
    assert rows == [0]


@pytest.fixture
def one_host_thread():
    """All blocks run in the memories of one AI core, one after another: what a launch leaves there, the next one finds."""
    _C.set_threads(1)
    yield
    _C.set_threads(config.threads())


@pytest.mark.parametrize("family, m, n, k", [("bf16", 77, 45, 100), ("fp8", 77, 45, 96), ("bf16", 300, 530, 72)])
def test_what_was_in_the_memories_before_influences_nothing(kernels, one_host_thread, family, m, n, k):
    before, _, _ = gemm(m, n, k, family)
    x = torch.empty(1).npu()
    kernels["poison"][32](x, 0)
    ends = set()

    def look(step):
        if step.kind == "aic":
            ends.add(bytes(step.memory("L1", 512 * 1024 - 4, 4)))
    with observed(look):
        after, _, _ = gemm(m, n, k, family)
    assert ends == {b"\xff" * 4}                    # the NaNs were there
    assert torch.equal(before, after) and after.isfinite().all()


# ---- trace --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("family, m, n, k", [("bf16", 200, 136, 320), ("bf16", 17, 33, 96), ("fp8", 130, 257, 192)])
def test_a_profile_is_the_sum_of_the_records(family, m, n, k):
    gemm(m, n, k, family)
    totals = {"read": 0, "written": 0, "macs": 0}

    def add(step):
        record = step.record
        if step.path in ("gm_to_l1", "gm_to_ub"):
            totals["read"] += record.amount
        elif step.path in ("ub_to_gm", "l0c_to_gm"):
            totals["written"] += record.amount
        elif step.path == "cube":
            totals["macs"] += record.amount * 16 * 16 * K0[ELEMENT[record.type]]
    with observed(add), ascend_sim.profile() as p:
        gemm(m, n, k, family)
    kernels = [record for record in p.records if not record.is_estimate]       # fp8: the scales' transform, too
    assert {"read": sum(record.gm_read_bytes for record in kernels), "written": sum(record.gm_written_bytes for record in kernels),
            "macs": sum(record.macs for record in kernels)} == totals
    record, = (record for record in kernels if record.macs)
    k_grain = 64 if family == "fp8" else 16
    assert record.macs == (-(-m // 16) * 16) * (-(-n // 16) * 16) * (-(-k // k_grain) * k_grain)
    assert record.gm_written_bytes == m * n * 4


def test_another_tile_is_another_trace_and_another_time():
    a, b = bf16(256, 512, DEVICE, seed=1).tensor, bf16(256, 512, DEVICE, seed=2).tensor
    d = {cores: poisoned(256, 256, DEVICE, torch.float32) for cores in (32, 4)}
    records, before = {}, deep_gemm.get_num_sms()
    try:
        for cores in d:                             # the selection of tiles depends on how many cores there are
            deep_gemm.set_num_sms(cores)
            records[cores] = profiled(lambda: deep_gemm.bf16_gemm_nt(a, b, d[cores]))       # noqa: B023
    finally:
        deep_gemm.set_num_sms(before)
    many, few = records[32], records[4]
    assert many.detail.split(" mad")[0] != few.detail.split(" mad")[0]
    assert many.instructions > few.instructions and many.gm_read_bytes > few.gm_read_bytes and many.macs == few.macs
    assert many.simulated_us < few.simulated_us
    torch.testing.assert_close(d[32].cpu(), d[4].cpu(), rtol=1e-5, atol=1e-4)


def test_a_kernel_s_own_tile_sets_its_records_and_its_time(kernels):
    m, n, k = 64, 256, 64
    a, b = torch.randn(m, k).bfloat16().npu(), torch.randn(n, k).bfloat16().npu()
    records = {}
    for tile in (16, 64, 256):
        d = torch.full((m, n), torch.nan).npu()
        records[tile] = profiled(lambda: kernels["tiled"][1](a, b, d, m, n, k, tile))       # noqa: B023
        torch.testing.assert_close(d.cpu(), (a.cpu().double() @ b.cpu().double().T).float(), rtol=1e-5, atol=1e-4)
    assert [record.aic["M"].instructions for record in records.values()] == [16, 4, 1]
    assert records[16].simulated_us > records[64].simulated_us > records[256].simulated_us
    assert len({record.macs for record in records.values()}) == 1


# ---- time ---------------------------------------------------------------------------------------------------------------

@pytest.fixture
def chip():
    """chip(name=value, ..) replaces constants of the chip until the test ends."""
    original = chips.load(config.chip())

    def change(**factors):
        values = original.flat()
        for name, factor in factors.items():
            values[name.replace("__", ".")] *= factor
        _C.set_chip(original.name, values)
    yield change
    _C.set_chip(original.name, original.flat())


def core_us(record):
    return record.simulated_us - record.launch_us


@pytest.mark.parametrize("pipe", ["M", "MTE1", "FIX", "MTE2", "V", "MTE3"])
def test_time_that_a_pipe_limits_halves_with_twice_the_clock(kernels, chip, pipe):
    kernel = kernels[f"only_{pipe.lower()}"]
    x = torch.zeros(4096).npu()
    once, twice = (profiled(lambda: kernel[1](x, times)) for times in (200, 400))       # noqa: B023
    uses = twice.aic if kernel.cores == "cube" else twice.aiv
    assert max(uses, key=lambda name: uses[name].busy if name != "S" else 0) == pipe
    assert core_us(twice) > 1.8 * core_us(once)                 # it is this pipe's work that takes the time
    chip(clock__frequency=2)
    faster = profiled(lambda: kernel[1](x, 400))
    assert core_us(faster) == pytest.approx(core_us(twice) / 2, rel=1e-3)
    assert faster.launch_us == twice.launch_us


def test_time_that_memory_limits_does_not(kernels, chip):
    x = torch.zeros(32 * 512 * 4096).npu()                      # 256 MiB: more than L2 holds
    slow = profiled(lambda: kernels["only_hbm"][32](x, 512))
    assert slow.hbm_read_bytes == pytest.approx(x.nbytes, rel=0.01)
    chip(clock__frequency=2)
    fast = profiled(lambda: kernels["only_hbm"][32](x, 512))
    assert core_us(fast) > 0.9 * core_us(slow)
    chip(hbm__bandwidth=0.5)
    assert core_us(profiled(lambda: kernels["only_hbm"][32](x, 512))) == pytest.approx(2 * core_us(slow), rel=0.05)


# ---- no other arithmetic ------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf (binutils) lists what a library links")
def test_the_library_leaves_room_for_others_in_what_threads_have_of_libraries_loaded_late():
    """The C library has some 1.6 KB of it for the whole process; whoever comes when it is used up cannot be loaded."""
    text = subprocess.run(["readelf", "-lW", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    sizes = [int(line.split()[5], 16) for line in text.splitlines() if line.split()[:1] == ["TLS"]]
    assert len(sizes) <= 1 and sum(sizes) <= 1024


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf (binutils) lists what a library links")
def test_the_chip_s_library_links_no_pytorch_and_no_blas():
    text = subprocess.run(["readelf", "-d", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line}
    standard = ("libstdc++.so.", "libm.so.", "libgcc_s.so.", "libc.so.", "libdl.so.", "libpthread.so.", "ld-linux-")
    assert needed and all(name.startswith(standard) for name in needed), needed
