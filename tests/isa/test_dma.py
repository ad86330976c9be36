# SPDX-License-Identifier: MIT
"""Do transfers through UB move, pad and combine bytes as their arguments say? What is not written stays poison."""

import numpy as np
import pytest
import torch
from ascend_sim import LaunchError, jit
from support.cube import POISON, cycles_of, launch
from support.edges import edges
from support.simd import check, edge_values, random_values

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


@edges("sizes strides", "asc_copy_gm2ub_align")
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


@edges("sizes", "asc_copy_gm2ub_align")
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


@edges("sizes", "asc_copy_ub2gm_align")
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


ATOMIC_TYPES = ("f32", "f16", "bf16", "s8", "s16", "s32")


def combined(operation, old, new):
    """In the type: 16-bit floats add in fp32 and round once, integers wrap; extremes: NaN propagates, -0 orders below +0."""
    if old.dtype.kind == "i":
        wide = {"add": np.add, "max": np.maximum, "min": np.minimum}[operation](old.astype(np.int64), new.astype(np.int64))
        return wide.astype(old.dtype)
    x, y = old.astype(np.float32), new.astype(np.float32)
    if operation == "add":
        return (x + y).astype(old.dtype)
    key = [np.where(v == 0, np.where(np.signbit(v), -1e-60, 1e-60), v.astype(np.float64)) for v in (x, y)]
    takes_old = (key[0] >= key[1]) if operation == "max" else (key[0] <= key[1])
    return np.where(np.isnan(x) | np.isnan(y), np.array(np.nan, old.dtype), np.where(takes_old, old, new))


@edges("values", "asc_set_atomic_{add,max,min}_{float,float16,bfloat,int8,int16,int32}")
@pytest.mark.parametrize("operation", ["add", "max", "min"])
@pytest.mark.parametrize("suffix", ATOMIC_TYPES)
def test_store_atomics_of_every_pair_of_edges(suffix, operation):
    values = np.concatenate([edge_values(suffix), random_values(suffix, 13, 2)])
    there, stored = np.repeat(values, len(values)), np.tile(values, len(values))
    back = np.concatenate([there.view(np.uint8), poison(64)])
    through_ub(stored.view(np.uint8), back, to=GM, len_=stored.nbytes, second=(1, stored.nbytes),
               atomic=("add", "max", "min").index(operation) * 6 + ATOMIC_TYPES.index(suffix) + 1)
    with np.errstate(all="ignore"):
        check(back[:-64].view(there.dtype), combined(operation, there, stored), there, stored, what=operation)
    assert (back[-64:] == POISON).all()


# ---- edges of sizes, strides and addresses ------------------------------------------------------------------------------

