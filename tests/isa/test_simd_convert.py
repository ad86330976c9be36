# SPDX-License-Identifier: MIT
"""vcvt: rounding, saturation, parts and modes of every element type against ml_dtypes and exact neighbours."""

import functools

import ml_dtypes
import numpy as np
import pytest
from support.edges import edges
from support.simd import DTYPES, check, edge_masks, edge_values, empty, full_mask, lanes, mask_of, random_values, registers

FORMATS = {**DTYPES, "e2m1": ml_dtypes.float4_e2m1fn}
R, A, F, C, Z, O = range(6)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def codes(suffix):
    """All finite values of a format in ascending order, as float64, with their codes."""
    if suffix == "e1m2":  # s e m m, bias 1: multiples of a quarter up to 1.75
        values = np.arange(8) / 4
        return np.concatenate([-values[:0:-1], values]), np.concatenate([np.arange(15, 8, -1), np.arange(8)])
    dtype = np.dtype(FORMATS[suffix])
    if suffix == "e2m1":
        bits = np.arange(16, dtype=np.uint8)
    else:
        bits = np.arange(2 ** (8 * dtype.itemsize), dtype=np.uint64).astype({1: np.uint8, 2: np.uint16}[dtype.itemsize])
    values = bits.view(dtype).astype(np.float64)
    keep = np.isfinite(values) & ~((values == 0) & np.signbit(values))
    order = np.argsort(values[keep], kind="stable")
    return values[keep][order], bits[keep][order].astype(np.int64)


def nearest_codes(x, suffix, rounding):
    """Code of the finite value that x (float64, no NaN) rounds to, ignoring overflow; and the sign of zero kept."""
    values, bits = codes(suffix)
    high = np.clip(np.searchsorted(values, x, side="left"), 0, len(values) - 1)
    low = np.where(values[high] == x, high, np.maximum(high - 1, 0))
    beyond_top, beyond_bottom = x > values[-1], x < values[0]
    low, high = np.where(beyond_top, len(values) - 1, low), np.where(beyond_bottom, 0, high)
    down, up = x - values[low], values[high] - x
    low_is_even = bits[low] % 2 == 0
    towards_zero = np.where(x > 0, low, high)
    away = np.where(x > 0, high, low)
    pick = {
        R: np.where(down < up, low, np.where(up < down, high, np.where(low_is_even, low, high))),
        A: np.where(down < up, low, np.where(up < down, high, away)),
        F: low, C: high, Z: towards_zero,
        O: np.where(low_is_even & (low != high), high, low),
    }[rounding]
    sign = {"e2m1": 8, "e1m2": 8}.get(suffix, 1 << (8 * np.dtype(FORMATS.get(suffix, np.uint8)).itemsize - 1))
    result = bits[pick]
    return np.where((values[pick] == 0) & np.signbit(x), result | sign, result)


def interesting_f32(suffix, seed):
    """fp32 values on, next to and half way between the values of a format, beyond its ends, and random bit patterns."""
    values, _ = codes(suffix)
    if len(values) > 600:
        values = np.random.default_rng(seed).choice(values, 600)
        values = np.sort(np.concatenate([values, codes(suffix)[0][:40], codes(suffix)[0][-40:]]))
    middle = (values[1:] + values[:-1]) / 2
    over = values[-1] + (values[-1] - values[-2]) * np.array([0.25, 0.5, 0.75, 1, 2])       # where overflow begins
    at = np.concatenate([values, middle, over, -over]).astype(np.float32)
    beside = np.concatenate([at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))])
    return np.concatenate([beside, edge_values("f32"), random_values("f32", 640, seed)])


OVER = {"f16": (0x7BFF, 0x7C00, 0x7E00), "bf16": (0x7F7F, 0x7F80, 0x7FC0), "e4m3": (0x7E, 0x7F, 0x7F), "e5m2": (0x7B, 0x7C, 0x7E)}


