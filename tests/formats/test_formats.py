# SPDX-License-Identifier: MIT
"""Do the scalar converters of csrc/formats give the documented code for every input? Oracles: ml_dtypes, brute force."""

import ml_dtypes
import numpy as np
import pytest

RNE = "nearest_even"
DIRECTED = ["floor", "ceil", "trunc"]


def hif8_value(code):
    """Read off the table of DK-TYPES, bit string by bit string."""
    if code == 0x00:
        return 0.0
    if code == 0x80:
        return np.nan
    bits, sign = f"{code & 0x7f:07b}", -1.0 if code & 0x80 else 1.0
    if code & 0x7f == 0x6f:
        return sign * np.inf
    for dot, exponent_bits in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)):
        if bits.startswith(dot):
            exponent, mantissa = bits[len(dot):len(dot) + exponent_bits], bits[len(dot) + exponent_bits:]
            size = int("1" + exponent[1:], 2) if exponent else 0
            size = -size if exponent.startswith("1") else size
            return sign * (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0**size
    return sign * 2.0 ** (int(bits, 2) - 23)


def ladder(name):
    """Non-negative finite values by code (sorted), and the value where the ladder would go on."""
    values, above = {
        "bf16": (lambda: np.arange(0x7f80, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float64), 2.0**128),
        "f16": (lambda: np.arange(0x7c00, dtype=np.uint16).view(np.float16).astype(np.float64), 65536.0),
        "e4m3": (lambda: np.arange(0x7f, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64), 480.0),
        "e5m2": (lambda: np.arange(0x7c, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64), 65536.0),
        "e2m1": (lambda: np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6]), 8.0),
        "e1m2": (lambda: np.arange(8) / 4, 2.0),
    }[name]
    return values(), above


def rounded_index(values, above, x, rounding):
    """Index into `values` + [above] that the finite x rounds to; magnitudes only, x's sign steers floor and ceil."""
    steps = np.append(values, above)
    size = np.abs(x.astype(np.float64))
    low = np.minimum(np.searchsorted(steps, size, side="right") - 1, len(steps) - 2)
    down, up = size - steps[low], steps[low + 1] - size
    negative = np.signbit(x)
    higher = {
        "nearest_even": (down > up) | ((down == up) & (low % 2 == 1)),
        "nearest_away": down >= up,
        "floor": negative & (down > 0),
        "ceil": ~negative & (down > 0),
        "trunc": np.zeros_like(negative),
        "odd": (down > 0) & (low % 2 == 0),
    }[rounding]
    return np.where(size >= above, len(values), low + higher)


def assert_same_codes(got, expected, x):
    wrong = np.flatnonzero(got != expected)
    assert wrong.size == 0, (
        f"{wrong.size} of {x.size} differ; first: {x[wrong[0]]!r} gave {got[wrong[0]]:#x}, expected {expected[wrong[0]]:#x}")


def assert_same_values(got, expected):
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    live = ~np.isnan(got)
    assert np.array_equal(got[live], expected[live])
    assert np.array_equal(np.signbit(got[live]), np.signbit(expected[live]))


@pytest.mark.parametrize("name, dtype, bits", [
    ("bf16", ml_dtypes.bfloat16, 16), ("f16", np.float16, 16), ("e4m3", ml_dtypes.float8_e4m3fn, 8),
    ("e5m2", ml_dtypes.float8_e5m2, 8), ("e8m0", ml_dtypes.float8_e8m0fnu, 8), ("e8m0_as_bf16", ml_dtypes.float8_e8m0fnu, 8),
    ("e2m1", ml_dtypes.float4_e2m1fn, 4)])
def test_every_code_decodes_as_in_ml_dtypes(formats, name, dtype, bits):
    codes = np.arange(2**bits, dtype=np.uint16)
    expected = codes.astype(np.uint8 if bits <= 8 else np.uint16).view(dtype).astype(np.float32)
    assert_same_values(formats.decode(name, codes), expected)


def test_every_e1m2_code_is_a_quarter_step(formats):
    expected = np.array([i / 4 for i in range(8)] + [-(i / 4) for i in range(8)], np.float32)
    assert_same_values(formats.decode("e1m2", np.arange(16)), expected)


def test_every_hif8_code_decodes_as_in_the_published_table(formats):
    expected = np.array([hif8_value(code) for code in range(256)], np.float32)
    assert expected[0x2E] == 14 and expected[0x6E] == 2**15
    assert len(np.unique(expected[np.isfinite(expected)])) == 253
    assert_same_values(formats.decode("hif8", np.arange(256)), expected)


