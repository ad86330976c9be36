# SPDX-License-Identifier: MIT
"""Do TileLang's kernels get the messages that docs/tilelang.md shows, and does its Ascend target lack what that page says?"""

import re
from pathlib import Path

import pytest
import torch
from support.launches import races_looked_for, time_limit

PAGE = (Path(__file__).parents[2] / "docs" / "tilelang.md").read_text(encoding="utf-8")
N = 1024


@pytest.fixture(scope="module")
def broken(load_programs):
    return load_programs("broken")


def message_of(kernel, *tensors):
    with pytest.raises(RuntimeError) as caught:
        kernel(*(tensor.npu() for tensor in tensors))
    return re.sub(r"at \S*/(\w+\.py):\d+", r"at \1:41", str(caught.value))


@pytest.mark.parametrize("name", ["half_loaded", "lost_flag", "checked", "endless"])
def test_the_page_shows_the_message_and_the_line_is_in_the_source(broken, name):
    kernel = getattr(broken, name)()
    tensors = [torch.ones(128, 64).bfloat16()] * 2 if name == "half_loaded" else [torch.arange(N).float()]
    with time_limit(1.0 if name == "endless" else 300.0):
        message = message_of(kernel, *tensors)
    shown = re.sub(r"endless_kernel\.cpp:\d+", "endless_kernel.cpp:4", message)         # whichever of the loop's lines ran then
    assert f"\n{shown}\n" in PAGE, message
    called = {"half_loaded": "ascend_gemm_l1<", "lost_flag": "asc_sync_wait(PIPE_MTE2, PIPE_MTE3", "checked": "device_assert_with_msg", "endless": ""}
    line = int(re.search(rf"{name}_kernel\.cpp:(\d+)", message)[1])
    assert called[name] in kernel.get_kernel_source().splitlines()[line - 1]


@pytest.mark.tilelang
def test_a_row_too_many_in_ub_is_reported(broken, monkeypatch):
    """The write behind the only buffer stays in UB. TileLang's kernel is compiled anew for the check when it is loaded."""
    monkeypatch.setenv("ASCEND_SIM_CHECK", "memory")
    message = message_of(broken.row_too_many(), torch.ones(N))
    found = re.search(r"V: asc_storealign: UB0 addresses 0x1000 to 0x1100: the launch allocates 4096 bytes \(a\), which end at 0x1000 \(256 bytes too far\)     "
                      r"row_too_many_kernel.cpp:(\d+) ", message)
    assert found, message
    assert "vsts_norm" in broken.row_too_many().get_kernel_source().splitlines()[int(found[1]) - 1]


@pytest.mark.tilelang
@pytest.mark.parametrize("program, arguments, message", [
    ("cumsum", (), "no cumsum implementation is registered"),
    *(("shuffle", (name,), "Unresolved call .*tl.shfl") for name in ("shfl_xor", "shfl_down", "shfl_up", "shfl_sync")),
    *(("gemm", ("float16", *transposed), "only supports trans_A=False, trans_B=True") for transposed in ((False, False), (True, False), (True, True))),
    ("gemm", ("float8_e5m2", False, True), "Unsupported dtype for Ascend GEMM: float8_e5m2"),
    ("grid_barrier", (), "Unresolved call .*tl.sync_grid"),
    ("early_end", (), "exactly one Ascend hardware pipe"),
    ("unnamed_mask", (), "Unresolved call .*tl.simd.pset"),
    ("narrow", (), "cannot convert vector type int8x"),
    *(("converted", types, f"cannot convert vector type {types[0]}x") for types in (("int16", "int32"), ("uint8", "float32"))),
    *(("converted", types, f"cannot convert .{vector}. to") for types, vector in ((("int32", "float32"), "int2"), (("float32", "int32"), "float2"),
                                                                                  (("float16", "int32"), "uint1"))),
    ("doubling", (lambda j: (j + 1) % 2,), "IterSumExpr"),
    ("reversed_by_some", (200, False), "not warp-uniform"),
    ("atomic", ("float16",), "Unresolved call .*tl.atomic_addx2"),
    ("doubled_codes", (), "the vector unit computes on integers, float, half and bfloat16_t"),
    *(("row_sums", (columns,), "no available layout found") for columns in (33, 520, 4097)),
    ("short_rows", (72,), "padding requires a zero-based destination region covering the full row axis"),
])
def test_what_tilelang_0_1_15_does_not_lower(broken, program, arguments, message):
    with pytest.raises(Exception, match=message):
        getattr(broken, program)(*arguments)


@pytest.mark.tilelang
def test_sums_of_rows_over_64_threads_beside_each_other_are_those_of_the_first(broken):
    """reduce.h of the wheel, cross_warp_reduce: what the first warp has is given to all threads, whichever group they belong to."""
    x = torch.randn(4, 128)
    sums = broken.row_sums(128)(x.npu()).cpu()
    torch.testing.assert_close(sums, x.sum(1)[[0, 0, 2, 2]], rtol=1e-4, atol=1e-4)
    x = torch.randn(4, 256)
    torch.testing.assert_close(broken.row_sums(256)(x.npu()).cpu(), x.sum(1), rtol=1e-4, atol=1e-4)