def expected_codes(x, suffix, rounding, saturate):
    """Codes of the casts that DK-CAST describes: overflow, infinity and NaN with and without saturation."""
    largest, infinity, nan = OVER[suffix]
    sign_bit = 0x80 if largest < 0x100 else 0x8000
    sign = np.where(np.signbit(x), sign_bit, 0)
    wide = x.astype(np.float64)
    values, _ = codes(suffix)
    top = values[-1]
    result = nearest_codes(np.where(np.isnan(wide), 0, np.clip(wide, -2 * top, 2 * top)), suffix, rounding)
    if suffix == "e4m3":  # its largest finite code is even: the half way point to the next step overflows only above it
        step = 32.0
        overflows = np.abs(wide) > top + step / 2
    else:
        step = top - values[-2]
        overflows = {R: np.abs(wide) >= top + step / 2, A: np.abs(wide) >= top + step / 2, F: wide < -top, C: wide > top,
                     Z: np.zeros(len(x), bool), O: np.zeros(len(x), bool)}[rounding]
    overflows |= np.isinf(wide)
    result = np.where(overflows, sign | (largest if saturate else infinity), result)
    return np.where(np.isnan(wide), 0 if saturate else sign | nan, result)


@functools.cache
def cast_of_every_code(source, target, rounding, saturate):
    """Of all 65536 values of a 16-bit float: its value, its code in the target. Shared by the host levels."""
    x = np.arange(65536, dtype=np.uint16).view(DTYPES[source])
    return x, expected_codes(x.astype(np.float32), target, rounding, saturate).astype(f"u{np.dtype(DTYPES[target]).itemsize}")


def narrow_lanes(register, wide_count, part):
    """The lanes that a narrowing cast wrote, and the others."""
    ratio = len(register) // wide_count
    table = register.reshape(wide_count, ratio)
    return table[:, part], np.delete(table, part, axis=1)


