# SPDX-License-Identifier: MIT
"""Does transform_sf_into_required_layout give, byte for byte, the pairs of exponents in the layout of docs/layouts.md, "Scale pairs"?"""

import deep_gemm
import numpy as np
import pytest
import torch
from ascend_sim.errors import AscendParityWarning
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import scale_pairs

pytestmark = pytest.mark.ascend_dialect         # CUDA's layouts: test_cuda_backend.py
transform = deep_gemm.transform_sf_into_required_layout


def scales(*shape, seed=0):
    """fp32 powers of two with every exponent byte, 0 and 255 included."""
    exponents = np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint32)
    return (exponents << 23).view(np.float32)


def required(sf: np.ndarray, mn: int, gran_mn: int) -> np.ndarray:
    """The expected int16 [.., mn, P], in numpy and by another way than the code under test."""
    return np.repeat(scale_pairs(sf), gran_mn, axis=-2)[..., :mn, :]


def check(device, sf, mn, k, gran_mn, as_int16=False, mn_major=False, gap=0):
    tensor = torch.from_numpy(scale_pairs(sf) if as_int16 else sf)
    lines = tensor.transpose(-1, -2) if mn_major else tensor
    buffer = torch.zeros(*lines.shape[:-1], lines.shape[-1] + gap, dtype=tensor.dtype)
    buffer[..., : lines.shape[-1]] = lines
    view = buffer.to(device)[..., : lines.shape[-1]]
    view = view.transpose(-1, -2) if mn_major else view
    num_groups = sf.shape[0] if sf.ndim == 3 else None
    result = transform(view, mn, k, (gran_mn, 1, 32), num_groups=num_groups, is_sfa=True)
    expected = required(sf, mn, gran_mn)
    pairs = expected.shape[-1]
    assert result.dtype == torch.int16 and tuple(result.shape) == expected.shape
    assert result.stride()[-2:] == (1, mn) and (sf.ndim == 2 or result.stride(0) == mn * pairs)
    assert np.array_equal(result.cpu().numpy(), expected)


def slow_if(condition):
    return [pytest.mark.slow] if condition else []


