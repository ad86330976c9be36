# SPDX-License-Identifier: MIT
"""Does ascend_sim.formats (numpy) give the codes and values of csrc/formats?"""

import numpy as np
import pytest

from ascend_sim import formats as twin

NAMES = ["bf16", "f16", "e4m3", "e5m2", "e2m1", "e1m2", "e8m0", "hif8"]


@pytest.mark.parametrize("name", NAMES)
def test_decodes_like_the_headers(formats, name):
    codes = np.arange({"bf16": 65536, "f16": 65536, "e2m1": 16, "e1m2": 16}.get(name, 256))
    got, expected = twin.decode(name, codes), formats.decode(name, codes)
    assert np.array_equal(got, expected, equal_nan=True)
    live = ~np.isnan(got)
    assert np.array_equal(np.signbit(got[live]), np.signbit(expected[live]))


@pytest.mark.parametrize("saturation", twin.SATURATIONS)
@pytest.mark.parametrize("name, roundings", [
    ("bf16", twin.ROUNDINGS), ("f16", twin.ROUNDINGS), ("e4m3", ["nearest_even"]), ("e5m2", ["nearest_even"]),
    ("e2m1", twin.ROUNDINGS[:5]), ("e1m2", twin.ROUNDINGS[:5]), ("e8m0", ["nearest_even", "nearest_away", "ceil", "trunc"]),
    ("hif8", ["nearest_away", "floor", "ceil", "trunc"])])
def test_encodes_like_the_headers(formats, f32_inputs, name, roundings, saturation):
    x = f32_inputs[::7]  # the headers themselves see all of them in test_formats.py
    for rounding in roundings:
        got, expected = twin.encode(name, x, rounding, saturation), formats.encode(name, x, rounding, saturation)
        wrong = np.flatnonzero(got != expected)
        assert wrong.size == 0, (rounding, x[wrong[0]], hex(got[wrong[0]]), hex(expected[wrong[0]]))


@pytest.mark.parametrize("away", [False, True])
def test_hf32_like_the_headers(formats, f32_inputs, away):
    assert np.array_equal(twin.hf32(f32_inputs, away), formats.hf32(f32_inputs, "nearest_away" if away else "nearest_even"),
                          equal_nan=True)


def test_fp4_pairs_put_the_even_element_in_the_low_nibble():
    codes = np.arange(16, dtype=np.uint8).reshape(2, 8)
    packed = twin.pack_fp4(codes)
    assert packed[0].tolist() == [0x10, 0x32, 0x54, 0x76]
    assert np.array_equal(twin.unpack_fp4(packed), codes)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="format 'e3m4' is unknown; accepted: bf16, f16"):
        twin.decode("e3m4", [0])
