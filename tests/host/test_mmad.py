# SPDX-License-Identifier: MIT
"""Does host::mmad multiply L0 fractals right, for every type, at every host level, whatever lies in the padding?"""

import numpy as np
import pytest

from host.layouts import DTYPES, FP4_VALUES, K0, ceil_div, fractals, from_nz, scale_bytes, to_nz, values_of

FLOATS = ["bf16", "f16", "f32", "hf32", "e4m3", "e5m2", "hif8"]
MX = [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e5m2"), ("e2m1", "e2m1"), ("e2m1", "e1m2"), ("e1m2", "e1m2")]
SIZES = [(1, 1, 1), (15, 17, 16), (16, 16, 32), (17, 15, 33), (33, 48, 64), (31, 1, 65), (1, 47, 100), (64, 32, 127), (128, 64, 128)]


def random_codes(rng, kind, shape):
    if kind in FP4_VALUES:
        return rng.integers(0, 16, shape).astype(np.uint8)
    if kind == "hif8":
        codes = rng.integers(0, 256, shape).astype(np.uint8)
        return np.where(np.isin(codes, [0x80, 0x6F, 0xEF]), 0, codes).astype(np.uint8)
    if kind == "s8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(np.float32).astype(DTYPES[kind])


def product(host, rng, a, b, kind, b_kind=None, c=None, bias=None, a_scales=None, b_scales=None, **options):
    """host.mmad of row-major operands; checks that padding of C stays as it was. Returns [m, n]."""
    (m, k), n = a.shape, b.shape[0]
    dtype = np.int32 if kind == "s8" else np.float32
    start = np.full((m, n), np.nan if dtype == np.float32 else 0x12345678, dtype) if c is None else c.astype(dtype)
    l0c = to_nz(start)
    before = from_nz(l0c, m, n)[1].copy()
    scales = [None if s is None else scale_bytes(s, k) for s in (a_scales, b_scales)]
    host.mmad(fractals(a, kind, rng), fractals(b, b_kind or kind, rng), l0c, m, n, k, kind, b_kind, *scales,
              init=c is None, bias=None if bias is None else np.ascontiguousarray(bias, dtype), **options)
    live, dead = from_nz(l0c, m, n)
    assert np.array_equal(dead, before, equal_nan=dtype == np.float32), "wrote outside m x n"
    return live.copy()


def reference(a, b, kind, b_kind=None, a_scales=None, b_scales=None):
    """The exact product in float64 and, per element, the sum of magnitudes that bounds the fp32 rounding error."""
    left, right = values_of(a, kind), values_of(b, b_kind or kind)
    k = left.shape[1]
    with np.errstate(invalid="ignore"):
        if a_scales is not None:
            left = left * np.repeat(scale_values(a_scales), 32, axis=1)[:, :k]
            right = right * np.repeat(scale_values(b_scales), 32, axis=1)[:, :k]
        return left @ right.T, np.abs(left) @ np.abs(right).T


def scale_values(codes):
    return np.where(codes == 255, np.nan, 2.0 ** (codes.astype(np.float64) - 127))


def assert_within_fp32_sum(got, exact, magnitude, k, extra=0.0):
    # k products and k additions, each with a relative error of 2^-24 of a partial sum that `magnitude` bounds; below
    # 2^-126 each step may instead lose half the smallest subnormal.
    bound = (k + 2) * 2.0**-24 * (magnitude + np.abs(extra)) + (k + 2) * 2.0**-150
    error = np.abs(got.astype(np.float64) - exact)
    worst = np.unravel_index(np.argmax(error - bound), error.shape)
    assert (error <= bound).all(), f"at {worst}: {got[worst]!r}, exact {exact[worst]!r}, allowed error {bound[worst]:.3g}"


@pytest.mark.parametrize("m, n, k", SIZES)
@pytest.mark.parametrize("kind", FLOATS)
def test_product_of_floats_is_the_exact_one_within_fp32_sums(host, rng, kind, m, n, k):
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, kind, (n, k))
    assert_within_fp32_sum(product(host, rng, a, b, kind), *reference(a, b, kind), k)


@pytest.mark.parametrize("m, n, k", SIZES)
def test_product_of_int8_is_exact_and_wraps_at_32_bits(host, rng, m, n, k):
    a, b = random_codes(rng, "s8", (m, k)), random_codes(rng, "s8", (n, k))
    c = rng.integers(-2**31, 2**31, (m, n)).astype(np.int32)
    expected = (c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64).T).astype(np.uint32).astype(np.int32)
    assert np.array_equal(product(host, rng, a, b, "s8", c=c), expected)
    bias = rng.integers(-1000, 1000, n).astype(np.int32)
    assert np.array_equal(product(host, rng, a, b, "s8", bias=bias), bias + a.astype(np.int32) @ b.astype(np.int32).T)