@edges("values", "asc_set_copy_pad_val")
@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_pad_value_is_repeated_as_it_is(size):
    gm = noise(64)
    for value in (0, 1, 1 << 8 * size - 1, (1 << 8 * size) - 1):
        got = through_ub(gm, poison(512), len_=size, left=32 // size, right=32 // size, constant=True, value=value, size=size)
        pad = np.tile(np.frombuffer(value.to_bytes(size, "little"), np.uint8), 32 // size)
        assert (got[:64 + size] == np.concatenate([pad, gm[:size], pad])).all() and (got[64 + size:] == POISON).all()


@edges("sizes strides", "asc_copy_gm2ub_align asc_copy_ub2gm_align")
def test_strides_of_zero_repeat_a_row_or_leave_the_last():
    gm = noise(1024)
    got = through_ub(gm, poison(512), n=4, len_=32, src_stride=0, ub_stride=32)
    assert (got[:128] == np.tile(gm[:32], 4)).all() and (got[128:] == POISON).all()
    got = through_ub(gm, poison(512), n=4, len_=33, src_stride=40, ub_stride=0)
    assert (got[:33] == gm[120:153]).all() and (got[33:] == POISON).all()
    got = through_ub(gm, poison(512), to=GM, len_=1024, second=(4, 33), src_gap=0, dst_gap=40)
    want = poison(512)
    for row in range(4):
        want[row * 40:][:33] = gm[:33]
    assert (got == want).all()
    got = through_ub(gm, poison(512), to=GM, len_=1024, second=(4, 33), src_gap=64, dst_gap=0)
    assert (got[:33] == gm[192:225]).all() and (got[33:] == POISON).all()


@edges("sizes strides", "asc_copy_gm2ub_align asc_copy_ub2gm_align")
@pytest.mark.parametrize("row_bytes", [1, 3])
def test_as_many_rows_as_a_field_holds(row_bytes):
    gm = noise(4095 * row_bytes)
    assert (through_ub(gm, poison(4096 * 3), n=4095, len_=row_bytes, src_stride=row_bytes, ub_stride=row_bytes)[:len(gm)] == gm).all()
    got = through_ub(gm, poison(4096 * 3), to=GM, len_=len(gm), second=(4095, row_bytes), src_gap=row_bytes, dst_gap=row_bytes)
    assert (got[:len(gm)] == gm).all() and (got[len(gm):] == POISON).all()


UB_BYTES, L1_BYTES = 256 << 10, 512 << 10


@edges("bounds", "asc_copy_gm2ub_align asc_copy_ub2gm_align")
def test_a_transfer_may_fill_ub_to_its_last_byte():
    gm = noise(UB_BYTES)
    assert (through_ub(gm, poison(UB_BYTES), to=GM, len_=UB_BYTES, second=(1, UB_BYTES)) == gm).all()
    got = through_ub(gm, poison(UB_BYTES), n=3, len_=33, right=31, size=1, src_stride=40, ub_stride=64, ub=UB_BYTES - 192, constant=True)
    assert (got[-192:][:33] == gm[:33]).all() and (got[:-192] == POISON).all() and (got[-31:] == 0).all()


@edges("sizes strides bounds", "asc_copy_ub2l1")
def test_ub_to_l1_without_gaps_and_to_the_last_unit():
    gm = noise(4096)
    for bursts, units, gaps in ((1, 1, (0, 0)), (4, 1, (0, 0)), (1, 128, (65535, 65535)), (5, 3, (0, 2)), (5, 3, (2, 0))):
        got, want = through_ub(gm, poison(8192), to=L1, len_=4096, second=(bursts, units), src_gap=gaps[0], dst_gap=gaps[1]), poison(8192)
        for burst in range(bursts):
            want[burst * (units + gaps[1]) * 32:][:units * 32] = gm[burst * (units + gaps[0]) * 32:][:units * 32]
        assert (got == want).all(), (bursts, units, gaps)
    through_ub(gm, poison(64), to=L1, len_=4096, second=(1, 2), offset=L1_BYTES - 64)


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
    ({"to": GM, "second": (1, 2049)}, "destination: global memory .* leaves its tensor.* .1 bytes too far"),
    ({"n": -1}, "n = -1; the field holds 0 to 4095"),
    ({"len_": -1}, "len = -1; the field holds 0 to 2097151"),
    ({"len_": 2097151}, "asc_copy_gm2ub_align: source: global memory .* leaves its tensor"),
    ({"right": -1}, "right pad = -1; the field holds 0 to 32"),
    ({"len_": 1, "size": 4, "left": 1}, "len = 1; pads repeat the first element of a row, which has 4 bytes"),
    ({"n": 2, "ub_stride": -32}, "destination stride = -32; the field holds 0 to 262144"),
    ({"n": 2, "ub_stride": 262176}, "destination stride = 262176; the field holds 0 to 262144"),
    ({"n": 2, "src_stride": -32}, "source: strides of -32 and 0 bytes in global memory; they are 0 to 1099511627775"),
    ({"n": 2, "src_stride": 2**62}, "source: strides of 4611686018427387904 and 0 bytes"),
    ({"len_": 64, "ub": (256 << 10) - 32}, "destination: UB0 addresses 0x3ffe0 to 0x40020; the memory ends at 0x40000"),
    ({"ub": -32}, "destination: UB0 addresses 0xffffffffffffffe0"),
    ({"to": GM, "second": (4096, 1)}, "asc_copy_ub2gm_align: n = 4096; the field holds 0 to 4095"),
    ({"to": GM, "second": (1, 2097152)}, "asc_copy_ub2gm_align: len = 2097152; the field holds 0 to 2097151"),
    ({"to": GM, "second": (2, 32), "src_gap": -32}, "asc_copy_ub2gm_align: source stride = -32; the field holds 0 to 262144"),
    ({"to": GM, "second": (2, 32), "dst_gap": -32, "src_gap": 32}, "destination: strides of -32 and 0 bytes in global memory"),
    ({"to": GM, "second": (2, 32), "src_gap": 33}, "source stride 33 is not a multiple of 32 bytes, nor the row's length"),
    ({"to": L1, "second": (4096, 1)}, "asc_copy_ub2l1: n = 4096; the field holds 0 to 4095"),
    ({"to": L1, "second": (1, 65536)}, "asc_copy_ub2l1: len = 65536; the field holds 0 to 65535"),
    ({"to": L1, "second": (1, 1), "src_gap": 65536}, "src gap = 65536; the field holds 0 to 65535"),
    ({"to": L1, "second": (1, 1), "dst_gap": -1}, "dst gap = -1; the field holds 0 to 65535"),
    ({"to": L1, "second": (1, 2), "offset": (512 << 10) - 32}, "destination: L1 addresses 0x7ffe0 to 0x80020; the memory ends at 0x80000"),
])
@edges("bounds", "asc_copy_gm2ub_align asc_copy_ub2gm_align asc_copy_ub2l1")
def test_what_a_transfer_cannot_do_is_refused(arguments, message):
    with pytest.raises(LaunchError, match=message):
        through_ub(noise(2048), poison(2048), **arguments)


@edges("sizes", "asc_copy_gm2ub_align asc_copy_ub2gm_align asc_copy_ub2l1")
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
