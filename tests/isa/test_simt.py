# SPDX-License-Identifier: MIT
"""Do SIMT threads see the right indices, meet at barriers, exchange values in warps, and update memory atomically? Oracles: numpy, by brute force.

And what does a broken one get, and what does it cost?
"""

import math
import re
from pathlib import Path

import ascend_sim
import ml_dtypes
import numpy as np
import pytest
import torch
from ascend_sim import _C, jit
from hypothesis import given, settings
from hypothesis import strategies as st
from support import aarch64
from support.edges import edges
from support.launches import time_limit
from support.simd import DTYPES, edge_values, random_values, same

SOURCE = Path(__file__).with_name("simt_kernels.cpp")
TEXT = SOURCE.read_text()
LINES = {match[1]: number for number, line in enumerate(TEXT.splitlines(), 1) if (match := re.search(r"// @(\w+)$", line))}
NAMES = {name: "vector" for name in re.findall(r"^VECTOR\((\w+)\)", TEXT, re.MULTILINE)} | {"on_cube": "cube"}
for macro, forms in (("FOR_TYPE", ("shuffle_{}", "reduce_{}")), ("ATOMICS", ("atomic_ub_{}", "atomic_gm_{}"))):
    NAMES |= {form.format(suffix): "vector" for suffix in re.findall(rf"^{macro}\((\w+), \w+\)$", TEXT, re.MULTILINE) for form in forms}
THREADS = (1, 2, 31, 32, 33, 100, 1024, 2048)
TORCH = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "s32": torch.int32, "u32": torch.uint32, "s64": torch.int64, "u64": torch.uint64}
DTYPES = DTYPES | {"u64": np.uint64}


@pytest.fixture(scope="module")
def host_kernels():
    return jit.compile_all(SOURCE, NAMES, include_dirs=())


@pytest.fixture(scope="module", params=["host", aarch64.PARAM])
def kernels(request):
    return aarch64.Kernels(SOURCE, NAMES) if request.param == aarch64.LEVEL else request.getfixturevalue("host_kernels")


def npu(array):
    """A numpy array of any of our types as an npu tensor of the same bytes."""
    kind = {np.dtype(v): TORCH[k] for k, v in DTYPES.items() if k in TORCH}[array.dtype]
    return torch.frombuffer(bytearray(array.tobytes()), dtype=kind).reshape(array.shape).npu()


def back(tensor, dtype):
    return np.frombuffer(tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes(), dtype).reshape(tuple(tensor.shape))


def values(suffix, count, seed):
    return np.resize(np.concatenate([edge_values(suffix) if suffix != "u64" else np.array([0, 1, 2**64 - 1], np.uint64),
                                     random_values(suffix, 64, seed) if suffix != "u64" else np.random.default_rng(seed).integers(0, 2**64, 64, np.uint64)]), count)


# ---- indices and barriers -----------------------------------------------------------------------------------------------

