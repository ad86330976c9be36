# SPDX-License-Identifier: MIT
"""Does code that is not ours run? Six programs as tilelang 0.1.15 generated them, compiled against the instruction set.

The wheel (installed without its dependencies) supplies the template headers that the text includes.
"""

import ctypes
import hashlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from ascend_sim.toolkit.rewrite import rewrite
from support import aarch64
from support.host_compiler import LEVELS, PACKAGE, build, build_folder
from support.simd import DTYPES

RECORDED = Path(__file__).with_name("recorded")
LIBRARY = PACKAGE / "lib" / "libascend_sim.so"
TILELANG = importlib.util.find_spec("tilelang")
CORE_TYPES = {"cube": 0, "vector": 1, "mix": 2}
TORCH = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32, "uint16": torch.uint16, "float8_e4m3fn": torch.float8_e4m3fn}

pytestmark = [
    pytest.mark.skipif(not LIBRARY.exists(), reason="libascend_sim.so is not built here; make build"),
    pytest.mark.skipif(TILELANG is None, reason="the tilelang wheel, whose headers the programs include, is not installed"),
]


class Program:
    """A recorded program compiled for one host level."""

    def __init__(self, name, level, transform=lambda text: text):
        self.level = level
        self.info = json.loads((RECORDED / f"{name}.json").read_text())
        done = rewrite(transform((RECORDED / f"{name}.asc").read_text()))
        assert done.kernels == {self.info["kernel"]: self.info["kind"]}
        text = (f'{done.source}\n#include "isa/kernel_entry.h"\nextern "C" void entry(const uint8_t* args) '
                f'{{ ascend::isa::kernel_entry<&{self.info["kernel"]}>(args); }}\n')
        templates = Path(TILELANG.submodule_search_locations[0]) / "src"
        source = build_folder() / f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
        source.write_text(text)
        options = ("-isystem", str(templates), "-Wno-unused-variable")
        if level == aarch64.LEVEL:
            self.library = aarch64.build(name, [source], *options, optimize="-O2")
            return
        library = build(name, [source], level, *options, "-g1", "-L", str(LIBRARY.parent), "-lascend_sim", f"-Wl,-rpath,{LIBRARY.parent}", optimize="-O2")
        self.library = ctypes.CDLL(str(library))
        self.entry = ctypes.cast(self.library.entry, ctypes.c_void_p)
        self.runtime = ctypes.CDLL(str(LIBRARY))

    def __call__(self, **tensors):
        """Launches on npu:0 over the tensors, in the kernel's argument order; raises RuntimeError with the launch's message."""
        addresses, given = [], []
        for argument in self.info["arguments"]:
            tensor = tensors[argument["name"]]
            assert list(tensor.shape) == argument["shape"] and tensor.dtype == TORCH[argument["dtype"]] and tensor.is_contiguous()
            addresses.append(tensor.data_ptr())
            given.append(tensor)
        if self.level == aarch64.LEVEL:
            aarch64.machine().launch(self.library, "entry", self.info["kernel"], self.info["kind"], self.info["grid"], given)
            return
        arguments = (ctypes.c_uint64 * len(addresses))(*addresses)
        message = ctypes.create_string_buffer(4096)
        failed = self.runtime.ascend_sim_launch(
            self.info["kernel"].encode(), CORE_TYPES[self.info["kind"]], self.entry, 0, 0, 0, self.info["grid"],
            arguments, message, ctypes.c_size_t(len(message)))
        if failed:
            raise RuntimeError(message.value.decode())

    def shape(self, name):
        return next(argument["shape"] for argument in self.info["arguments"] if argument["name"] == name)


@pytest.fixture(scope="module", params=[*LEVELS, aarch64.PARAM])
def level(request):
    """The host level, of the vector instructions by compilation and of the cube by choice."""
    from ascend_sim import _C

    torch.npu.init()
    if request.param == aarch64.LEVEL:
        yield request.param
        return
    before = _C.host_isa()
    _C.set_host_isa(request.param)
    yield request.param
    _C.set_host_isa(before)