@pytest.mark.parametrize("name", ["bf16", "f16", "e4m3", "e5m2", "e2m1", "e1m2", "hif8"])
def test_a_decoded_value_encodes_to_its_own_code(formats, name):
    codes = np.arange({"bf16": 65536, "f16": 65536, "e2m1": 16, "e1m2": 16}.get(name, 256))
    values = formats.decode(name, codes)
    live = ~np.isnan(values)
    for rounding in ["nearest_even", "nearest_away", *DIRECTED, "odd", "hybrid"]:
        assert_same_codes(formats.encode(name, values, rounding)[live], codes[live], values[live])
    assert np.isnan(formats.decode(name, formats.encode(name, values)))[~live].all()


@pytest.mark.parametrize("name, dtype", [("bf16", ml_dtypes.bfloat16), ("bf16_fast", ml_dtypes.bfloat16), ("f16", np.float16),
                                         ("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_unsaturated_round_to_nearest_even_equals_ml_dtypes(formats, f32_inputs, name, dtype):
    x = f32_inputs
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = x.astype(dtype)
    expected = narrow.view(np.uint8 if narrow.itemsize == 1 else np.uint16).astype(np.uint16)
    got = formats.encode(name, x)
    live = ~np.isnan(x)
    assert_same_codes(got[live], expected[live], x[live])
    assert np.isnan(formats.decode(name.removesuffix("_fast"), got))[~live].all()


@pytest.mark.parametrize("name, roundings", [
    ("bf16", [RNE, "nearest_away", *DIRECTED, "odd"]), ("f16", [RNE, "nearest_away", *DIRECTED, "odd"]),
    ("e4m3", [RNE]), ("e5m2", [RNE])])
def test_saturated_encoding_equals_a_search_among_all_values(formats, f32_inputs, name, roundings):
    x = f32_inputs
    values, above = ladder(name)
    sign_bit = 0x8000 if name.endswith("16") else 0x80
    for rounding in roundings:
        finite = np.isfinite(x)
        expected = np.full(x.shape, len(values) - 1)
        expected[finite] = np.minimum(rounded_index(values, above, x[finite], rounding), len(values) - 1)
        expected = np.where(np.isnan(x), 0, expected + sign_bit * np.signbit(x))
        assert_same_codes(formats.encode(name, x, rounding, "on"), expected, x)
        nan = np.isnan(x)
        kept = formats.encode(name, x, rounding, "on_keep_nan")
        assert np.isnan(formats.decode(name, kept[nan])).all()
        assert_same_codes(kept[~nan], expected[~nan], x[~nan])


@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_unsaturated_overflow_follows_the_direction_of_rounding(formats, name):
    values, above = ladder(name)
    with np.errstate(over="ignore"):
        x = np.array([above, -above, np.inf, -np.inf], np.float64).astype(np.float32)
    if name == "bf16":
        x[:2] = [np.finfo(np.float32).max, np.finfo(np.float32).min]
    big, inf = values[-1], np.inf
    for rounding, expected in {RNE: [inf, -inf], "nearest_away": [inf, -inf], "floor": [big, -inf], "ceil": [inf, -big],
                               "trunc": [big, -big], "odd": [big, -big]}.items():
        got = formats.decode(name, formats.encode(name, x, rounding))
        assert got.tolist() == [*expected, inf, -inf], rounding


@pytest.mark.parametrize("name", ["e2m1", "e1m2"])
@pytest.mark.parametrize("rounding", [RNE, "nearest_away", *DIRECTED])
def test_fp4_rounds_in_five_modes_saturates_and_maps_nan_to_zero(formats, f32_inputs, name, rounding):
    x = f32_inputs
    values, above = ladder(name)
    finite = np.isfinite(x)
    expected = np.full(x.shape, 7)
    expected[finite] = np.minimum(rounded_index(values, above, x[finite], rounding), 7)
    expected = np.where(np.isnan(x), 0, expected + 8 * np.signbit(x))
    assert_same_codes(formats.encode(name, x, rounding), expected, x)


def test_round_to_odd_through_bf16_makes_the_fp4_cast_exact(formats, f32_inputs):
    odd = formats.decode("bf16", formats.encode("bf16", f32_inputs, "odd"))
    for name in ("e2m1", "e1m2"):
        assert_same_codes(formats.encode(name, odd), formats.encode(name, f32_inputs), f32_inputs)


def hif8_ladder():
    codes = np.array([c for c in range(0x80) if c != 0x6F])
    values = np.array([hif8_value(c) for c in codes])
    order = np.argsort(values)
    return values[order], codes[order]


@pytest.mark.parametrize("rounding", ["nearest_away", *DIRECTED])
def test_hif8_encoding_equals_a_search_among_all_values(formats, f32_inputs, rounding):
    # The ladder would go on at 1.5 * 2^15; from 1.25 * 2^15 on, half away overflows.
    x = f32_inputs
    values, codes = hif8_ladder()
    finite = np.isfinite(x)
    index = np.full(x.shape, len(values))
    index[finite] = rounded_index(values, 1.5 * 2**15, x[finite], rounding)
    overflow = index == len(values)
    magnitude = np.append(codes, 0x6E)[index]
    expected = np.where(magnitude == 0, 0, magnitude + 0x80 * np.signbit(x))
    assert_same_codes(formats.encode("hif8", x, rounding, "on"), np.where(np.isnan(x), 0, expected), x)
    unsaturated = formats.encode("hif8", x, rounding, "off")
    assert_same_codes(unsaturated[~overflow], expected[~overflow], x[~overflow])
    assert (unsaturated[np.isnan(x)] == 0x80).all()
    assert set(unsaturated[np.isinf(x)]) == {0x6F, 0xEF}
    if rounding == "nearest_away":
        assert set(unsaturated[overflow & ~np.isnan(x)]) == {0x6F, 0xEF}


def test_hif8_hybrid_is_half_away_up_to_2_to_the_3_and_one_of_the_neighbours_beyond(formats, f32_inputs):
    x = f32_inputs[np.isfinite(f32_inputs)]
    hybrid, away = formats.encode("hif8", x, "hybrid", "on"), formats.encode("hif8", x, "nearest_away", "on")
    near = (np.abs(x) >= 2**-3) & (np.abs(x) < 2**4)
    assert_same_codes(hybrid[near], away[near], x[near])
    low, high = formats.encode("hif8", x, "floor", "on"), formats.encode("hif8", x, "ceil", "on")
    assert ((hybrid == low) | (hybrid == high)).all()
    far = ~near & (np.abs(x) < 2**15) & (np.abs(x) > 2**-22)
    assert (hybrid[far] != away[far]).any()


def test_e8m0_from_bf16_is_the_exponent_byte(formats):
    x = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)
    bits = np.arange(65536) & 0x7FFF
    expected = np.where(bits > 0x7F80, 0xFF, np.where(bits == 0x7F80, 0xFE, bits >> 7))
    assert_same_codes(formats.encode("e8m0", x, "trunc"), expected, x)


@pytest.mark.parametrize("rounding", [RNE, "nearest_away", "floor", "ceil"])
def test_e8m0_rounds_between_powers_of_two_and_overflows_to_the_largest(formats, f32_inputs, rounding):
    x = np.abs(f32_inputs)
    powers = 2.0 ** (np.arange(255, dtype=np.float64) - 127)
    finite = np.isfinite(x)
    at_least = np.maximum(x[finite].astype(np.float64), powers[0])  # below 2^-127 there is only code 0
    expected = np.full(x.shape, 0xFE)
    expected[finite] = np.minimum(rounded_index(powers, 2.0**128, at_least, rounding), 0xFE)
    assert_same_codes(formats.encode("e8m0", x, rounding), np.where(np.isnan(x), 0xFF, expected), x)


def test_e8m0_scale_is_the_next_power_of_two_within_the_normal_range(formats, f32_inputs):
    x = np.abs(f32_inputs[np.isfinite(f32_inputs)])
    mantissa, exponent = np.frexp(x.astype(np.float64))
    ceil_log2 = np.where(x == 0, -200, np.where(mantissa == 0.5, exponent - 1, exponent))
    normal = (x >= 2.0**-126) | (x == 0)
    expected = np.clip(ceil_log2 + 127, 1, 254)
    assert_same_codes(formats.encode("e8m0_scale", x)[normal], expected[normal], x[normal])
    assert set(formats.encode("e8m0_scale", x[~normal])) == {1}


@pytest.mark.parametrize("rounding", [RNE, "nearest_away"])
def test_hf32_keeps_ten_mantissa_bits(formats, f32_inputs, rounding):
    x = f32_inputs
    got = formats.hf32(x, rounding)
    finite = np.isfinite(x)
    # In exact integers: quotient and remainder of the magnitude by 2^13.
    bits = x.view(np.uint32).astype(np.int64)
    magnitude, sign = bits & 0x7FFFFFFF, bits & 0x80000000
    quotient, rest = magnitude >> 13, magnitude & 0x1FFF
    up = (rest >= 0x1000) if rounding == "nearest_away" else (rest > 0x1000) | ((rest == 0x1000) & (quotient % 2 == 1))
    expected = (sign | (quotient + up) << 13).astype(np.uint32).view(np.float32)
    assert np.array_equal(got[finite], expected[finite])
    assert np.isnan(got[np.isnan(x)]).all() and np.array_equal(got[np.isinf(x)], x[np.isinf(x)])
