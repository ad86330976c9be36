# SPDX-License-Identifier: MIT
"""Does ascend_sim.formats decode and encode every format bit by bit as an independent library, or a search among all values, does?"""

import ml_dtypes
import numpy as np
import pytest
from ascend_sim import formats

ML = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
      "e2m1": ml_dtypes.float4_e2m1fn, "e8m0": ml_dtypes.float8_e8m0fnu}
BITS = {"bf16": 16, "f16": 16, "e2m1": 4, "e1m2": 4, "hf32": 19}


def all_codes(name):
    return np.arange(1 << BITS.get(name, 8))


def e1m2(code):
    """Sign, one exponent bit of bias 1, two mantissa bits: subnormals of step 1/4, then 1 to 1.75."""
    exponent, mantissa = code >> 2 & 1, code & 3
    return (-1) ** (code >> 3) * (mantissa / 4 if exponent == 0 else 1 + mantissa / 4)


def hf32(code):
    """The float32 whose upper 19 bits these are."""
    return float(np.array(code << 13, np.uint32).view(np.float32))


def same(got, expected):
    got, expected = np.asarray(got, np.float32), np.asarray(expected, np.float32)
    numbers = ~np.isnan(expected)
    return np.array_equal(np.isnan(got), ~numbers) and np.array_equal(got[numbers].view(np.uint32), expected[numbers].view(np.uint32))


@pytest.mark.parametrize("name", ML)
def test_every_code_decodes_as_in_ml_dtypes(name):
    codes = all_codes(name)
    expected = codes.astype(np.uint16 if BITS.get(name) == 16 else np.uint8).view(ML[name]).astype(np.float32)
    assert same(formats.decode(name, codes), expected)


@pytest.mark.parametrize("name, value", [("e1m2", e1m2), ("hf32", hf32)])
def test_every_code_decodes_as_its_bit_fields_say(name, value):
    codes = all_codes(name) if name != "hf32" else np.concatenate([all_codes(name)[::37], [0x3FC00, 0x3FE00, 0x7FC00]])
    assert same(formats.decode(name, codes), [value(int(code)) for code in codes])


@pytest.mark.parametrize("name", [*formats.FORMATS, "hif8", "e8m0", "hf32"])
def test_a_decoded_value_encodes_to_its_own_code(name):
    codes = all_codes(name)
    values = formats.decode(name, codes)
    numbers = ~np.isnan(values)
    assert np.array_equal(formats.encode(name, values, saturation="off")[numbers], codes[numbers])
    assert np.isnan(formats.decode(name, formats.encode(name, values, saturation="off")))[~numbers].all()


@pytest.mark.parametrize("name", ["bf16", "f16", "e4m3", "e5m2"])
def test_nearest_even_is_that_of_ml_dtypes(f32_inputs, name):
    numbers = f32_inputs[~np.isnan(f32_inputs)]
    with np.errstate(over="ignore"):
        expected = numbers.astype(ML[name]).view(np.uint16 if BITS.get(name) == 16 else np.uint8)
    assert np.array_equal(formats.encode(name, numbers, saturation="off"), expected)


def test_nearest_even_of_e2m1_is_that_of_ml_dtypes(f32_inputs):
    numbers = f32_inputs[np.isfinite(f32_inputs)]
    assert np.array_equal(formats.encode("e2m1", numbers), numbers.astype(ML["e2m1"]).view(np.uint8))


@pytest.mark.parametrize("name", ["e2m1", "e1m2", "hif8", "e4m3", "e5m2"])
@pytest.mark.parametrize("rounding", ["nearest_away", "floor", "ceil", "trunc"])
def test_other_roundings_take_the_neighbour_that_a_search_finds(f32_inputs, name, rounding):
    x = f32_inputs[np.isfinite(f32_inputs)][::257].astype(np.float64)
    decoded = formats.decode(name, all_codes(name)).astype(np.float64)
    values = np.unique(decoded[np.isfinite(decoded)])
    x = x[np.abs(x) <= values[-1]]
    below = values[np.searchsorted(values, x, side="right") - 1]
    above = values[np.searchsorted(values, x, side="left")]
    nearest = np.where(x - below < above - x, below, np.where(x - below > above - x, above, np.where(x < 0, below, above)))
    expected = {"nearest_away": nearest, "floor": below, "ceil": above, "trunc": np.where(x < 0, above, below)}[rounding]
    got = formats.decode(name, formats.encode(name, x.astype(np.float32), rounding)).astype(np.float64)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("rounding", ["nearest_even", "nearest_away"])
def test_hf32_drops_thirteen_mantissa_bits(f32_inputs, rounding):
    numbers = f32_inputs[~np.isnan(f32_inputs)]
    magnitude = numbers.view(np.uint32).astype(np.int64) & 0x7FFFFFFF
    kept, rest = magnitude >> 13, magnitude & 0x1FFF
    up = rest > 0x1000 if rounding == "nearest_even" else rest >= 0x1000
    up |= (rest == 0x1000) & (kept % 2 == 1)
    expected = kept + up | (np.signbit(numbers).astype(np.int64) << 18)
    assert np.array_equal(formats.encode("hf32", numbers, rounding), expected)
    assert np.isnan(formats.decode("hf32", formats.encode("hf32", np.float32(np.nan))))


def test_a_rounding_that_hf32_lacks_is_refused():
    with pytest.raises(ValueError, match="hf32 is rounded nearest_even or nearest_away, not floor"):
        formats.encode("hf32", [1.0], "floor")
