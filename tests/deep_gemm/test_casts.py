# SPDX-License-Identifier: MIT
"""Do the casts of deep_gemm.utils.math round as documented, to the bit? The oracle is numpy with ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest
import torch
from deep_gemm import utils
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compare import assert_same_bytes


def matrix(m, n, seed=0):
    random = np.random.default_rng(seed)
    return (random.normal(size=(m, n)) * np.exp2(random.integers(-12, 12, (m, n)))).astype(np.float32)


def next_power_of_two(x):
    mantissa, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(1.0, np.where(mantissa == 0.5, exponent - 1, exponent)).astype(np.float32)


def scale_of(amax, largest, use_ue8m0):
    sf = np.maximum(amax, np.float32(1e-4)) / np.float32(largest)
    return next_power_of_two(sf) if use_ue8m0 else sf


def test_ceil_div_and_align():
    assert [utils.ceil_div(x, 4) for x in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [utils.align(x, 4) for x in (0, 1, 4, 5)] == [0, 4, 4, 8]


def test_ceil_to_ue8m0_rounds_up_to_powers_of_two():
    powers = np.exp2(np.arange(-126, 128)).astype(np.float32)
    assert np.array_equal(utils.ceil_to_ue8m0(torch.from_numpy(powers)).numpy(), powers)
    above = np.nextafter(powers[:-1], np.float32(np.inf))
    assert np.array_equal(utils.ceil_to_ue8m0(torch.from_numpy(above)).numpy(), powers[1:])
    assert utils.ceil_to_ue8m0(torch.tensor([0.0, -3.0, 2.0**-140])).tolist() == [2.0**-126, 4.0, 2.0**-126]


def test_pack_and_unpack_of_exponents_are_inverse_and_put_the_first_one_lowest():
    sf = torch.exp2(torch.arange(-4, 4).float()).view(2, 4)
    packed = utils.pack_ue8m0_to_int(sf)
    assert packed.view(torch.uint8).tolist() == [[123, 124, 125, 126], [127, 128, 129, 130]]
    assert_same_bytes(utils.unpack_ue8m0_from_int(packed), sf)


@pytest.mark.parametrize("bad", [torch.full((1, 4), 3.0), torch.full((1, 4), -1.0), torch.ones(1, 3), torch.ones(1, 4).double()])
def test_pack_refuses_what_is_no_matrix_of_fours_of_powers_of_two(bad):
    with pytest.raises(ValueError, match="pack_ue8m0_to_int"):
        utils.pack_ue8m0_to_int(bad)


@settings(max_examples=60, deadline=None)
@given(m=st.integers(1, 40), n=st.integers(1, 300), gran_k=st.sampled_from([32, 128]), use_ue8m0=st.booleans(), seed=st.integers(0, 99))
def test_per_token_cast_to_fp8(m, n, gran_k, use_ue8m0, seed):
    x = matrix(m, n, seed)
    q, sf = utils.per_token_cast_to_fp8(torch.from_numpy(x), use_ue8m0, gran_k)
    blocks = np.pad(x, ((0, 0), (0, -n % gran_k))).reshape(m, -1, gran_k)
    expected_sf = scale_of(np.abs(blocks).max(-1), 448, use_ue8m0)
    expected = (blocks * (np.float32(1) / expected_sf)[..., None]).astype(ml_dtypes.float8_e4m3fn).reshape(m, -1)[:, :n]
    assert q.is_contiguous() and np.array_equal(sf.numpy(), expected_sf)
    assert np.array_equal(q.view(torch.uint8).numpy(), np.ascontiguousarray(expected).view(np.uint8))


@pytest.mark.parametrize("use_ue8m0", [False, True])
def test_the_other_fp8_casts_are_the_per_token_one_on_other_blocks(use_ue8m0):
    x = torch.from_numpy(matrix(96, 80))
    by_row, by_row_sf = utils.per_token_cast_to_fp8(x.T.contiguous(), use_ue8m0, 32)
    by_column, by_column_sf = utils.per_channel_cast_to_fp8(x, use_ue8m0, 32)
    assert_same_bytes(by_column, by_row.T.contiguous())
    assert_same_bytes(by_column_sf, by_row_sf.T.contiguous())
    by_block, by_block_sf = utils.per_block_cast_to_fp8(x, use_ue8m0, 32)
    assert by_block_sf.shape == (3, 3)
    for i, j in ((0, 0), (1, 2), (2, 1)):
        rows, columns = slice(32 * i, 32 * i + 32), slice(32 * j, min(32 * j + 32, 80))
        block, sf = utils.per_custom_dims_cast_to_fp8(x[None, rows, columns], (0,), use_ue8m0)
        assert_same_bytes(by_block[rows, columns], block[0])
        assert by_block_sf[i, j] == sf


def test_packed_scales_are_padded_with_one():
    q, packed = utils.per_token_cast_to_fp8(torch.from_numpy(matrix(3, 160)), True, 32, use_packed_ue8m0=True)
    _, sf = utils.per_token_cast_to_fp8(torch.from_numpy(matrix(3, 160)), True, 32)
    assert_same_bytes(utils.unpack_ue8m0_from_int(packed), torch.nn.functional.pad(sf, (0, 3), value=1.0))
    assert_same_bytes(utils.cast_back_from_fp8(q, packed, 32, use_packed_ue8m0=True), utils.cast_back_from_fp8(q, sf, 32))


@pytest.mark.parametrize("cast", [utils.per_token_cast_to_fp8, utils.per_channel_cast_to_fp8, utils.per_block_cast_to_fp8, utils.per_token_cast_to_fp4])
def test_casts_take_matrices_of_floating_point_numbers_empty_ones_too(cast):
    with pytest.raises(ValueError, match=f"{cast.__name__}: gran_k is 0; expected a whole number of at least 1"):
        cast(torch.ones(4, 64), True, gran_k=0)
    with pytest.raises(ValueError, match=r"x has shape \[1, 4, 64\]; expected two dimensions"):
        cast(torch.ones(1, 4, 64), True)
    with pytest.raises(TypeError, match="x is torch.int32; expected a tensor of a floating-point dtype"):
        cast(torch.ones(4, 64, dtype=torch.int32), True)
    data, sf = cast(torch.ones(0, 64), True, gran_k=32)
    assert data.shape[0] == 0 and sf.shape == (0, 64 if cast is utils.per_channel_cast_to_fp8 else 2)


def test_cast_back_from_fp8_is_within_half_a_step():
    x = torch.from_numpy(matrix(20, 96))
    q, sf = utils.per_token_cast_to_fp8(x, True, 32)
    back = utils.cast_back_from_fp8(q, sf, 32)
    step = torch.maximum(x.abs() * 2.0**-4, sf.repeat_interleave(32, 1) * 2.0**-10)
    assert ((back - x).abs() <= step).all()


def test_fp4_codes_of_midpoints_go_to_the_smaller_magnitude_and_there_is_no_minus_zero():
    values = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0]       # amax 6: scale 1
    expected = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    x = torch.tensor([values, [-value for value in values]])
    packed, sf = utils.per_token_cast_to_fp4(x, True, 8)
    assert sf.tolist() == [[1.0], [1.0]]
    back = utils.cast_back_from_fp4(packed, sf, 8)
    assert back.tolist() == [expected, [-value for value in expected]]
    assert packed.view(torch.uint8)[1, 0].item() == 0x90        # codes 0 (no minus zero) and 9, the even one low


@settings(max_examples=40, deadline=None)
@given(m=st.integers(1, 20), half_n=st.integers(1, 100), gran_k=st.sampled_from([32, 128]), packed_sf=st.booleans(), seed=st.integers(0, 99))
def test_per_token_cast_to_fp4(m, half_n, gran_k, packed_sf, seed):
    x = matrix(m, 2 * half_n, seed)
    packed, sf = utils.per_token_cast_to_fp4(torch.from_numpy(x), True, gran_k, packed_sf)
    blocks = np.pad(x, ((0, 0), (0, -x.shape[1] % gran_k))).reshape(m, -1, gran_k)
    expected_sf = scale_of(np.abs(blocks).max(-1), 6, True)
    plain_sf = utils.unpack_ue8m0_from_int(sf)[:, : expected_sf.shape[1]] if packed_sf else sf
    assert np.array_equal(plain_sf.numpy(), expected_sf)
    scaled = (blocks / expected_sf[..., None]).reshape(m, -1)[:, : x.shape[1]]
    codes = np.stack((packed.view(torch.uint8).numpy() & 15, packed.view(torch.uint8).numpy() >> 4), -1).reshape(x.shape)
    decoded = codes.astype(np.uint8).view(np.uint8).astype(np.uint8)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)[decoded & 7] * np.where(decoded & 8, -1, 1)
    nearest = scaled.astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    is_midpoint = np.isin(np.abs(scaled), [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    assert np.array_equal(np.where(is_midpoint, 0, values), np.where(is_midpoint, 0, nearest))


def test_transposing_packed_fp4_transposes_the_values():
    x = torch.from_numpy(matrix(6, 8))
    packed, _ = utils.per_token_cast_to_fp4(x, True, 32)
    one = torch.ones(8, 1)
    turned = utils.cast_back_from_fp4(utils.transpose_packed_fp4(packed), one, 32)
    assert_same_bytes(turned, utils.cast_back_from_fp4(packed, one[:6], 32).T.contiguous())
