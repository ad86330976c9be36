# SPDX-License-Identifier: MIT
"""Reductions: the documented order of additions, the first of equal extremes, NaN, and no active lane at all."""

import numpy as np
import pytest
from support.simd import DTYPES, FLOATS, INTS, check, empty, full_mask, lanes, mask_of, operands, random_mask, random_values

ALL = FLOATS + INTS
SUM_TYPE = {"s16": "s32", "u16": "u32", "s8": "s16", "u8": "u16"}


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def tree(values):
    """Neighbours first, in the array's own precision."""
    while len(values) > 1:
        values = values[0::2] + values[1::2]
    return values[0]


def summed(x, on, suffix):
    if suffix in FLOATS:
        return np.array([tree(np.where(on, x.astype(np.float32), np.float32(0)))], np.float32).astype(DTYPES[suffix])[0]
    wide = SUM_TYPE.get(suffix, suffix)
    return np.array([int(np.where(on, x, 0).astype(np.int64).sum())], np.int64).astype(DTYPES[wide])[0]


@pytest.mark.parametrize("suffix", ALL)
def test_sum_goes_into_lane_0_in_tree_order(simd, suffix):
    for seed in range(4):
        x = random_values(suffix, lanes(suffix), seed) if suffix in INTS else (
            np.random.default_rng(seed).standard_normal(lanes(suffix)) * 10.0**seed).astype(DTYPES[suffix])
        for on in (np.ones(lanes(suffix), bool), random_mask(suffix, seed)[0], np.zeros(lanes(suffix), bool)):
            wide = SUM_TYPE.get(suffix, suffix)
            got = empty(wide)
            simd(f"asc_reduce_sum_{suffix}", got, x, mask_of(on, x.dtype.itemsize))
            want = np.zeros(lanes(wide), DTYPES[wide])
            want[0] = summed(x, on, suffix)
            check(got, want, what="sum")


@pytest.mark.parametrize("suffix", ALL)
@pytest.mark.parametrize("op", ["max", "min"])
def test_extreme_and_its_first_index(simd, op, suffix):
    for seed, (x, _) in enumerate(operands(suffix, 2)):
        on = random_mask(suffix, seed)[0] if seed % 2 else np.ones(lanes(suffix), bool)
        values = x.astype(np.float64)
        index = extreme_index(values, on, op)
        got = empty(suffix)
        simd(f"asc_reduce_{op}_{suffix}", got, x, mask_of(on, x.dtype.itemsize))
        unsigned = f"u{x.dtype.itemsize}"
        want = np.zeros(lanes(suffix), unsigned)
        want[0], want[1] = x.view(unsigned)[index], index
        check(got.view(unsigned), want, what=op)


def extreme_index(values, on, op):
    """First NaN, else the first of the extremes; -0 orders below +0."""
    candidates = np.flatnonzero(on)
    nan = [i for i in candidates if np.isnan(values[i])]
    if nan:
        return nan[0]
    key = [(values[i], not np.signbit(values[i])) for i in candidates]
    best = max(key) if op == "max" else min(key)
    return candidates[key.index(best)]


@pytest.mark.parametrize("suffix", ALL)
@pytest.mark.parametrize("op", ["max", "min"])
def test_extreme_of_no_active_lane_loses_against_all(simd, op, suffix):
    got = empty(suffix)
    simd(f"asc_reduce_{op}_{suffix}", got, random_values(suffix, lanes(suffix), 1), np.zeros(256, np.uint8))
    if suffix in FLOATS:
        want = -np.inf if op == "max" else np.inf
    else:
        info = np.iinfo(DTYPES[suffix])
        want = info.min if op == "max" else info.max
    assert got[0] == np.array([want]).astype(DTYPES[suffix])[0] and not got[1:].view(np.uint8).any()