@pytest.mark.parametrize("m, n, k", SIZES)
@pytest.mark.parametrize("kind, b_kind", MX)
def test_mx_product_scales_every_group_of_32(host, rng, kind, b_kind, m, n, k):
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, b_kind, (n, k))
    groups = ceil_div(k, 32)
    a_scales, b_scales = rng.integers(110, 140, (m, groups)), rng.integers(110, 140, (n, groups))
    got = product(host, rng, a, b, kind, b_kind, a_scales=a_scales, b_scales=b_scales)
    assert_within_fp32_sum(got, *reference(a, b, kind, b_kind, a_scales, b_scales), k)


@pytest.mark.parametrize("kind", ["bf16", "f16", "e4m3", "f32"])
def test_c_is_overwritten_accumulated_or_started_from_bias(host, rng, kind):
    m, n, k = 35, 37, 64
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, kind, (n, k))
    exact, magnitude = reference(a, b, kind)
    c, bias = rng.standard_normal((m, n)).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    assert_within_fp32_sum(product(host, rng, a, b, kind, c=c), exact + c, magnitude, k, c)
    assert_within_fp32_sum(product(host, rng, a, b, kind, bias=bias), exact + bias, magnitude, k, bias)
    assert_within_fp32_sum(product(host, rng, a, b, kind, c=c, bias=bias), exact + c, magnitude, k, c)


@pytest.mark.parametrize("kind", FLOATS)
def test_same_operands_give_the_same_bits_whatever_the_padding_holds(host, rng, kind):
    m, n, k = 45, 51, 4 * K0[kind] - 3
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, kind, (n, k))
    first = product(host, rng, a, b, kind)
    assert np.array_equal(first, product(host, rng, a, b, kind))
    # The same rows as part of a call without any padding.
    full_m, full_n, full_k = 48, 64, 4 * K0[kind]
    wide_a, wide_b = np.zeros((full_m, full_k), a.dtype), np.zeros((full_n, full_k), b.dtype)
    wide_a[:m, :k], wide_b[:n, :k] = a, b
    assert np.array_equal(first, product(host, rng, wide_a, wide_b, kind)[:m, :n])


@pytest.mark.parametrize("kind", ["bf16", "f16", "f32", "hf32", "e5m2", "hif8"])
def test_inf_and_nan_follow_ieee(host, rng, kind):
    m, n, k = 34, 33, 70
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, kind, (n, k))
    if kind == "hif8":
        inf, minus_inf, nan, zero, one = 0x6F, 0xEF, 0x80, 0, 0x08
    else:
        inf, minus_inf, nan, zero, one = np.inf, -np.inf, np.nan, 0, 1
    a[2, 5], b[:, 5] = inf, one                                   # inf * finite: +inf down row 2 of C
    a[4, 66], b[7, 66], b[8, 66], b[9, 66] = inf, zero, nan, minus_inf  # inf * 0, inf * NaN, inf * -inf
    a[20, 1], b[30, 2] = nan, inf
    a[33, 2], a[33, 3], b[:, 3] = one, minus_inf, one             # with b[30, 2]: +inf - inf
    with np.errstate(invalid="ignore"):
        exact, _ = reference(a, b, kind)
    got = product(host, rng, a, b, kind)
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    special = np.isinf(exact)
    assert special.sum() > 30 and np.isnan(exact).sum() > 30
    assert np.array_equal(got[special], exact[special]) and np.isfinite(got[np.isfinite(exact)]).all()


@pytest.mark.parametrize("kind", ["e4m3", "e5m2", "hif8"])
def test_every_fp8_code_times_one_is_its_value(host, rng, kind):
    codes = np.arange(256, dtype=np.uint8).reshape(256, 1)
    one = np.array([[{"e4m3": 0x38, "e5m2": 0x3C, "hif8": 0x08}[kind]]], np.uint8)
    if kind in DTYPES:
        codes, one = codes.view(DTYPES[kind]), one.view(DTYPES[kind])
    expected = values_of(codes, kind)
    assert np.array_equal(product(host, rng, codes, one, kind), expected, equal_nan=True)
    assert np.array_equal(product(host, rng, one, codes, kind), expected.T, equal_nan=True)