@edges("bounds", "asc_vf_call")
@pytest.mark.parametrize("x, y, z", [(1, 1, 1), (7, 1, 1), (32, 4, 2), (5, 3, 11), (1, 1, 64), (1, 2048, 1), (2048, 1, 1)])
def test_each_thread_has_its_indices(kernels, x, y, z):
    out = torch.full((2, x * y * z, 8), -1, dtype=torch.int32).npu()
    kernels["indices"][2](out, x, y, z)
    linear = np.arange(x * y * z)
    expected = np.stack([linear % x, linear // x % y, linear // x // y, linear % 32, *(np.full_like(linear, v) for v in (x, y, z, 0))], 1)
    for block in (0, 1):
        expected[:, 7] = block
        np.testing.assert_array_equal(out[block].cpu().numpy(), expected)


@edges("lanes", "asc_syncthreads")
@pytest.mark.parametrize("threads", THREADS)
def test_all_threads_meet_at_a_barrier(kernels, threads):
    x = torch.randint(-1000, 1000, (threads,), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    out = torch.zeros(threads, dtype=torch.int32).npu()
    kernels["barriers"][1](x.npu(), out, threads, 5)
    assert out.cpu().equal(x.roll(-5) + 10)


@pytest.mark.parametrize("threads", [1, 40, 100])
def test_threads_that_have_ended_hold_nobody_up(kernels, threads):
    out = torch.zeros(threads, dtype=torch.int32).npu()
    kernels["leaving"][1](out, threads)
    i = torch.arange(threads)
    # When thread i has counted to i, the last one, which runs behind it, stands at i or has counted once more.
    assert torch.isin(out.cpu() - 2 * i, torch.tensor([0, 1])).all() and out[-1].item() == 2 * (threads - 1)


@pytest.mark.parametrize("threads, arriving", [(64, 32), (100, 96), (100, 64), (2048, 32), (33, 33)])
def test_warps_that_have_ended_hold_nobody_up(kernels, threads, arriving):
    out = torch.zeros(2048, dtype=torch.int32).npu()
    kernels["passing_by"][1](out, threads, arriving, 0)
    assert out[:threads].cpu().equal(torch.arange(threads, dtype=torch.int32))


@edges("lanes", "asc_syncthreads")
@pytest.mark.parametrize("name, arguments, says, line", [
    ("passing_by", (64, 40, 0), "40 of 64 threads have reached this barrier, 24 have come to the end of the function without it", "pass_by"),
    ("passing_by", (100, 33, 0), "33 of 100 threads have reached this barrier, 67 have come to the end", "pass_by"),
    ("passing_by", (100, 99, 0), "99 of 100 threads have reached this barrier, 1 has come to the end", "pass_by"),
    ("passing_by", (64, 1, 4), "1 of 64 threads have reached this barrier, 59 have come to the end of the function without it, 4 have returned before", "pass_by"),
    ("parting", (64, 20), "20 of 64 threads have reached this barrier, 44 wait at simt_kernels.cpp:{other_part}", "part"),
    ("parting", (2048, 2047), "2047 of 2048 threads have reached this barrier, 1 waits at simt_kernels.cpp:{other_part}", "part"),
])
def test_a_barrier_that_some_threads_do_not_reach_ends_the_launch(host_kernels, name, arguments, says, line):
    out = torch.zeros(2048, dtype=torch.int32).npu()
    with pytest.raises(ascend_sim.LaunchError) as caught:
        host_kernels[name][1](out, *arguments)
    message = str(caught.value)
    assert f"V: asc_syncthreads: divergent: {says.format(**LINES)}" in message and message.endswith(f"simt_kernels.cpp:{LINES[line]}"), message
    test_all_threads_meet_at_a_barrier(host_kernels, 100)


def test_a_branch_that_all_threads_take_may_have_a_barrier(host_kernels):
    for name, arguments in (("parting", (64, 64)), ("parting", (64, 0)), ("passing_by", (64, 0, 0)), ("passing_by", (64, 64, 0)), ("passing_by", (64, 60, 4))):
        host_kernels[name][1](torch.zeros(64, dtype=torch.int32).npu(), *arguments)


# ---- exchanges ----------------------------------------------------------------------------------------------------------

def shuffled(x, argument, kind, width):
    """By the definition: lane i of a segment of `width` reads lane a, i - a, i + a or i ^ a; its own value outside the segment or the threads."""
    out = x.copy()
    for i in range(len(x)):
        warp, lane, a = i // 32 * 32, i % 32, int(argument[i])
        first = lane // width * width
        unsigned = a % 2**32
        source = (first + a % width, lane - unsigned, lane + unsigned, lane ^ a)[kind]
        if first <= source < first + width and warp + source < len(x):
            out[i] = x[warp + source]
    return out


@edges("values lanes indices", "asc_shfl{,_up,_down,_xor}")
@pytest.mark.parametrize("suffix", ["f32", "f16", "bf16", "s32", "u32", "s64"])
@pytest.mark.parametrize("kind", range(4), ids=["asc_shfl", "asc_shfl_up", "asc_shfl_down", "asc_shfl_xor"])
def test_shuffle(kernels, suffix, kind):
    for threads, width in ((33, 32), (64, 8), (1, 32), (96, 16), (50, 2), (64, 1)):
        x = values(suffix, threads, seed=kind)
        argument = np.resize(np.concatenate([np.array([0, 1, 5, 31, 32, 33, -1, 2**31 - 1, -(2**31)]), np.random.default_rng(threads).integers(-3, 35, 50)]),
                             threads).astype(np.int32)
        out = npu(np.zeros_like(x))
        kernels[f"shuffle_{suffix}"][1](npu(x), out, npu(argument), threads, kind, width)
        got, expected = back(out, x.dtype), shuffled(x, argument, kind, width)
        assert got.tobytes() == expected.tobytes(), (threads, width)


def tree(x, combine, identity):
    lanes = list(x) + [identity] * (32 - len(x))
    while len(lanes) > 1:
        lanes = [combine(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
    return lanes[0]


@edges("values lanes", "asc_reduce_{add,max,min}")
@pytest.mark.parametrize("suffix", ["f32", "f16", "bf16", "s32", "u32", "s64"])
@pytest.mark.parametrize("kind", range(3), ids=["asc_reduce_add", "asc_reduce_max", "asc_reduce_min"])
def test_reduction_of_a_warp(kernels, suffix, kind):
    """Sums: a tree of neighbours, 16-bit floats in fp32 with one rounding; extremes: NaN propagates, -0 below +0."""
    is_float = suffix in ("f32", "f16", "bf16")
    dtype = np.dtype(DTYPES[suffix])
    for threads, seed in ((32, 0), (70, 1), (1, 2), (2048, 3)):
        x = values(suffix, threads, seed)
        if seed == 3 and is_float:
            x = np.random.default_rng(3).standard_normal(threads).astype(dtype)
        if seed == 1 and is_float:
            x[:32] = np.array([0.0, -0.0] * 16).astype(dtype)
        out = npu(np.zeros_like(x))
        kernels[f"reduce_{suffix}"][1](npu(x), out, threads, kind)
        wide = x.astype(np.float32) if is_float else x
        expected = np.empty_like(x)
        with np.errstate(all="ignore"):
            for begin in range(0, threads, 32):
                part = wide[begin:begin + 32]
                if kind == 0:
                    one = tree(part, lambda a, b: a + b, wide.dtype.type(0))
                elif is_float and np.isnan(part).any():
                    one = np.float32(np.nan)
                elif is_float:
                    one = sorted(part, key=lambda v: (float(v), not np.signbit(v)))[-1 if kind == 1 else 0]
                else:
                    one = part.max() if kind == 1 else part.min()
                expected[begin:begin + 32] = np.asarray(one).astype(dtype)
        assert same(back(out, dtype), expected).all(), threads


@edges("values lanes", "asc_{ballot,any,all,activemask}")
@pytest.mark.parametrize("threads", [1, 32, 45, 2048])
def test_votes(kernels, threads):
    for probability in (0.0, 0.5, 1.0):
        x = (np.random.default_rng(threads).random(threads) < probability).astype(np.int32) * -7
        out = torch.zeros(threads, 4, dtype=torch.uint32).npu()
        kernels["votes"][1](npu(x), out, threads)
        for i in range(threads):
            warp = x[i // 32 * 32 : i // 32 * 32 + 32]
            ballot = sum(1 << lane for lane, v in enumerate(warp) if v)
            assert out[i].tolist() == [ballot, int(ballot != 0), int((warp != 0).all()), (1 << len(warp)) - 1] if i % 37 == 0 else True


@pytest.mark.parametrize("threads", [32, 40, 128])
def test_threads_that_diverge_exchange_with_those_in_the_same_place(kernels, threads):
    out = torch.zeros(threads, 6, dtype=torch.int32).npu()
    kernels["divergence"][1](out, threads)
    got = out.tolist()
    for i in range(threads):
        warp = range(i // 32 * 32, min(i // 32 * 32 + 32, threads))
        first, lane = warp[0], i % 32
        live = [t for t in warp if t % 32 != 7]
        expected = [sum(t for t in warp if t % 32 < 20) if lane < 20 else -1, sum(warp),
                    sum(len([t for t in warp if t % 4 > step]) for step in range(lane % 4)), warp[-1]]
        expected += [-1, -1] if lane == 7 else [
            # the lane that is read must be in the same branch: odd lanes read 2, which is even, and even ones 1, which is odd
            i, sum(1 << t % 32 for t in live)]
        assert got[i][:4] == expected[:4] and got[i][4:] == [v if v < 2**31 else v - 2**32 for v in expected[4:]], (i, first)


@edges("values lanes", "asc_reduce_{add,max,min} asc_{ballot,any,all,activemask,syncwarp} asc_shfl{,_up,_down,_xor}")
@pytest.mark.parametrize("suffix", ["f32", "s32"])
@pytest.mark.parametrize("mask", [1, 1 << 31, 1 << 7 | 1, 0x55555555, 0x7fffffff, 0xffffffff, 0x80000001, 0])
def test_only_the_lanes_that_are_there_take_part(kernels, suffix, mask):
    """Lanes that have returned hold NaN, or the least integer, and are neither read nor counted."""
    dtype = np.dtype(DTYPES[suffix])
    for threads, pattern in ((32, [0.0, -0.0]), (33, [1, -1, 2]), (96, list(edge_values(suffix))), (64, [0]), (64, [7])):
        x = np.resize(np.array(pattern, dtype), threads)
        lane = np.arange(threads) % 32
        on = (mask >> lane & 1).astype(bool)
        x = np.where(on, x, np.array(np.nan if suffix == "f32" else np.iinfo(dtype).min).astype(dtype))
        values, votes = npu(np.full((threads, 6), 99, dtype)), npu(np.full((threads, 5), 99, np.uint32))
        kernels[f"chosen_{suffix}"][1](npu(x), values, votes, threads, mask)
        want, want_votes = np.full((threads, 6), 99, dtype), np.full((threads, 5), 99, np.uint32)
        for i in np.flatnonzero(on):
            first = i // 32 * 32
            part = {int(t): x[t] for t in range(first, min(first + 32, threads)) if on[t]}
            with np.errstate(all="ignore"):
                want[i, 0] = tree([part.get(first + lane, dtype.type(0)) for lane in range(32)], lambda a, b: a + b, dtype.type(0))
            order = sorted(part.values(), key=lambda v: (float(v), not np.signbit(v)))
            nan = [v for v in part.values() if v != v]
            want[i, 1:3] = (nan or order)[-1], (nan or order)[0]
            want[i, 3:] = [part.get(t, x[i]) if first <= t < first + 32 else x[i] for t in (first + 31, int(i) - 1, int(i) + 1)]
            ballot = sum(1 << t % 32 for t, v in part.items() if v != 0)
            want_votes[i] = [ballot, ballot != 0, all(v != 0 for v in part.values()), sum(1 << t % 32 for t in part), i ^ 1 if int(i) ^ 1 in part else i]
        assert same(back(values, dtype), want).all(), (threads, pattern)
        assert (back(votes, np.uint32) == want_votes).all(), (threads, pattern)


# ---- atomics ------------------------------------------------------------------------------------------------------------

KINDS = ("add", "sub", "max", "min", "exch", "and", "or", "xor", "inc", "dec", "cas")


def atomic(kind, old, value, thread, dtype):
    """One update in the type, by numpy."""
    with np.errstate(all="ignore"):
        if kind == "add":
            return dtype.type(np.float32(old) + np.float32(value)) if dtype.itemsize == 2 else old + value
        if kind == "sub":
            return dtype.type(np.float32(old) - np.float32(value)) if dtype.itemsize == 2 else old - value
        if kind in ("max", "min"):
            pair = [old, value]
            for v in pair:
                if v != v:
                    return v
            return sorted(pair, key=lambda v: (float(v) if dtype.kind in "fV" else int(v), not np.signbit(np.float32(v)) if dtype.kind in "fV" else 0))[kind == "max"]
        simple = {"exch": lambda: value, "and": lambda: old & value, "or": lambda: old | value, "xor": lambda: old ^ value,
                  "inc": lambda: dtype.type(0) if old >= value else old + dtype.type(1),
                  "dec": lambda: value if old == 0 or old > value else old - dtype.type(1),
                  "cas": lambda: dtype.type(thread) if old == value else old}
        return simple[kind]()


@pytest.mark.parametrize("suffix", ["f32", "f16", "bf16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("memory", ["ub", "gm"])
def test_atomics_of_one_core_are_the_updates_in_the_order_of_its_threads(kernels, suffix, memory):
    dtype = np.dtype(DTYPES[suffix])
    threads, targets = 100, 7
    for number, kind in enumerate(KINDS):
        if number > 4 and suffix in ("f32", "f16", "bf16"):
            break
        x, start = values(suffix, threads, number), values(suffix, targets, number + 50)
        if kind == "cas":
            x[::2] = start[np.arange(threads)[::2] % targets]
        target, old = npu(start), npu(np.zeros_like(x))
        kernels[f"atomic_{memory}_{suffix}"][1](target, npu(x), old, threads, number, targets)
        now, before = start.copy(), np.zeros_like(x)
        for i in range(threads):
            before[i] = now[i % targets]
            now[i % targets] = atomic(kind, now[i % targets], x[i], i, dtype)
        assert same(back(old, dtype), before).all() and same(back(target, dtype), now).all(), kind


@edges("values", "asc_atomic_{add,sub,max,min,exch,and,or,xor,inc,dec,cas}")
@pytest.mark.parametrize("suffix", ["f32", "f16", "bf16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("memory", ["ub", "gm"])
def test_atomics_of_every_two_edge_values(kernels, suffix, memory):
    """A target a pair, so that each is updated once."""
    dtype = np.dtype(DTYPES[suffix])
    edge = edge_values(suffix)
    there, x = np.repeat(edge, len(edge)), np.tile(edge, len(edge))
    for number, kind in enumerate(KINDS):
        if number > 4 and suffix in ("f32", "f16", "bf16"):
            break
        target, old = npu(there), npu(np.zeros_like(x))
        kernels[f"atomic_{memory}_{suffix}"][1](target, npu(x), old, len(x), number, len(x))
        want = np.array([atomic(kind, a, b, i, dtype) for i, (a, b) in enumerate(zip(there, x))], dtype)
        wrong = ~same(back(target, dtype), want)
        assert not wrong.any() and same(back(old, dtype), there).all(), (kind, there[wrong][:3], x[wrong][:3], back(target, dtype)[wrong][:3])


@edges("bounds", "asc_atomic_{add,sub,max,min,exch,and,or,xor,inc,dec,cas}")
@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_an_atomic_needs_its_element_and_its_memory(host_kernels, number):
    gm, ints = torch.zeros(64, dtype=torch.uint8).npu(), torch.zeros(2, dtype=torch.int32).npu()

    def update(offset, in_ub):
        host_kernels["atomic_bounds"][1](gm, ints[:1], ints[1:], offset, number, in_ub)
    update(0, 0), update(60, 0), update(0, 1), update((256 << 10) - 4, 1)
    for offset, in_ub in ((1, 0), (2, 0), (62, 0), (2, 1), ((256 << 10) - 2, 1)):
        with pytest.raises(ascend_sim.LaunchError, match=f"asc_atomic_{KINDS[number]}: thread .0, 0, 0.: the address is not aligned to its element"):
            update(offset, in_ub)
    for offset, in_ub in ((256 << 10, 1), (-4, 1), (2**40, 0)):
        with pytest.raises(ascend_sim.LaunchError, match="thread .0, 0, 0.: "):
            update(offset, in_ub)


@pytest.mark.parametrize("suffix", ["s32", "f32"])
def test_atomics_of_many_cores_lose_nothing(kernels, suffix):
    blocks, threads = 64, 256
    x = torch.randint(0, 4, (blocks * threads,), dtype=torch.int32).to(TORCH[suffix])    # exact in fp32
    target, old = torch.zeros(3, dtype=TORCH[suffix]).npu(), torch.zeros(blocks * threads, dtype=TORCH[suffix]).npu()
    kernels[f"atomic_gm_{suffix}"][blocks](target, x.npu(), old, threads, 0, 3)
    lane = torch.arange(blocks * threads) % threads % 3
    assert target.cpu().equal(torch.stack([x[lane == i].sum() for i in range(3)]).to(TORCH[suffix]))


# ---- mathematics, printing, scalar access -------------------------------------------------------------------------------

MATH = [np.sqrt, lambda v: 1 / np.sqrt(v), np.exp, np.exp2, lambda v: 10.0**v, np.log, np.log2, np.log10, np.log1p, np.tanh, np.tan, np.sin, np.cos,
        np.arctan, lambda v: np.arctan2(v, 0.75), np.vectorize(math.erf, otypes=[float]), np.floor, np.ceil, np.abs,
        lambda v: np.trunc(v + np.copysign(0.5, v)), np.trunc]


@pytest.mark.parametrize("suffix", ["f32", "f16"])
def test_scalar_mathematics_is_within_two_units(kernels, suffix):
    dtype = np.dtype(DTYPES[suffix])
    x = np.concatenate([edge_values(suffix), np.array([0.5, 2.5, -0.5, -1.5, 10, 80, -80, 1e-3, 0.999, 60000]).astype(dtype), random_values(suffix, 400, 1),
                        np.random.default_rng(2).standard_normal(400).astype(dtype)])
    out = npu(np.zeros((21, len(x)), dtype))
    kernels[f"math_{suffix}"][1](npu(x), out, len(x))
    with np.errstate(invalid="ignore"):         # signalling NaNs
        wide = x.astype(np.float64)
    for row, function in enumerate(MATH):
        with np.errstate(all="ignore"):
            exact = function(wide)
            rounded = exact.astype(dtype)
            got = back(out, dtype)[row]
            unit = np.abs(np.spacing(np.where(np.isfinite(rounded), rounded, 1).astype(dtype))).astype(np.float64)
            near = np.abs(got.astype(np.float64) - exact) <= 2.0 * unit
        ok = near | same(got, rounded) | (np.isinf(got) & (np.abs(exact) > float(ml_dtypes.finfo(dtype).max) * (1 - 2.0**-11)))
        assert ok.all(), (row, x[~ok][:3], got[~ok][:3], exact[~ok][:3])


def test_arc_tangents_of_every_two_edge_values(kernels):
    edge = np.concatenate([edge_values("f32"), np.array([1e-30, -1e30, 65504], np.float32)])
    y, x = np.repeat(edge, len(edge)), np.tile(edge, len(edge))
    wide, narrow = npu(np.zeros_like(x)), npu(np.zeros_like(x))
    kernels["atan2_pairs"][1](npu(y), npu(x), wide, narrow, len(x))
    with np.errstate(over="ignore"):
        halves = y.astype(np.float16), x.astype(np.float16)
    for got, (v, u), dtype in ((back(wide, np.float32), (y, x), np.float32), (back(narrow, np.float32), halves, np.float16)):
        with np.errstate(all="ignore"):
            exact = np.arctan2(v.astype(np.float64), u.astype(np.float64))
            rounded = exact.astype(dtype)
            unit = np.abs(np.spacing(np.where(np.isfinite(rounded), rounded, 1).astype(dtype))).astype(np.float64)
            near = (np.abs(got.astype(np.float64) - exact) <= 2 * unit) & (np.signbit(got) == np.signbit(exact))
        ok = near | (np.isnan(got) & np.isnan(exact))
        assert ok.all(), (v[~ok][:3], u[~ok][:3], got[~ok][:3], exact[~ok][:3])


def test_casts_of_pairs(kernels):
    """fp8 casts of SIMT code keep NaN; saturating ones give the largest value for what overflows."""
    x = np.concatenate([edge_values("f32"), np.array([448, 464, 464.0001, 480, -500, 57344, 61440, 61439, -65520, 65519, 2.0**-9, 2.0**-10, 3 * 2.0**-10, 2.0**-17, 1.0625,
                                                      1.1875, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 3e38], np.float32), random_values("f32", 61, 3)])
    n = len(x)
    codes, again = npu(np.zeros((7, n), np.uint32)), npu(np.zeros((14, n), np.float32))
    kernels["casts"][1](npu(x), codes, again, n)
    codes, again = back(codes, np.uint32), back(again, np.float32)
    rows = [np.float16, ml_dtypes.bfloat16, *[ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2] * 2]
    for row, dtype in enumerate(rows):
        with np.errstate(all="ignore"):
            top = np.float32(ml_dtypes.finfo(dtype).max)
            want = (x.clip(-top, top) if row >= 4 else x).astype(dtype)
        bits, size = 8 * np.dtype(dtype).itemsize, np.dtype(dtype).itemsize
        for half, values in enumerate((want, want[::-1])):
            got = (codes[row] >> bits * half & (1 << bits) - 1).astype(f"u{size}").view(dtype)
            assert same(got, np.ascontiguousarray(values)).all(), (row, half, x[~same(got, np.ascontiguousarray(values))][:3])
            assert same(again[2 * row + half], np.ascontiguousarray(values).astype(np.float32)).all(), (row, half)
    with np.errstate(all="ignore"):
        assert same((codes[6] & 0xffff).astype(np.uint16).view(np.float16), x.astype(np.float16)).all()
        assert same(again[13], x.astype(ml_dtypes.bfloat16).astype(np.float32)).all()


def test_threads_print(host_kernels, capfd):
    host_kernels["printing"][1](5)
    assert capfd.readouterr().out == "thread 1 of 5 in block 0\nthread 3 of 5 in block 0\n"


@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_scalar_loads_and_stores_of_global_memory(host_kernels, element):
    x = torch.randint(0, 256, (64,), dtype=torch.uint8)
    out = torch.zeros(64, dtype=torch.uint8).npu()
    with ascend_sim.profile() as p:
        host_kernels["scalars"][1](x.npu(), out, element, 64)
    assert out.cpu().equal(x)
    record = next(r for r in p.records if r.name == "scalars")
    assert record.simulated_us * 1650 > 64 // element * 100                 # a round trip each


@edges("values bounds", "asc_{load,store}_dev")
@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_scalar_access_to_the_last_element_and_beside_it(host_kernels, element):
    for pattern in (0, 0x7f, 0x80, 0xff):
        x, out = torch.full((64,), pattern, dtype=torch.uint8), torch.zeros(64, dtype=torch.uint8).npu()
        host_kernels["scalars"][1](x.npu(), out, element, 64)
        assert out.cpu().equal(x)
    size = 448                                      # allocations begin at multiples of 512 bytes: nothing live lies beside it
    gm = torch.zeros(size, dtype=torch.uint8).npu()
    for store, name in ((0, "asc_load_dev: source"), (1, "asc_store_dev: destination")):
        host_kernels["scalar_at"][1](gm, element, size - element, store)
        for offset in (size, -(2**45), 2**50):
            with pytest.raises(ascend_sim.LaunchError, match=f"S: {name}: global memory 0x"):
                host_kernels["scalar_at"][1](gm, element, offset, store)
        if element > 1:
            with pytest.raises(ascend_sim.LaunchError, match=f"{name.split(':')[0]}: global memory 0x.* is not {element}-byte aligned"):
                host_kernels["scalar_at"][1](gm, element, 1, store)
    assert gm.cpu().tolist() == [0] * (size - element) + [1] + [0] * (element - 1)


# ---- cost ---------------------------------------------------------------------------------------------------------------

def test_cost_is_the_stated_model(host_kernels):
    """Equalities, in cycles, with the constants of the chip file: docs/timing.md, "SIMT functions"."""
    chip = ascend_sim.chips.load("950DT_9581")
    c = {name: chip[f"simt.{name}"] for name in ("warp", "operation", "exchange", "barrier", "ub_atomic", "gm_atomic", "gm_atomic_again", "gm_rate", "gm_latency")}
    gm = torch.zeros(64, dtype=torch.int32).npu()

    def cycles(threads, barriers=0, exchanges=0, ub_atomics=0, gm_atomics=0, work=0):
        with ascend_sim.profile() as p:
            host_kernels["costs"][1](gm, threads, barriers, exchanges, ub_atomics, gm_atomics, work)
        return p.records[0].simulated_us * 1650

    base = cycles(32)
    near = pytest.approx
    assert cycles(256) - base == near((256 / 32 / 4 - 1) * c["warp"], abs=1)
    assert cycles(32, barriers=7) - base == near(7 * c["barrier"], abs=1)
    assert cycles(256, exchanges=8) - cycles(256) == near(8 * 8 * c["exchange"] / 4, abs=1)
    assert cycles(32, ub_atomics=100) - base == near(3200 * c["ub_atomic"], abs=1)
    assert cycles(32, gm_atomics=10) - base == near(c["gm_atomic"] + 319 * c["gm_atomic_again"], abs=1)
    by_issue = cycles(2048, work=1000) - cycles(2048)
    assert by_issue == near(max(2048 * 1000 / 32 / 4 * c["operation"], c["gm_latency"] + 2048 * 4000 / c["gm_rate"]) - 64 * c["warp"] / 4, abs=1)


# ---- faults -------------------------------------------------------------------------------------------------------------

FAULTS = {
    # kernel arguments (index, where): the line, what the message says
    (70000, 0): ("ub_index", "SIMT load or store: thread (37, 0, 0): UB0 address 0x445c0 lies behind the memory"),
    (-1, 0): ("ub_index", "SIMT load or store: thread (37, 0, 0): UB0 address -0x4 lies before the memory"),
    (2**31 - 1, 0): ("ub_index", "SIMT load or store: thread (37, 0, 0): "),
    (-(2**31), 0): ("ub_index", "SIMT load or store: thread (37, 0, 0): "),
    (2**46, 0): ("ub_index", "SIMT load or store: thread (37, 0, 0): "),
    (2**60, 1): ("gm_index", "SIMT load or store: thread (37, 0, 0): "),
    (2**31 - 1, 1): ("gm_index", "SIMT load or store: thread (37, 0, 0): global memory 0x"),
    (0, 2): ("division", "SIMT code: thread (37, 0, 0): integer division by zero"),
    (2**31 - 1, 3): ("atomic", "asc_atomic_add: thread (37, 0, 0): "),
    (0, 4): ("misaligned", "asc_atomic_add: thread (37, 0, 0): the address is not aligned to its element; UB address 0x2"),
    (5, 5): ("assertion", "assert: thread (37, 0, 0): assertion failed: index < 0"),
}


@pytest.mark.parametrize("index, where", FAULTS)
@pytest.mark.parametrize("threads", [38, 1024])
def test_a_fault_names_thread_and_line_and_the_device_goes_on(host_kernels, index, where, threads, request):
    line, says = FAULTS[index, where]
    _C.set_division_check(True)
    request.addfinalizer(lambda: _C.set_division_check(False))
    gm = torch.zeros(64, dtype=torch.int32).npu()
    with pytest.raises(ascend_sim.LaunchError) as caught:
        host_kernels["faults"][1](gm, index, where, 37, threads)
    message = str(caught.value)
    assert says in message and "core 0 aiv0 block 0 V: " in message and message.endswith(f"simt_kernels.cpp:{LINES[line]}"), message
    test_all_threads_meet_at_a_barrier(host_kernels, 100)


@edges("bounds", "asc_vf_call")
@pytest.mark.parametrize("name, arguments, says", [
    ("stack", (True,), "local variables need more than the 64 KiB of this thread's stack"),
    ("nested", (), "a SIMT function cannot start another one"),
    ("too_many", (2049, 1), "2049 x 1 x 1 threads; a function runs 1 to 2048"),
    ("too_many", (0, 5), "0 x 5 x 1 threads; a function runs 1 to 2048"),
    ("too_many", (65536, 65536), "65536 x 65536 x 1 threads; a function runs 1 to 2048"),
    ("on_cube", (), "only a vector core (AIV) has this instruction"),
    ("barrier_outside", (), "asc_syncthreads: called outside a SIMT function"),
    ("for_ever", (), "still running after 1 s"),
    ("turns", (), "SIMT code: thread (5, 0, 0): still running after 1 s"),
    ("turns_in_scalar_code", (), "scalar code: still running after 1 s"),
])
def test_misuse_is_refused(host_kernels, name, arguments, says):
    if arguments == (True,):
        arguments = (torch.zeros(1, dtype=torch.int32).npu(),)
    with time_limit(0.7 if "still running" in says else 300.0), pytest.raises(ascend_sim.LaunchError, match=re.escape(says)):
        host_kernels[name][1](*arguments)
    test_all_threads_meet_at_a_barrier(host_kernels, 100)


def test_a_shuffle_in_segments_that_are_no_power_of_two_is_refused(host_kernels):
    x = torch.zeros(32).npu()
    with pytest.raises(ascend_sim.LaunchError, match="width = 3; accepted are 1, 2, 4, 8, 16 and 32"):
        host_kernels["shuffle_f32"][1](x, x, torch.zeros(32, dtype=torch.int32).npu(), 32, 0, 3)


def test_a_scalar_load_outside_every_tensor_is_refused(host_kernels):
    x = torch.zeros(64, dtype=torch.int32).npu()
    with pytest.raises(ascend_sim.LaunchError, match=rf"S: asc_load_dev: source: global memory 0x.* simt_kernels.cpp:{LINES['scalar_load_outside']}"):
        host_kernels["scalar_load_outside"][1](x)


@settings(max_examples=25, deadline=None)
@given(threads=st.integers(1, 300), rounds=st.integers(0, 6), seed=st.integers(0, 99))
def test_any_number_of_threads_meets(kernels, threads, rounds, seed):
    x = torch.randint(-1000, 1000, (threads,), dtype=torch.int32, generator=torch.Generator().manual_seed(seed))
    out = torch.zeros(threads, dtype=torch.int32).npu()
    kernels["barriers"][1](x.npu(), out, threads, rounds)
    assert out.cpu().equal(x.roll(-rounds) + rounds * (rounds - 1) // 2)
