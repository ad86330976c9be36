# SPDX-License-Identifier: MIT
"""Do transfers through UB move, pad and combine bytes as their arguments say? What is not written stays poison."""

import ml_dtypes
import numpy as np
import pytest
import torch
from ascend_sim import LaunchError, jit
from support.cube import POISON, cycles_of, launch

NOWHERE, GM, L1 = range(3)


def through_ub(gm, back, *, to=NOWHERE, n=1, len_=32, left=0, right=0, constant=False, value=0, size=1, src_stride=0, ub_stride=0, ub=0, second=(1, 32),
               src_gap=0, dst_gap=0, atomic=0, offset=0):
    launch("through_ub", gm, back, numbers=[to, n, len_, left, right, constant, value, size, src_stride, ub_stride, ub, back.nbytes, *second, src_gap,
                                            dst_gap, atomic, offset])
    return back


def noise(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def poison(size):
    return np.full(size, POISON, np.uint8)


@pytest.mark.parametrize("size, left, right", [(1, 0, 0), (1, 3, 32), (2, 1, 15), (4, 8, 1), (4, 0, 0)])
@pytest.mark.parametrize("constant", [True, False], ids=["pad value", "first element"])
@pytest.mark.parametrize("count", [1, 15, 16, 17])
def test_rows_come_with_their_pads(size, left, right, constant, count):
    gm, value = noise(4 * 200, 1), 0x81828384 & (1 << 8 * size) - 1
    got = through_ub(gm, poison(2048), n=4, len_=count * size, left=left, right=right, constant=constant, value=value, size=size, src_stride=200,
                     ub_stride=256, ub=64)
    want = poison(2048)
    for row in range(4):
        data = gm[row * 200:][:count * size]
        pad = np.frombuffer(value.to_bytes(size, "little"), np.uint8) if constant else data[:size]
        whole = np.concatenate([np.tile(pad, left), data, np.tile(pad, right)])
        want[64 + row * 256:][:len(whole)] = whole
    assert (got == want).all()


@pytest.mark.parametrize("row_bytes", [1, 2, 31, 32, 33])
def test_rows_without_gaps_in_ub_may_have_any_length(row_bytes):
    """The compact form; with pads there is none."""
    gm = noise(1024, 2)
    got = through_ub(gm, poison(2048), n=7, len_=row_bytes, src_stride=100, ub_stride=row_bytes, ub=64)
    want = poison(2048)
    want[64:][:7 * row_bytes] = np.concatenate([gm[row * 100:][:row_bytes] for row in range(7)])
    assert (got == want).all()
    if row_bytes % 32:
        with pytest.raises(LaunchError, match=f"destination stride {row_bytes} is not a multiple of 32 bytes, nor the row's length"):
            through_ub(gm, poison(2048), n=7, len_=row_bytes, right=1, src_stride=100, ub_stride=row_bytes, ub=64)


@pytest.mark.parametrize("row_bytes", [1, 31, 33, 96])
def test_rows_go_back_to_global_memory(row_bytes):
    gm = noise(1024)
    got = through_ub(gm, poison(2048), to=GM, len_=1024, second=(5, row_bytes), src_gap=128, dst_gap=101, offset=7)
    want = poison(2048)
    for row in range(5):
        want[7 + row * 101:][:row_bytes] = gm[row * 128:][:row_bytes]
    assert (got == want).all()


def test_ub_to_l1_leaves_its_gaps():
    gm = noise(1024)
    got = through_ub(gm, poison(2048), to=L1, len_=1024, second=(3, 2), src_gap=1, dst_gap=3, offset=96)
    want = poison(2048)
    for burst in range(3):
        want[96 + burst * 160:][:64] = gm[burst * 96:][:64]
    assert (got == want).all()


@pytest.mark.parametrize("atomic, dtype, combine", [(1, np.float32, np.add), (2, np.float16, np.add), (9, ml_dtypes.bfloat16, np.maximum),
                                                    (10, np.int8, np.maximum), (17, np.int16, np.minimum), (6, np.int32, np.add)])
def test_store_atomics_of_every_type(atomic, dtype, combine):
    rng = np.random.default_rng(2)
    there, stored = ((rng.integers(-50, 50, 64) / (1 if np.dtype(dtype).kind == "i" else 8)).astype(dtype) for _ in range(2))
    back = there.view(np.uint8).copy()
    through_ub(stored.view(np.uint8), back, to=GM, len_=stored.nbytes, second=(1, stored.nbytes), atomic=atomic)
    assert (back.view(dtype) == combine(there, stored).astype(dtype)).all()


@pytest.mark.parametrize("instruction, arguments, cycles", [
    ("asc_copy_ub2l1", {"to": L1, "second": (2, 16)}, 1024 / 128 + 43)])
def test_time_is_bytes_over_the_rate(instruction, arguments, cycles, tmp_path):
    spent = cycles_of(instruction, lambda: through_ub(noise(2048), poison(2048), len_=2048, **arguments), tmp_path)
    assert spent == [pytest.approx(cycles, abs=0.3)]


@pytest.mark.parametrize("arguments, message", [
    ({"n": 4096}, "asc_copy_gm2ub_align: n = 4096; the field holds 0 to 4095"),
    ({"len_": 2097152}, "len = 2097152; the field holds 0 to 2097151"),
    ({"left": 9, "size": 4}, "left pad = 36; the field holds 0 to 32"),
    ({"n": 2, "ub_stride": 33}, "destination stride 33 is not a multiple of 32 bytes"),
    ({"ub": 8}, "destination: UB0 address 0x8 is not 32-byte aligned"),
    ({"n": 9, "src_stride": 32 << 10}, "source: global memory .* leaves its tensor"),
    ({"to": L1, "offset": 8}, "asc_copy_ub2l1: destination: L1 address 0x8 is not 32-byte aligned"),
    ({"to": GM, "second": (1, 8192)}, "asc_copy_ub2gm_align: destination: global memory .* leaves its tensor"),
])
def test_what_a_transfer_cannot_do_is_refused(arguments, message):
    with pytest.raises(LaunchError, match=message):
        through_ub(noise(2048), poison(2048), **arguments)


@pytest.mark.parametrize("arguments", [{"n": 0}, {"len_": 0}, {"to": GM, "second": (0, 32), "n": 0}, {"to": L1, "second": (1, 0), "n": 0}])
def test_counts_of_zero_do_nothing(arguments):
    assert (through_ub(noise(64), poison(256), **arguments) == POISON).all()


LATE_COPY = """
#include "c_api/asc_simd.h"
extern "C" __global__ __vector__ void late_copy(__gm__ uint32_t* from, __gm__ uint32_t* to) {
    __ubuf__ uint32_t* ub = (__ubuf__ uint32_t*)ascend::isa::ub_base();
    asc_set_copy_pad_val((uint32_t)7);
    asc_sync_wait(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    asc_copy_gm2ub_align(ub, from, 1, 24, 0, 2, true, asc_load_l2_cache_mode{0}, 32, 32);
    asc_set_copy_pad_val((uint32_t)9);
    asc_sync_notify(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    asc_sync_notify(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    asc_sync_wait(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    asc_copy_ub2gm_align(to, ub, 1, 32, asc_store_l2_cache_mode{0}, 32, 32);
}
"""


def test_a_copy_that_waits_keeps_the_pad_value_it_was_issued_with():
    source = torch.arange(1, 9, dtype=torch.int32).npu()
    result = torch.zeros(8, dtype=torch.int32).npu()
    jit.compile(LATE_COPY)[1](source.view(torch.uint32), result.view(torch.uint32))
    assert result.tolist() == [1, 2, 3, 4, 5, 6, 7, 7]