@pytest.mark.parametrize("kind", ["bf16", "f32", "hf32", "f16"])
def test_subnormal_operands_and_products_are_kept(host, rng, kind):
    m, n, k = 33, 31, 40
    small = {"bf16": 2.0**-130, "f32": 2.0**-140, "hf32": 2.0**-130, "f16": 2.0**-20}[kind]
    a = (rng.integers(-7, 8, (m, k)) * small).astype(np.float32).astype(DTYPES[kind])
    b = random_codes(rng, kind, (n, k))
    exact, magnitude = reference(a, b, kind)
    assert_within_fp32_sum(product(host, rng, a, b, kind), exact, magnitude, k)
    # Normal operands whose products are subnormal: strips 0 and 1 of A differ by 2^80, so that only some pairs are small.
    if kind != "f16":
        a, b = random_codes(rng, kind, (m, k)).astype(np.float32), random_codes(rng, kind, (n, k)).astype(np.float32)
        a[:16] *= 2.0**-80
        b *= 2.0**-55
        a, b = a.astype(DTYPES[kind]), b.astype(DTYPES[kind])
        assert_within_fp32_sum(product(host, rng, a, b, kind), *reference(a, b, kind), k)


@pytest.mark.parametrize("kind, b_kind", MX)
def test_extreme_mx_scales_neither_overflow_nor_underflow_early(host, rng, kind, b_kind):
    m, n, k = 48, 33, 128
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, b_kind, (n, k))
    groups = k // 32
    for a_range, b_range in [((0, 3), (250, 254)), ((250, 254), (0, 3)), ((0, 90), (100, 160)), ((0, 255), (60, 130))]:
        a_scales, b_scales = rng.integers(*a_range, (m, groups)), rng.integers(*b_range, (n, groups))
        exact, magnitude = reference(a, b, kind, b_kind, a_scales, b_scales)
        got = product(host, rng, a, b, kind, b_kind, a_scales=a_scales, b_scales=b_scales)
        fits = magnitude < 2.0**127
        assert_within_fp32_sum(np.where(fits, got, 0), np.where(fits, exact, 0), magnitude * fits, k)


@pytest.mark.parametrize("kind, b_kind", MX)
def test_a_nan_scale_spoils_its_row_or_column_only(host, rng, kind, b_kind):
    m, n, k = 40, 36, 96
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, b_kind, (n, k))
    a_scales, b_scales = np.full((m, 3), 127), np.full((n, 3), 127)
    a_scales[17, 2], b_scales[3, 0] = 255, 255
    got = product(host, rng, a, b, kind, b_kind, a_scales=a_scales, b_scales=b_scales)
    expected = np.zeros((m, n), bool)
    expected[17], expected[:, 3] = True, True
    assert np.array_equal(np.isnan(got), expected)


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_mx_elements_may_be_nan_or_inf(host, rng, kind):
    m, n, k = 40, 36, 96
    a, b = random_codes(rng, kind, (m, k)), random_codes(rng, kind, (n, k))
    a[5, 40], b[20, 7] = np.nan, np.nan
    if kind == "e5m2":
        a[25, 3], b[:, 3], b[20, 3] = np.inf, 1, 0
    scales = np.full((m, 3), 120), np.full((n, 3), 130)
    with np.errstate(invalid="ignore"):
        exact, _ = reference(a, b, kind, None, *scales)
    got = product(host, rng, a, b, kind, a_scales=scales[0], b_scales=scales[1])
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    assert np.array_equal(got[np.isinf(exact)], exact[np.isinf(exact)])


def test_zero_sizes_write_nothing(host, rng):
    c = np.full(256, np.nan, np.float32)
    operand = np.zeros(512, np.uint8)
    for m, n, k in [(0, 1, 1), (1, 0, 1), (1, 1, 0)]:
        host.mmad(operand, operand, c, m, n, k, "bf16")
    assert np.isnan(c).all()


@pytest.mark.parametrize("away", [False, True])
def test_hf32_rounding_mode_changes_ties(host, rng, away):
    tie = np.float32(1 + 2.0**-11)  # half way between two values of 10 mantissa bits
    a, b = np.array([[tie]]), np.array([[1]], np.float32)
    assert product(host, rng, a, b, "hf32", hf32_away=away)[0, 0] == (1 + 2.0**-10 if away else 1)


def test_levels_below_amx_agree_bit_for_bit_where_products_are_exact(library, rng):
    from host.conftest import LEVELS, Host
    a, b = random_codes(rng, "bf16", (50, 100)), random_codes(rng, "bf16", (60, 100))
    before, results = library.ascend_host_level(), []
    for level in LEVELS:
        if level != "amx" and library.ascend_host_has_level(level.encode()):
            host = Host(library, level)
            host.select()
            results.append(product(host, rng, a, b, "bf16"))
    library.ascend_host_set_level(before, None, 0)
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_an_unknown_level_is_refused_with_the_ones_on_offer(library):
    import ctypes
    reason = ctypes.create_string_buffer(300)
    before = library.ascend_host_level()
    assert not library.ascend_host_set_level(b"avx10", reason, 300)
    assert b'"avx10" is unknown; available here: portable' in reason.value
    assert library.ascend_host_level() == before