@pytest.mark.tilelang
def test_what_arguments_the_two_backends_take(broken):
    T = broken.T
    codes, number = torch.randint(0, 256, (256,), dtype=torch.uint8), torch.zeros(64).npu()
    pairs = codes.npu().view(torch.float4_e2m1fn_x2)
    into = torch.zeros(256, dtype=torch.uint8).npu().view(torch.float4_e2m1fn_x2)
    with pytest.raises(ValueError, match="Static shape mismatch for parameter A: expected 512"):
        broken.copied("float4_e2m1fn", "cython")(pairs, into, number, 2.0)
    kernel = broken.copied("float4_e2m1fn", "tvm_ffi")
    kernel(pairs, into, number, 2.0)
    assert torch.equal(into.cpu().view(torch.uint8), codes) and (number.cpu() == 2).all()
    for short, message in ((T.float16, "'half' was not declared"), (T.bfloat16, r"dtype.is_float\(\)")):
        with pytest.raises(Exception, match=message.replace("'", ".")):
            broken.short_number(short)(number, 2.0)
    for wrong in (torch.tensor(2.0), None):
        with pytest.raises(RuntimeError, match="scalar number expected float"):
            kernel(pairs, into, number, wrong)
    with pytest.raises(ValueError, match="TensorType must have a shape"):
        broken.copied("uint8", "tvm_ffi").get_profiler().do_bench(warmup=1, rep=1)
    assert kernel.get_profiler().do_bench(warmup=1, rep=1, input_tensors=[pairs, into, number, 2.0]) > 0
    elsewhere = [tensor.to("npu:1") for tensor in (pairs.view(torch.uint8), into.view(torch.uint8), number)]
    elsewhere = [tensor.view(torch.float4_e2m1fn_x2) for tensor in elsewhere[:2]] + elsewhere[2:]
    with pytest.raises(RuntimeError, match="belongs to a tensor on npu:1; the kernel runs on npu:0"):
        kernel(*elsewhere, 3.0)
    with torch.npu.device(1):
        kernel(*elsewhere, 3.0)
    assert (elsewhere[2].cpu() == 3).all()


@pytest.mark.tilelang
def test_casts_to_narrower_floats_saturate_unless_told_not_to(broken):
    x = torch.tensor([float("inf"), float("-inf"), float("nan"), 3.4e38, 1.0, -0.0, 0.5, 2.0] * 8)
    largest = torch.finfo(torch.bfloat16).max
    torch.testing.assert_close(broken.narrowed(False)(x.npu()).cpu(), x.bfloat16(), rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(broken.narrowed(True)(x.npu()).cpu(), x.nan_to_num(0.0).clamp(-largest, largest).bfloat16(), rtol=0, atol=0)


@pytest.mark.tilelang
def test_tilelang_clips_copies_and_indices_unless_told_not_to(broken):
    x, shift, index = torch.arange(N).float() + 1, torch.full((8,), 1, dtype=torch.int32), torch.arange(N, dtype=torch.int32)
    index[7] = 1 << 30
    assert torch.equal(broken.shifted(True)(x.npu(), shift.npu()).cpu()[:N - 1], x[1:])
    assert "global memory" in message_of(broken.shifted(False), x, torch.full((8,), -1, dtype=torch.int32))
    assert broken.picked(True)(x.npu(), index.npu())[7].item() == 0
    assert re.search(r"SIMT load( or store)?: thread \(7, 0, 0\): ", message_of(broken.picked(False), x, index))


@pytest.mark.tilelang
def test_what_the_page_says_to_write_instead(broken):
    x = torch.randint(-1000, 1000, (256,), dtype=torch.int32)
    assert torch.equal(broken.doubling(lambda j: 1 - j % 2)(x.npu()).cpu(), x.cumsum(0).int())
    for n in (200, 224):
        assert torch.equal(broken.reversed_by_some(n, True)(x[:n].npu()).cpu(), x[:n].flip(0))


@pytest.mark.tilelang
def test_a_barrier_that_tilelang_puts_into_a_branch_waits_for_the_warps_that_take_it(broken):
    kernel, x = broken.reversed_by_some(224, False), torch.randint(-1000, 1000, (224,), dtype=torch.int32)
    assert kernel.get_kernel_source().count("asc_syncthreads();") == 1
    assert torch.equal(kernel(x.npu()).cpu(), x.flip(0))


@pytest.mark.tilelang
def test_a_cast_of_neighbours_from_float16_to_bfloat16_copies_their_bits(broken):
    """The generator knows pairs of both by the carrier uint2, and casts that to itself. One by one they are converted."""
    x = torch.randn(512).half()
    assert torch.equal(broken.converted("float16", "bfloat16")(x.npu()).cpu().view(torch.int16), x.view(torch.int16))
    for types in (("float16", "bfloat16"), ("int32", "float32"), ("float32", "int32"), ("int16", "int32")):
        x = (torch.randn(512) * 100).to(getattr(torch, types[0]))
        assert torch.equal(broken.converted_one_by_one(*types)(x.npu()).cpu(), x.to(getattr(torch, types[1])))


@pytest.mark.tilelang
def test_a_loop_whose_count_is_a_quotient_of_0_or_1_runs_once_everywhere(broken):
    counts = {}
    for by_quotient in (True, False):
        c = torch.zeros(2, 64).npu()
        broken.rounds(2, by_quotient)(c)
        counts[by_quotient] = c[:, 0].tolist()
    assert counts == {True: [1, 3], False: [1, 1]}


@pytest.mark.tilelang
def test_products_from_l1_and_buffers_in_l0_share_the_beginning_of_l0(broken):
    with races_looked_for():
        message = message_of(broken.l1_and_l0(), torch.ones(64, 64).bfloat16(), torch.zeros(64, 64))
    assert re.search(r"MTE1: asc_copy_l12l0a: a race on L0A address 0x0: asc_mmad of M has read there in .*; a flag M->MTE1 would .*\(in gemm.h:\d+\)", message), message


@pytest.mark.tilelang
def test_the_barrier_of_vector_cores_does_not_hold_cube_cores(broken):
    cube, vector = broken.met().get_kernel_source().split("if ASC_IS_AIV")
    assert "asc_sync_inter_wait(PIPE_MTE3, 0)" in vector and "asc_sync_inter_wait" not in cube