@pytest.mark.parametrize("suffix", ALL)
@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes_of_32_byte_blocks(simd, op, suffix):
    for seed, (x, _) in enumerate(operands(suffix, 2, random_registers=2)):
        on = random_mask(suffix, seed)[0] | (np.arange(lanes(suffix)) % (lanes(suffix) // 8) == 0)
        got = empty(suffix)
        simd(f"asc_reduce_{op}_datablock_{suffix}", got, x, mask_of(on, x.dtype.itemsize))
        want = np.zeros(lanes(suffix), DTYPES[suffix])
        for block in range(8):
            part = slice(block * lanes(suffix) // 8, (block + 1) * lanes(suffix) // 8)
            want[block] = x[part][extreme_index(x[part].astype(np.float64), on[part], op)]
        check(got, want, what=op)


@pytest.mark.parametrize("suffix", FLOATS)
@pytest.mark.parametrize("op", ["max", "min"])
def test_the_first_nan_is_the_result_whatever_its_sign_and_payload(simd, op, suffix):
    n, unsigned = lanes(suffix), f"u{np.dtype(DTYPES[suffix]).itemsize}"
    infinity = int(np.array([np.inf]).astype(DTYPES[suffix]).view(unsigned)[0])
    sign = unsigned_max(unsigned) // 2 + 1
    ordinary = np.resize(np.array([np.inf, -np.inf, 0.0, -0.0, 3.0]).astype(DTYPES[suffix]).view(unsigned), n)
    nans = [infinity + 1, infinity + 1 | sign, sign - 1, unsigned_max(unsigned)]
    for first, second in [(a, b) for a in nans for b in nans]:
        x = ordinary.copy()
        x[[0, n // 2 + 3, n - 2]] = nans[0], first, second
        on = np.ones(n, bool)
        on[0] = False
        got = empty(suffix)
        simd(f"asc_reduce_{op}_{suffix}", got, x.view(DTYPES[suffix]), mask_of(on, x.itemsize))
        assert list(got.view(unsigned)[:3]) == [first, n // 2 + 3, 0]
        simd(f"asc_reduce_{op}_datablock_{suffix}", got, x.view(DTYPES[suffix]), mask_of(on, x.itemsize))
        assert got.view(unsigned)[4] == first and got.view(unsigned)[7] == second and not got.view(unsigned)[8:].any()
        assert not np.isnan(got[[0, 1, 2, 3, 5, 6]].astype(np.float32)).any()


def unsigned_max(dtype):
    return int(np.iinfo(dtype).max)


@pytest.mark.parametrize("suffix", ALL)
def test_sums_of_32_byte_blocks(simd, suffix):
    on, mask = random_mask(suffix, 3)
    x = random_values(suffix, lanes(suffix), 4) if suffix in INTS else np.random.default_rng(4).standard_normal(lanes(suffix)).astype(DTYPES[suffix])
    got = empty(suffix)
    simd(f"asc_reduce_sum_datablock_{suffix}", got, x, mask)
    want = np.zeros(lanes(suffix), DTYPES[suffix])
    for block in range(8):
        part = slice(block * lanes(suffix) // 8, (block + 1) * lanes(suffix) // 8)
        want[block] = (summed(x[part], on[part], suffix) if suffix in FLOATS
                       else np.array([int(np.where(on[part], x[part], 0).astype(np.int64).sum())]).astype(DTYPES[suffix])[0])
    check(got, want)


@pytest.mark.parametrize("suffix", FLOATS)
def test_sums_of_neighbours_are_packed_low(simd, suffix):
    on, mask = random_mask(suffix, 5)
    x = np.random.default_rng(5).standard_normal(lanes(suffix)).astype(DTYPES[suffix])
    got = empty(suffix)
    simd(f"asc_pair_reduce_sum_{suffix}", got, x, mask)
    live = np.where(on, x.astype(np.float32), np.float32(0))
    want = np.zeros(lanes(suffix), DTYPES[suffix])
    want[: lanes(suffix) // 2] = (live[0::2] + live[1::2]).astype(DTYPES[suffix])
    check(got, want)


def test_merging_reductions_keep_the_lanes_above(simd):
    x, old = np.arange(64, dtype=np.float32) % 7, np.full(64, -3, np.float32)
    got = old.copy()
    simd("vcmax_merging_f32", got, x, full_mask())
    assert got[0] == 6 and got.view(np.uint32)[1] == 6 and (got[2:] == -3).all()