@edges("values ties", "vcvt")
@pytest.mark.parametrize("suffix", ["bf16", "f16", "e4m3", "e5m2"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_f32_rounds_to_the_nearest_code_of_narrow_floats(simd, suffix, saturate):
    for x in registers(interesting_f32(suffix, 1)):
        got = empty(suffix)
        simd(f"vcvt_f32_{suffix}_r0_s{saturate}_p0_m0", got, x, full_mask())
        written, others = narrow_lanes(got, 64, 0)
        want = expected_codes(x, suffix, R, saturate)
        bits = f"u{got.dtype.itemsize}"
        check(np.ascontiguousarray(written).view(bits), want.astype(bits), x, what=f"f32 -> {suffix}")
        assert not np.ascontiguousarray(others).view(bits).any()


@pytest.mark.parametrize("suffix", ["bf16", "f16"])
@pytest.mark.parametrize("rounding", [A, F, C, Z])
def test_f32_rounds_to_16_bits_in_every_direction(simd, suffix, rounding):
    for x in registers(interesting_f32(suffix, 2)):
        got = empty(suffix)
        simd(f"vcvt_f32_{suffix}_r{rounding}_s0_p0_m0", got, x, full_mask())
        written, _ = narrow_lanes(got, 64, 0)
        check(np.ascontiguousarray(written).view("u2"), expected_codes(x, suffix, rounding, 0).astype("u2"), x)


def test_f32_to_f16_rounds_to_odd(simd):
    for x in registers(interesting_f32("f16", 3)):
        got = empty("f16")
        simd("vcvt_f32_f16_r5_s0_p0_m0", got, x, full_mask())
        written, _ = narrow_lanes(got, 64, 0)
        check(np.ascontiguousarray(written).view("u2"), expected_codes(x, "f16", O, 0).astype("u2"), x)


@edges("parts", "vcvt")
@pytest.mark.parametrize("suffix, parts", [("bf16", 2), ("f16", 2), ("e4m3", 4), ("e5m2", 4)])
def test_a_narrowing_cast_writes_its_part_of_each_lane(simd, suffix, parts):
    x = np.linspace(-3, 5, 64).astype(np.float32)
    first = empty(suffix)
    simd(f"vcvt_f32_{suffix}_r0_s1_p0_m0", first, x, full_mask())
    want, _ = narrow_lanes(first, 64, 0)
    for part in range(1, parts):
        got = empty(suffix)
        simd(f"vcvt_f32_{suffix}_r0_s1_p{part}_m0", got, x, full_mask())
        written, others = narrow_lanes(got, 64, part)
        check(np.ascontiguousarray(written), np.ascontiguousarray(want), x)
        assert not np.ascontiguousarray(others).view(f"u{got.dtype.itemsize}").any()


@pytest.mark.parametrize("suffix, part", [("bf16", 1), ("e4m3", 2)])
def test_a_merging_cast_leaves_the_other_parts_and_lanes(simd, suffix, part):
    on = np.arange(64) % 3 == 0
    x = np.linspace(-3, 5, 64).astype(np.float32)
    want = empty(suffix)
    simd(f"vcvt_f32_{suffix}_r0_s1_p{part}_m0", want, x, full_mask())
    got, old = empty(suffix), empty(suffix)
    simd(f"vcvt_f32_{suffix}_r0_s1_p{part}_m1", got, x, mask_of(on, 4))
    ratio = len(got) // 64
    place = (np.arange(len(got)) % ratio == part) & np.repeat(on, ratio)
    check(got, np.where(place, want, old), np.repeat(x, ratio))


@pytest.mark.parametrize("suffix", ["bf16", "f16"])
def test_16_bit_floats_widen_exactly(simd, suffix):
    every = np.arange(65536, dtype=np.uint16).view(DTYPES[suffix])
    for x in every.reshape(-1, 128):
        for part in (0, 1):
            got = empty("f32")
            simd(f"vcvt_{suffix}_f32_r0_s0_p{part}_m0", got, x, full_mask())
            check(got, x[part::2].astype(np.float32), x[part::2])


@pytest.mark.parametrize("suffix", ["e4m3", "e5m2"])
def test_8_bit_floats_widen_exactly(simd, suffix):
    x = np.arange(256, dtype=np.uint8).view(DTYPES[suffix])
    for part in range(4):
        got = empty("f32")
        simd(f"vcvt_{suffix}_f32_r0_s0_p{part}_m0", got, x, full_mask())
        check(got, x[part::4].astype(np.float32), x[part::4])


def test_a_widening_cast_reads_the_predicate_of_the_wide_lane(simd):
    x = np.arange(128).astype(DTYPES["bf16"])
    on = np.arange(64) % 2 == 0
    for mask in (mask_of(on, 4), mask_of(np.repeat(on, 2), 2)):
        got = empty("f32")
        simd("vcvt_bf16_f32_r0_s0_p1_m0", got, x, mask)
        check(got, np.where(on, x[1::2].astype(np.float32), np.float32(0)))
        merged = np.full(64, -7, np.float32)
        simd("vcvt_bf16_f32_r0_s0_p1_m1", merged, x, mask)
        check(merged, np.where(on, x[1::2].astype(np.float32), np.float32(-7)))


@pytest.mark.parametrize("source, target, part", [("bf16", "e4m3", 0), ("bf16", "e4m3", 1)])
def test_bf16_narrows_to_e4m3(simd, source, target, part):
    for x in registers(np.arange(0, 65536, 3, dtype=np.uint16).view(DTYPES[source])):
        got = empty(target)
        simd(f"vcvt_{source}_{target}_r0_s1_p{part}_m0", got, x, full_mask())
        written, others = narrow_lanes(got, 128, part)
        want = expected_codes(x.astype(np.float32), target, R, 1)
        check(np.ascontiguousarray(written).view("u1"), want.astype("u1"), x)


@pytest.mark.parametrize("target, part", [("e4m3", 0), ("e5m2", 1)])
def test_f16_narrows_to_8_bits_without_saturation(simd, target, part):
    for x in registers(np.arange(0, 65536, 3, dtype=np.uint16).view(np.float16)):
        got = empty(target)
        simd(f"vcvt_f16_{target}_r0_s0_p{part}_m0", got, x, full_mask())
        written, _ = narrow_lanes(got, 128, part)
        check(np.ascontiguousarray(written).view("u1"), expected_codes(x.astype(np.float32), target, R, 0).astype("u1"), x)


def test_the_two_16_bit_floats_convert_into_each_other(simd):
    for source, target, saturate in (("f16", "bf16", 0), ("bf16", "f16", 0), ("bf16", "f16", 1)):
        every, want = cast_of_every_code(source, target, R, saturate)
        for x, codes_of_x in zip(every.reshape(-1, 128), want.reshape(-1, 128)):
            got = empty(target)
            simd(f"vcvt_{source}_{target}_r0_s{saturate}_p0_m0", got, x, full_mask())
            check(got.view("u2"), codes_of_x, x)


@edges("values ties", "vcvt")
@pytest.mark.parametrize("suffix", ["e2m1", "e1m2"])
@pytest.mark.parametrize("rounding", [R, A, F, C, Z])
def test_bf16_rounds_to_pairs_of_fp4(simd, suffix, rounding):
    for x in registers(np.arange(0, 65536, 5, dtype=np.uint16).view(DTYPES["bf16"])):
        got = np.full(256, 0xA5, np.uint8)
        simd(f"vcvt_bf16_{suffix}_r{rounding}_s0_p0_m0", got, x, full_mask())
        table = got.reshape(64, 4)
        assert not table[:, 1:].any()
        nibbles = np.stack([table[:, 0] & 15, table[:, 0] >> 4], axis=1).ravel()
        values, _ = codes(suffix)
        wide = x.astype(np.float64)
        want = nearest_codes(np.clip(np.where(np.isnan(wide), 0, wide), values[0], values[-1]), suffix, rounding)
        want = np.where(np.isnan(wide), 0, want)
        check(nibbles, want.astype("u1"), x, what=suffix)


@pytest.mark.parametrize("suffix", ["e2m1", "e1m2"])
def test_fp4_pairs_use_their_part_and_the_predicate_of_each_element(simd, suffix):
    x = np.resize(np.array([0, 0.5, 1, 1.5, -0.5, -1, -1.5, 1], np.float32), 128).astype(DTYPES["bf16"])
    full = np.zeros(256, np.uint8)
    simd(f"vcvt_bf16_{suffix}_r0_s0_p0_m0", full, x, full_mask())
    got = np.full(256, 0xA5, np.uint8)
    on = np.arange(128) % 2 == 1
    simd(f"vcvt_bf16_{suffix}_r0_s0_p3_m0", got, x, full_mask())
    assert (got.reshape(64, 4)[:, 3] == full.reshape(64, 4)[:, 0]).all() and not got.reshape(64, 4)[:, :3].any()
    simd(f"vcvt_bf16_{suffix}_r0_s0_p0_m0", got, x, mask_of(on, 2))
    assert (got == (full & 0xF0)).all()


@pytest.mark.parametrize("suffix", ["e2m1", "e1m2"])
def test_fp4_pairs_widen_exactly(simd, suffix):
    packed = np.arange(256, dtype=np.uint8)
    values = np.zeros(16)
    finite, bits = codes(suffix)
    values[bits] = finite
    values[8] = -0.0
    for part in (0, 2):
        got = empty("bf16")
        simd(f"vcvt_{suffix}_bf16_r0_s0_p{part}_m0", got, packed, full_mask())
        source = packed[part::4]
        want = np.stack([values[source & 15], values[source >> 4]], axis=1).ravel().astype(np.float32).astype(DTYPES["bf16"])
        check(got.view("u2"), want.view("u2"), np.repeat(source, 2))


def rounded_to_integer(x, rounding):
    x = np.asarray(x, np.float64)
    return {R: np.rint(x), A: np.where(x >= 0, np.floor(x + 0.5), np.ceil(x - 0.5)), F: np.floor(x), C: np.ceil(x), Z: np.trunc(x)}[rounding]


INTEGERS = [("f32", "s32", 0), ("f32", "s16", 1), ("f32", "s64", 0), ("f16", "s16", 0), ("f16", "s8", 0), ("f16", "u8", 1), ("bf16", "s32", 0),
            ("f32", "u8", 3), ("f32", "u16", 0), ("f32", "u32", 0), ("f32", "u64", 1), ("f16", "s32", 1), ("bf16", "s8", 1)]


def floats_near_integers(source, target):
    info = np.iinfo(DTYPES[target])
    near = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 100.5, -100.7, 8388607.5, info.max, info.max - 0.5, info.max + 0.5, info.max + 1.5, info.min,
                     info.min - 0.5, info.min - 1.5, info.max / 2, 2.0**31, -(2.0**31), 2.0**32 + 512, -(2.0**32) - 512, 2.0**63, -(2.0**63), 1.5 * 2.0**63,
                     2.0**64, 1.25 * 2.0**66, 65504, 1e30, -1e30])
    return registers(np.concatenate([near.astype(DTYPES[source]), edge_values(source), random_values(source, 512, 4)]))