def randn(shape, dtype, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def unwritten(shape, dtype):
    return torch.full(shape, torch.nan, device="npu").to(dtype)


def matmul(a, b):
    return a.double() @ b.double().T


def assert_close(got, want, absolute, why):
    error = (got.cpu().double() - want).abs().max().item()
    assert error <= absolute, f"largest error {error}, allowed {absolute}: {why}"


def test_gemm_relu_on_cube_and_vector_cores(level):
    program = Program("gemm_relu", level)
    a, b = randn(program.shape("A"), torch.bfloat16, 1), randn(program.shape("B"), torch.bfloat16, 2)
    c = unwritten(program.shape("C"), torch.float32)
    program(A=a.npu(), B=b.npu(), C=c)
    assert_close(c, matmul(a, b).clamp(min=0), 192 * 2**-24 * 40, "fp32 sums of 192 products of size up to 40 in another order")


def test_mx_fp8_gemm_applies_packed_scales(level):
    program = Program("mx_fp8_gemm", level)
    a, b = (randn(program.shape(x), torch.float32, seed).to(torch.float8_e4m3fn) for x, seed in (("A", 1), ("B", 2)))
    generator = torch.Generator().manual_seed(3)
    scale_a, scale_b = (torch.randint(120, 134, (len(x), x.shape[1] // 32), generator=generator) for x in (a, b))
    packed_a, packed_b = (s[:, 0::2] | s[:, 1::2] << 8 for s in (scale_a, scale_b))
    c = unwritten(program.shape("C"), torch.bfloat16)
    program(A=a.npu(), B=b.npu(), SFA=packed_a.T.contiguous().to(torch.uint16).npu(), SFB=packed_b.to(torch.uint16).npu(), C=c)
    scaled = [x.double() * torch.exp2(s.double() - 127).repeat_interleave(32, dim=1) for x, s in ((a, scale_a), (b, scale_b))]
    want = scaled[0] @ scaled[1].T
    tolerance = want.abs() * 2**-8 + 1e-3  # one rounding to bf16, and fp32 sums
    assert ((c.cpu().double() - want).abs() <= tolerance).all()


def test_split_k_gemm_meets_at_the_grid_barrier(level):
    program = Program("split_k_gemm", level)
    a, b = randn(program.shape("A"), torch.float16, 1), randn(program.shape("B"), torch.float16, 2)
    c = unwritten(program.shape("C"), torch.float32)
    program(A=a.npu(), B=b.npu(), C=c)
    assert_close(c, matmul(a, b), 512 * 2**-24 * 60, "fp32 sums of 512 products of size up to 60 in another order")


def test_vector_add(level):
    program = Program("vector_add", level)
    a, b = randn(program.shape("A"), torch.float32, 1), randn(program.shape("B"), torch.float32, 2)
    c = unwritten(program.shape("C"), torch.float32)
    program(A=a.npu(), B=b.npu(), C=c)
    assert torch.equal(c.cpu(), a + b)


def test_rms_norm(level):
    program = Program("rms_norm", level)
    x, w = randn(program.shape("X"), torch.bfloat16, 1) * 3, randn(program.shape("W"), torch.bfloat16, 2)
    y = unwritten(program.shape("Y"), torch.bfloat16)
    program(X=x.npu(), W=w.npu(), Y=y)
    wide = x.double()
    want = wide / (wide.square().mean(dim=1, keepdim=True) + 1e-6).sqrt() * w.double()
    ulp = 2.0 ** (want.abs().clamp(min=1e-30).log2().floor() - 7)
    assert ((y.cpu().double() - want).abs() <= 0.51 * ulp).all(), "one rounding to bf16 after fp32 arithmetic"


def test_per_token_cast_is_bit_exact(level):
    program = Program("per_token_cast", level)
    x = randn(program.shape("X"), torch.bfloat16, 1) * torch.logspace(-7, 4, 6).reshape(6, 1).bfloat16()
    x[2, :128] = 0
    q, s = torch.zeros(program.shape("Q"), dtype=torch.float8_e4m3fn).npu(), unwritten(program.shape("S"), torch.float32)
    program(X=x.npu(), Q=q, S=s)
    groups = x.float().numpy().reshape(6, 3, 128)
    scale = np.maximum(np.abs(groups).max(axis=2), np.float32(1e-4)) * np.float32(1 / 448)
    quotient = (groups / scale[:, :, None]).clip(-448, 448)
    want = quotient.astype(DTYPES["e4m3"]).reshape(6, 384)
    assert (s.cpu().numpy() == scale).all()
    assert (q.cpu().view(torch.uint8).numpy() == want.view(np.uint8)).all()


def test_a_rerun_gives_the_same_bits(level):
    program = Program("split_k_gemm", level)
    a, b = (randn(program.shape(x), torch.float16, seed).npu() for x, seed in (("A", 5), ("B", 6)))
    results = []
    for _ in range(3):
        c = unwritten(program.shape("C"), torch.float32)
        program(A=a, B=b, C=c)
        results.append(c.cpu())
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_without_its_flag_to_the_vector_pipe_the_program_is_refused_or_wrong(level):
    """The pair to test_vector_add: a wait for a flag that nothing sets ends the launch with the table of waits."""
    program = Program("vector_add", level, lambda text: text.replace("asc_sync_notify(PIPE_V, PIPE_MTE3", "if (false) asc_sync_notify(PIPE_V, PIPE_MTE3"))
    a = randn(program.shape("A"), torch.float32, 1).npu()
    with pytest.raises(RuntimeError, match=r"(?s)vector_add_kernel.*MTE3.*V->MTE3"):
        program(A=a, B=a, C=unwritten(program.shape("C"), torch.float32))


def test_a_misaligned_vector_load_names_kernel_core_instruction_and_address(level):
    program = Program("vector_add", level, lambda text: text.replace("buf_dyn_shmem)[192]", "buf_dyn_shmem)[193]"))
    a = randn(program.shape("A"), torch.float32, 1).npu()
    with pytest.raises(RuntimeError, match=r"(?s)vector_add_kernel.*asc_loadalign.*not 32-byte aligned.*0x304"):
        program(A=a, B=a, C=unwritten(program.shape("C"), torch.float32))
    test_vector_add(level)  # the device is usable afterwards


def test_a_device_assertion_ends_the_launch_not_the_process(level):
    program = Program("vector_add", level, lambda text: text.replace("  asc_init();", "  asc_init();\n  device_assert(((int32_t)block_idx) < 2);"))
    a = randn(program.shape("A"), torch.float32, 1).npu()
    with pytest.raises(RuntimeError, match=r"(?s)vector_add_kernel.*assertion failed"):
        program(A=a, B=a, C=unwritten(program.shape("C"), torch.float32))


def test_every_vector_function_call_is_on_the_trace(level):
    import ascend_sim

    if level == aarch64.LEVEL:
        pytest.skip("the trace is in another process")
    program = Program("rms_norm", level)
    x, w = randn(program.shape("X"), torch.bfloat16, 1).npu(), randn(program.shape("W"), torch.bfloat16, 2).npu()
    y = unwritten(program.shape("Y"), torch.bfloat16)
    with ascend_sim.profile() as profile:
        program(X=x, W=w, Y=y)
    (record,) = (record for record in profile.records if record.name == "rms_norm_kernel")
    rows = program.shape("X")[0]
    assert record.aiv["V"].instructions == rows
    assert record.aiv["V"].busy_cycles > rows * (23 + 12)  # start and drain of each, and what it does
    assert record.aiv["MTE2"].instructions == rows + 3 and record.gm_read_bytes == (rows + 3) * 640  # w once a core