@pytest.mark.parametrize("as_int16", [False, True], ids=["fp32", "int16"])
@pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
class TestBitExact:
    @pytest.mark.parametrize("mn, k, batch, gran_mn", [
        pytest.param(mn, k, batch, gran_mn, marks=slow_if(k > 128 and (batch == 4 or mn == 8192)))
        for mn in (4096, 4097, 8192) for k in (128, 7168, 7296) for batch in (None, 1, 2, 4) for gran_mn in (1, 32, 128)])
    def test_on_the_shapes_of_the_ascend_tests(self, device, mn, k, batch, gran_mn, as_int16, mn_major):
        shape = (-(-mn // gran_mn), -(-k // 32))
        check(device, scales(*(shape if batch is None else (batch, *shape))), mn, k, gran_mn, as_int16, mn_major)

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(mn=st.integers(1, 300), k=st.integers(1, 400), log_gran=st.integers(0, 7), batch=st.sampled_from([None, 1, 3]), gap=st.integers(0, 5),
           seed=st.integers(0, 99))
    def test_on_any_shape(self, device, mn, k, log_gran, batch, gap, seed, as_int16, mn_major):
        gran_mn = 1 << log_gran
        shape = (-(-mn // gran_mn), -(-k // 32))
        check(device, scales(*(shape if batch is None else (batch, *shape)), seed=seed), mn, k, gran_mn, as_int16, mn_major, gap)


def test_bytes_of_one_small_case_spelled_out(device):
    exponents = torch.tensor([[120, 121, 122], [130, 131, 132]])        # two rows, three blocks of k
    sf = torch.ldexp(torch.ones(2, 3), exponents - 127).to(device)
    result = transform(sf, 2, 96, (1, 1, 32), is_sfa=True)
    memory = torch.as_strided(result, (4,), (1,)).cpu().view(torch.uint8).tolist()
    #      pair 0, row 0   row 1     pair 1, row 0  row 1; the high byte of the last pair has no block
    assert memory == [120, 121, 130, 131, 122, 0, 132, 0]


def test_is_sfa_chooses_the_granularity(device):
    sf = torch.from_numpy(scales(4, 2)).to(device)
    assert transform(sf, 32, 64, (8, 1, 32), is_sfa=True).shape == (32, 1)
    assert transform(sf, 4, 64, (8, 1, 32), is_sfa=False).shape == (4, 1)


def test_what_is_in_the_layout_already_is_returned_itself(device):
    done = transform(torch.from_numpy(scales(40, 5)).to(device), 40, 160, (1, 1, 32), is_sfa=True)
    assert transform(done, 40, 160, (1, 1, 32), is_sfa=True) is done
    batch = transform(torch.from_numpy(scales(2, 40, 5)).to(device), 40, 160, (1, 1, 32), num_groups=2, is_sfa=True)
    assert transform(batch, 40, 160, (1, 1, 32), num_groups=2, is_sfa=True) is batch


@pytest.mark.parametrize("mn, k", [(0, 64), (64, 0), (0, 0)])
def test_empty_sizes_give_an_empty_tensor_with_the_right_strides(device, mn, k):
    sf = torch.empty(mn, -(-k // 32)).to(device)
    result = transform(sf, mn, k, (1, 1, 32), is_sfa=True)
    assert result.shape == (mn, -(-k // 64)) and result.dtype == torch.int16


class TestGroupGaps:
    """psum_layout: end rows of groups; each group starts at a multiple of 256, rows between may hold anything."""

    @pytest.mark.parametrize("gran_mn", [1, 4, 128])
    @pytest.mark.parametrize("as_int16", [False, True], ids=["fp32", "int16"])
    def test_become_zero(self, device, gran_mn, as_int16):
        ends, mn, k = [1, 300, 512 + 7], 768, 96
        clean = scales(mn // gran_mn, 3, seed=1)
        is_gap = np.zeros(mn // gran_mn, bool)
        for start, end in zip((0, 256, 512), ends, strict=True):
            is_gap[-(-end // gran_mn): -(-end // 256) * 256 // gran_mn] = True
            assert start % 256 == 0
        dirty = clean.copy()
        dirty[is_gap] = np.random.default_rng(2).normal(size=(int(is_gap.sum()), 3))        # negative, no powers of two
        source = scale_pairs(dirty) if as_int16 else dirty
        psum = torch.tensor(ends, dtype=torch.int32).to(device)
        result = transform(torch.from_numpy(source).to(device), mn, k, (gran_mn, 1, 32), is_sfa=True, psum_layout=psum)
        expected = required(np.where(is_gap[:, None], np.float32(0), clean), mn, gran_mn)
        assert np.array_equal(result.cpu().numpy(), expected)

    def test_do_not_excuse_a_bad_scale_of_a_live_row(self, device):
        sf = torch.ones(512, 2)
        sf[299, 1] = 3.0
        psum = torch.tensor([5, 300], dtype=torch.int32)
        with pytest.raises(ValueError, match=r"sf is 3 at \[299, 1\], one of 1 such"):
            transform(sf.to(device), 512, 64, (1, 1, 32), is_sfa=True, psum_layout=psum.to(device))


FAULTS = [
    ("recipe_of_two_with_is_sfa", {"recipe": (1, 32)}, ValueError, "recipe is .*; expected three ints"),
    ("is_sfa_missing", {"is_sfa": None}, ValueError, "is_sfa is None; expected True .* or False"),
    ("gran_k", {"recipe": (1, 1, 64)}, ValueError, "gran_k = 64; expected 32"),
    ("gran_mn", {"recipe": (256, 1, 32)}, ValueError, "gran_mn = 256; expected a power of two from 1 to 128"),
    ("dtype", {"sf": torch.ones(64, 3).double()}, TypeError, "sf has dtype float64; expected float32 or int16"),
    ("rows", {"mn": 65}, ValueError, r"sf has shape \[64, 3\]; expected \[65, 3\], \[ceil\(mn / 1\), ceil\(k / 32\)\] with mn = 65, k = 96"),
    ("columns", {"k": 97}, ValueError, r"expected \[64, 4\]"),
    ("dimensions", {"num_groups": 2}, ValueError, r"sf has shape \[64, 3\]; expected 3 dimensions"),
    ("strides", {"sf": torch.ones(128, 6)[::2, ::2]}, ValueError, "one of the last two must be 1"),
    ("no_power_of_two", {"sf": torch.full((64, 3), 1.5)}, ValueError, "one of 192 such among 192 scales; expected non-negative powers of two"),
    ("negative", {"sf": -torch.ones(64, 3)}, ValueError, "sf is -1 at"),
    ("cast_disabled", {"disable_ue8m0_cast": True}, ValueError, "would be converted"),
    ("negative_size", {"mn": -1}, ValueError, "mn is -1; expected an int of at least 0"),
    ("psum_of_int64", {"psum_layout": torch.tensor([64])}, TypeError, "psum_layout has dtype int64; expected int32"),
    ("psum_empty", {"psum_layout": torch.tensor([], dtype=torch.int32)}, ValueError, "at least one element"),
]


@pytest.mark.parametrize("changed, error, message", [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_refuses(device, changed, error, message):
    arguments = {"sf": torch.ones(64, 3), "mn": 64, "k": 96, "recipe": (1, 1, 32), "is_sfa": True} | changed
    on_device = {}
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):     # .to(device) keeps neither strides nor overlap of a view: move the memory, then view it
            memory = torch.as_strided(value, (value.untyped_storage().nbytes() // value.element_size(),), (1,)).to(device)
            value = torch.as_strided(memory, value.shape, value.stride())
        on_device[name] = value
    with pytest.raises(error, match=message):
        transform(**on_device)


def test_a_recipe_of_two_as_on_cuda_warns_and_works(device):
    sf = torch.from_numpy(scales(8, 4)).to(device)
    with pytest.warns(AscendParityWarning, match="only the CUDA library"):
        result = transform(sf, 16, 128, (2, 32))
    assert np.array_equal(result.cpu().numpy(), required(scales(8, 4), 16, 2))