def laid_out(got, exact, x, part):
    """The lanes of `got` that a cast of x wrote, and what is expected there."""
    if got.dtype.itemsize < x.dtype.itemsize:
        written, others = narrow_lanes(got, len(x), part)
        assert not np.ascontiguousarray(others).view(np.uint8).any()
        return np.ascontiguousarray(written), exact
    return got, exact[part:: len(x) // len(got)]


@edges("values ties", "vcvt")
@pytest.mark.parametrize("source, target, part", INTEGERS)
@pytest.mark.parametrize("rounding", [R, A, F, C, Z])
def test_floats_become_integers_with_saturation(simd, source, target, part, rounding):
    info = np.iinfo(DTYPES[target])
    for x in floats_near_integers(source, target):
        got = empty(target)
        simd(f"vcvt_{source}_{target}_r{rounding}_s1_p{part}_m0", got, x, full_mask())
        limited = [0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
                   for v in rounded_to_integer(x.astype(np.float64), rounding)]
        check(*laid_out(got, np.array(limited, DTYPES[target]), x, part), what=f"{source} -> {target}")


@pytest.mark.parametrize("source, target, part", INTEGERS)
def test_floats_wrap_without_saturation(simd, source, target, part):
    bits = 8 * np.dtype(DTYPES[target]).itemsize
    for x in floats_near_integers(source, target):
        got = empty(target)
        simd(f"vcvt_{source}_{target}_r4_s0_p{part}_m0", got, x, full_mask())
        wrapped = [int(v) % 2**bits if np.isfinite(v) else 0 for v in x.astype(np.float64)]
        check(*laid_out(got, np.array(wrapped, f"u{bits // 8}").view(DTYPES[target]), x, part), what=f"{source} -> {target}")


@pytest.mark.parametrize("rounding", [R, A, F, C, Z])
def test_s32_becomes_f32_in_every_direction(simd, rounding):
    near = np.array([2**24 + d for d in (-1, 0, 1, 2, 3)] + [2**25 + d for d in range(8)] + [2**30 + 64, 2**30 + 96, 2**31 - 1])
    x_all = np.concatenate([near, -near, random_values("s32", 256, 5)]).astype(np.int32)
    for x in registers(np.concatenate([x_all, edge_values("s32")])):
        got = empty("f32")
        simd(f"vcvt_s32_f32_r{rounding}_s0_p0_m0", got, x, full_mask())
        exact = x.astype(np.float64)
        nearest = x.astype(np.float32)
        below = np.where(nearest.astype(np.float64) > exact, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        above = np.where(nearest.astype(np.float64) < exact, np.nextafter(nearest, np.float32(np.inf)), nearest)
        tie = (above - exact) == (exact - below)
        want = {R: nearest, F: below, C: above, Z: np.where(x >= 0, below, above),
                A: np.where(tie & (above != below), np.where(x >= 0, above, below), nearest)}[rounding]
        check(got, want.astype(np.float32), x)


@pytest.mark.parametrize("name, source, target, part", [
    ("vcvt_s16_f32_r0_s0_p1_m0", "s16", "f32", 1), ("vcvt_s16_f16_r0_s0_p0_m0", "s16", "f16", 0),
    ("vcvt_u8_f16_r0_s0_p1_m0", "u8", "f16", 1), ("vcvt_s64_f32_r0_s0_p0_m0", "s64", "f32", 0)])
def test_small_integers_become_floats(simd, name, source, target, part):
    for x in registers(np.concatenate([edge_values(source), random_values(source, 512, 6)])):
        got = empty(target)
        simd(name, got, x, full_mask())
        if source == "s64":
            written, _ = narrow_lanes(got, 32, part)
            check(np.ascontiguousarray(written), x.astype(np.float32), x)
        else:
            ratio = len(x) // len(got)
            check(got, x[part::ratio].astype(DTYPES[target]), x[part::ratio])


WIDTHS = [("s32", "s16", 1), ("s32", "u16", 0), ("s32", "u8", 3), ("u32", "u16", 1), ("u32", "u8", 0), ("s16", "u8", 1), ("u16", "u8", 0),
          ("s16", "s32", 1), ("u16", "u32", 1), ("s8", "s16", 1), ("s8", "s32", 3), ("u8", "u32", 2), ("s32", "s64", 1), ("s64", "s32", 0),
          # signs that change, and 64 bits without one
          ("s8", "u16", 1), ("s8", "u32", 0), ("s16", "u32", 0), ("u8", "s16", 0), ("s32", "u64", 0), ("u32", "u64", 1), ("u64", "s32", 1), ("u64", "u32", 0),
          ("s64", "u32", 1), ("s32", "u32", 0), ("u32", "s32", 0), ("u16", "s16", 0), ("s8", "u8", 0), ("s64", "u64", 0), ("u64", "s64", 0), ("s32", "s8", 2),
          ("s16", "s8", 0)]


@edges("values parts", "vcvt")
@pytest.mark.parametrize("source, target, part", WIDTHS)
@pytest.mark.parametrize("saturate", [0, 1])
def test_integers_change_width(simd, source, target, part, saturate):
    info = np.iinfo(DTYPES[target])
    for x in registers(np.concatenate([edge_values(source), random_values(source, 512, 8)])):
        got = empty(target)
        simd(f"vcvt_{source}_{target}_r0_s{saturate}_p{part}_m0", got, x, full_mask())
        low, high = max(info.min, np.iinfo(x.dtype).min), min(info.max, np.iinfo(x.dtype).max)
        exact = (np.clip(x, low, high) if saturate else x).astype(DTYPES[target])
        check(*laid_out(got, exact, x, part), what=f"{source} -> {target}")


# ---- further pairs, in every direction ----------------------------------------------------------------------------------

def f32_of_integer(value, rounding):
    """An integer of any size to 24 bits, by integer arithmetic."""
    size, sign = abs(value), -1 if value < 0 else 1
    unit = 1 << max(size.bit_length() - 24, 0)
    low, rest = size // unit, size % unit
    up = {R: 2 * rest > unit or (2 * rest == unit and low % 2), A: 2 * rest >= unit, F: rest and sign < 0, C: rest and sign > 0, Z: False}[rounding]
    return np.float32(float((low + bool(up)) * unit * sign))


@edges("values ties", "vcvt")
@pytest.mark.parametrize("rounding", [R, A, F, C, Z])
@pytest.mark.parametrize("source, part", [("u32", 0), ("s64", 0), ("u64", 1)])
def test_wide_integers_become_f32_in_every_direction(simd, source, part, rounding):
    info = np.iinfo(DTYPES[source])
    near = [2**e + d for e in (24, 25, 26, 30, 31) for d in (-1, 0, 1, 2, 3, 4, 6)] + [2**31 + d for d in (127, 128, 129, 384)]
    near += [2**62 + d for d in (2**38, 2**38 - 1, 3 * 2**38)] + [2**63 + 2**39, 2**63 + 2**39 + 1, 2**63 + 3 * 2**39]
    near += [-v for v in near]
    near = np.array([v for v in near if info.min <= v <= info.max], DTYPES[source])
    for x in registers(np.concatenate([near, edge_values(source), random_values(source, 64, 5)])):
        got = empty("f32")
        simd(f"vcvt_{source}_f32_r{rounding}_s0_p{part}_m0", got, x, full_mask())
        check(*laid_out(got, np.array([f32_of_integer(int(v), rounding) for v in x], np.float32), x, part), what=source)


@edges("values ties", "vcvt")
@pytest.mark.parametrize("rounding", [R, A, F, C, Z])
@pytest.mark.parametrize("source, target, part", [("s32", "f16", 1), ("u16", "f16", 0), ("s32", "bf16", 0), ("s16", "bf16", 0)])
def test_integers_become_16_bit_floats_in_every_direction(simd, source, target, part, rounding):
    info = np.iinfo(DTYPES[source])
    near = [2**e + d for e in (8, 9, 11, 12, 13, 15, 16) for d in (-3, -2, -1, 0, 1, 2, 3, 4, 6)] + [65504, 65519, 65520, 65521, 2**31 - 2**22, 2**31 - 2**22 - 1]
    near = np.array([v * s for v in near for s in (1, -1) if info.min <= v * s <= info.max], DTYPES[source])
    for x in registers(np.concatenate([near, edge_values(source), random_values(source, 256, 5)])):
        got = empty(target)
        simd(f"vcvt_{source}_{target}_r{rounding}_s0_p{part}_m0", got, x, full_mask())
        want = expected_codes(x.astype(np.float64), target, rounding, 0).astype("u2").view(DTYPES[target])
        check(*laid_out(got, want, x, part), x, what=f"{source} -> {target}")


@edges("values ties", "vcvt")
@pytest.mark.parametrize("rounding", [A, F, C, Z])
def test_16_bit_floats_round_into_each_other_in_every_direction(simd, rounding):
    for source, target in (("f16", "bf16"), ("bf16", "f16")):
        every, want = cast_of_every_code(source, target, rounding, 0)
        for x, codes_of_x in zip(every.reshape(-1, 128), want.reshape(-1, 128)):
            got = empty(target)
            simd(f"vcvt_{source}_{target}_r{rounding}_s0_p0_m0", got, x, full_mask())
            check(got.view("u2"), codes_of_x, x)


@edges("values ties", "vcvt")
@pytest.mark.parametrize("suffix, rounding, saturate", [*((s, r, 1) for s in ("bf16", "f16") for r in (A, F, C, Z)), ("bf16", O, 0)])
def test_f32_to_16_bits_saturates_in_every_direction(simd, suffix, rounding, saturate):
    for x in registers(interesting_f32(suffix, 4)):
        got = empty(suffix)
        simd(f"vcvt_f32_{suffix}_r{rounding}_s{saturate}_p0_m0", got, x, full_mask())
        written, _ = narrow_lanes(got, 64, 0)
        check(np.ascontiguousarray(written).view("u2"), expected_codes(x, suffix, rounding, saturate).astype("u2"), x)


@edges("values ties parts", "vcvt")
@pytest.mark.parametrize("source, part", [("bf16", 1), ("f32", 2)])
@pytest.mark.parametrize("rounding", [R, A, F, C, Z])
def test_floats_become_powers_of_two(simd, source, part, rounding):
    """The sign is dropped, overflow and inf give 0xfe, NaN 0xff; what is below 2^-127, and zero, is code 0."""
    powers = 2.0 ** (np.arange(255) - 127)
    values = np.concatenate([powers[[0, 1, 2, 3, 126, 127, 128, 252, 253, 254]] * f for f in (1, 1.25, 1.5, 1.75, 1.9921875, 1 + 2**-7)])
    for x in registers(np.concatenate([values.astype(DTYPES[source]), edge_values(source), random_values(source, 256, 3)])):
        got = np.full(256, 0xA5, np.uint8)
        simd(f"vcvt_{source}_e8m0_r{rounding}_s0_p{part}_m0", got, x, full_mask())
        size = np.abs(x.astype(np.float64))
        low = np.clip(np.searchsorted(powers, np.nan_to_num(size, posinf=0), side="right") - 1, 0, 253)
        rest = np.nan_to_num(size, posinf=0) / powers[low] - 1
        up = {R: (rest > 0.5) | ((rest == 0.5) & (low % 2 == 1)), A: rest >= 0.5, F: rest < -9, C: rest > 0, Z: rest < -9}[rounding]
        want = np.where(np.isnan(size), 0xFF, np.where(np.isinf(size) | (size >= powers[254]), 0xFE, np.where(size < powers[0], 0, low + up)))
        check(*laid_out(got, want.astype(np.uint8), x, part), x, what=source)


@edges("values parts", "vcvt")
@pytest.mark.parametrize("target, parts", [("bf16", (0, 1)), ("f32", (0, 1, 2, 3))])
def test_powers_of_two_widen_exactly(simd, target, parts):
    x = np.arange(256, dtype=np.uint8).view(DTYPES["e8m0"])
    for part in parts:
        got = empty(target)
        simd(f"vcvt_e8m0_{target}_r0_s0_p{part}_m0", got, x.view(np.uint8), full_mask())
        check(got, x[part:: len(x) // len(got)].astype(np.float32).astype(DTYPES[target]), what=target)


@edges("lanes", "vcvt")
@pytest.mark.parametrize("name, source, target", [("f32_bf16_r0_s1_p1", "f32", "bf16"), ("f32_e4m3_r0_s1_p2", "f32", "e4m3"), ("bf16_f32_r0_s0_p1", "bf16", "f32")])
def test_every_mask_of_a_cast(simd, name, source, target):
    """By the wider lane; what lanes hold that are off is NaN."""
    wide = "f32"
    ratio = {"bf16": 2, "e4m3": 4, "f32": 1}[target]
    part = int(name[-1])
    x = random_values(source, lanes(source), 3)
    whole = empty(target)
    simd(f"vcvt_{name}_m0", whole, x, full_mask())
    for on in edge_masks(wide):
        given = np.where(np.repeat(on, lanes(source) // 64), x, np.array(np.nan, DTYPES[source]))
        place = np.repeat(on, ratio) & (np.arange(64 * ratio) % ratio == (part if ratio > 1 else 0))
        for mode in (0, 1):
            got, old = empty(target), empty(target)
            simd(f"vcvt_{name}_m{mode}", got, given, mask_of(on, 4))
            want = np.where(place, whole, old if mode else np.zeros_like(old))
            check(got, want.astype(got.dtype), what=name)


def test_there_are_as_many_lanes_as_the_register_holds():
    assert [lanes(s) for s in ("s64", "f32", "bf16", "e4m3")] == [32, 64, 128, 256]
