# SPDX-License-Identifier: MIT
"""Does fp8_gemm_* compute D = C + alpha * A @ B of exactly dequantised operands, for every recipe, scale dtype and orientation?"""

import deep_gemm
import numpy as np
import pytest
import torch
from ascend_sim.errors import AscendParityWarning
from deep_gemm.epilogue import Alpha
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import EDGES, NORMAL, RECIPES, STRIDED, SUFFIXES, UNALIGNED_K, UNALIGNED_MN, call, fp8, place, poisoned, sized
from support.compare import assert_close, assert_same_bytes
from support.gemm import assert_gemm


def check(device, suffix, m, n, k, *, dtype=torch.bfloat16, accumulate=False, alpha=None, mn_major=False, gap=0, recipe=None,
          sf_dtype=torch.float32):
    gran_m, gran_n, _ = recipe or (1, 1, 32)
    a = fp8(m, k, device, 1, mn_major, gap, gran_m, sf_dtype)
    b = fp8(n, k, device, 2, mn_major, gap, gran_n, sf_dtype)
    before = torch.randn(m, n, generator=torch.Generator().manual_seed(3)).to(dtype)
    d = place(before, device, gap=gap) if accumulate else poisoned(m, n, device, dtype, gap)
    if call(deep_gemm, "fp8", suffix, a, b, d, c=d if accumulate else None, alpha=alpha, recipe=recipe or (1, 1, 32)):
        assert_gemm(d, a, b, alpha=alpha, before=before if accumulate else None)


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
@pytest.mark.parametrize("suffix", SUFFIXES)
class TestMatchesFloat64:
    @pytest.mark.parametrize("m, n, k", sized(UNALIGNED_MN))
    def test_on_unaligned_m_and_n_accumulating_in_fp32(self, device, suffix, m, n, k):
        check(device, suffix, m, n, k, dtype=torch.float32, accumulate=True)

    @pytest.mark.parametrize("m, n, k", sized(UNALIGNED_K))
    def test_on_unaligned_k(self, device, suffix, m, n, k):
        check(device, suffix, m, n, k)

    @pytest.mark.parametrize("m, n, k", sized(STRIDED))
    def test_on_lines_with_gaps_full_of_nan(self, device, suffix, m, n, k):
        check(device, suffix, m, n, k, gap=24)

    @pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
    @pytest.mark.parametrize("sf_dtype", [torch.float32, torch.int16], ids=["fp32", "int16"])
    def test_on_either_major_and_scale_dtype(self, device, suffix, mn_major, sf_dtype):
        check(device, suffix, 130, 200, 96, mn_major=mn_major, sf_dtype=sf_dtype)

    @pytest.mark.parametrize("recipe", RECIPES, ids=str)
    def test_with_a_recipe(self, device, suffix, recipe):
        check(device, suffix, 18, 18, 18, recipe=recipe)

    @pytest.mark.parametrize("alpha", [-0.37, 0.0])
    def test_with_alpha(self, device, suffix, alpha):
        check(device, suffix, 96, 160, 128, alpha=alpha)


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
class TestMatchesFloat64AlsoOn:
    @pytest.mark.parametrize("m, n, k", sized(NORMAL))
    def test_the_published_shapes(self, device, m, n, k):
        check(device, "nt", m, n, k)

    @pytest.mark.parametrize("size", [*EDGES, 63, 65])
    @pytest.mark.parametrize("axis", [0, 1, 2], ids=["m", "n", "k"])
    def test_sizes_around_fractals_scale_pairs_and_tiles(self, device, axis, size):
        mnk = [33, 40, 48]
        mnk[axis] = size
        check(device, "nt", *mnk, accumulate=True)

    @pytest.mark.parametrize("recipe", RECIPES, ids=str)
    @pytest.mark.parametrize("m, n, k", sized([(300, 260, 512), (4096, 4096, 4096)]))
    def test_recipes_on_several_tiles(self, device, m, n, k, recipe):
        check(device, "nt", m, n, k, recipe=recipe)

    @pytest.mark.parametrize("gran_mn", [1, 2, 4, 8, 16, 32, 64, 128])
    def test_every_granularity(self, device, gran_mn):
        check(device, "nt", 140, 150, 70, recipe=(gran_mn, 128 // gran_mn, 32))

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(m=st.integers(1, 300), n=st.integers(1, 300), k=st.integers(1, 300), suffix=st.sampled_from(SUFFIXES), gap=st.integers(0, 9),
           mn_major=st.booleans(), accumulate=st.booleans(), dtype=st.sampled_from([torch.bfloat16, torch.float32]),
           recipe=st.sampled_from(RECIPES), sf_dtype=st.sampled_from([torch.float32, torch.int16]))
    def test_any_shape(self, device, m, n, k, suffix, gap, mn_major, accumulate, dtype, recipe, sf_dtype):
        check(device, suffix, m, n, k, gap=gap, mn_major=mn_major, accumulate=accumulate, dtype=dtype, recipe=recipe, sf_dtype=sf_dtype)


@pytest.mark.ascend_dialect
def test_exponent_bytes_0_and_254_and_255_mean_their_value(device):
    data = torch.zeros(4, 32)
    data[:, 0] = 1
    data = data.to(torch.float8_e4m3fn).to(device)
    sfa = torch.tensor([[0], [127], [254], [255]], dtype=torch.int16).to(device)
    ones = torch.full((4, 1), 127, dtype=torch.int16).to(device)
    d = poisoned(4, 4, device, torch.float32)
    deep_gemm.fp8_gemm_nt((data, sfa), (data, ones), d)
    expected = torch.tensor([[0.0], [1.0], [2.0**127], [float("nan")]]).expand(4, 4)
    assert_close(d, expected, ulp=0, floor=2.0**-126, why="2^-127 is subnormal in fp32 and may be flushed")


def test_an_fp32_scale_of_0_is_2_to_the_minus_127_and_one_of_infinity_is_nan(device):
    data = torch.zeros(16, 32)
    data[:, 0] = 1
    data = data.to(torch.float8_e4m3fn).to(device)
    sfa, sfb = torch.ones(16, 1), torch.full((16, 1), 2.0**100)
    sfa[1], sfa[2], sfb[3], sfb[4] = 0, torch.inf, torch.inf, 0
    d = poisoned(16, 16, device, torch.float32)
    deep_gemm.fp8_gemm_nt((data, sfa.to(device)), (data, sfb.to(device)), d, recipe=(1, 1, 32))
    rows, columns = torch.ones(16), torch.full((16,), 2.0**100)
    rows[1], rows[2], columns[3], columns[4] = 2.0**-127, torch.nan, torch.nan, 2.0**-127
    assert_close(d, rows[:, None] * columns, ulp=0, floor=2.0**-126, why="2^-127 is subnormal in fp32 and may be flushed")
    assert d[1, 0].item() == 2.0**-27


@pytest.mark.ascend_dialect
def test_fp32_scales_that_are_applied_as_they_are_have_a_0_and_no_infinity(device):
    data = torch.ones(16, 128).to(torch.float8_e4m3fn).to(device)
    sfa, d = torch.full((16, 1), 1.5), poisoned(16, 16, device, torch.float32)
    sfa[1] = 0
    with pytest.warns(AscendParityWarning):
        deep_gemm.fp8_gemm_nt((data, sfa.to(device)), (data, torch.ones(16, 1, device=device)), d, recipe=(1, 1, 128))
    assert d[0].eq(192).all() and d[1].eq(0).all()
    sfa[1] = torch.inf
    with pytest.raises(ValueError, match=r"sfa \(a\[1\]\) is inf at \[1, 0\]; expected finite scales up to"):
        deep_gemm.fp8_gemm_nt((data, sfa.to(device)), (data, torch.ones(16, 1, device=device)), d, recipe=(1, 1, 128))


@pytest.mark.ascend_dialect
def test_scale_bytes_beyond_k_influence_nothing(device):
    a, b = fp8(20, 40, device, 1, sf_dtype=torch.int16), fp8(24, 40, device, 2, sf_dtype=torch.int16)
    clean, dirty = poisoned(20, 24, device), poisoned(20, 24, device)
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, clean)
    a, b = fp8(20, 30, device, 1, sf_dtype=torch.int16), fp8(24, 30, device, 2, sf_dtype=torch.int16)
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, clean)
    (data_a, sfa), (data_b, sfb) = a.tensor, b.tensor
    deep_gemm.fp8_gemm_nt((data_a, sfa | -256), (data_b, sfb | -256), dirty)        # high bytes: NaN scales of a block that is not there
    assert_same_bytes(dirty, clean)


@pytest.mark.ascend_dialect
def test_packed_and_fp32_scales_give_the_same_bytes(device):
    results = []
    for sf_dtype in (torch.float32, torch.int16):
        a, b = fp8(70, 160, device, 1, sf_dtype=sf_dtype), fp8(50, 160, device, 2, sf_dtype=sf_dtype)
        results.append(poisoned(70, 50, device))
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, results[-1])
    sfa = deep_gemm.transform_sf_into_required_layout(a.tensor[1], 70, 160, (1, 1, 32), is_sfa=True)
    sfb = deep_gemm.transform_sf_into_required_layout(b.tensor[1], 50, 160, (1, 1, 32), is_sfa=False)
    results.append(poisoned(70, 50, device))
    deep_gemm.fp8_gemm_nt((a.tensor[0], sfa), (b.tensor[0], sfb), results[-1], disable_ue8m0_cast=True)
    assert_same_bytes(results[1], results[0])
    assert_same_bytes(results[2], results[0])


@pytest.mark.ascend_dialect
def test_recipe_and_recipe_a_and_b_say_the_same(device):
    a, b = fp8(64, 64, device, 1, gran_mn=32), fp8(40, 64, device, 2)
    results = [poisoned(64, 40, device) for _ in range(3)]
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, results[0], recipe=(32, 1, 32))
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, results[1], recipe_a=(32, 32), recipe_b=(1, 32))
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, results[2], recipe_a=(32, 32))
    assert_same_bytes(results[1], results[0])
    assert_same_bytes(results[2], results[0])


def test_alpha_object_is_the_same_as_alpha(device):
    a, b = fp8(20, 64, device, 1), fp8(32, 64, device, 2)
    results = [poisoned(20, 32, device) for _ in range(2)]
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, results[0], alpha=0.3, recipe=(1, 1, 32))
    deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, results[1], epilogue=Alpha(0.3), recipe=(1, 1, 32))
    assert_same_bytes(results[1], results[0])


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
class TestTrivialSizes:
    @pytest.mark.parametrize("m, n", [(0, 8), (8, 0), (0, 0)])
    def test_m_or_n_zero_writes_nothing(self, device, m, n):
        around = poisoned(8, 8, device)
        deep_gemm.fp8_gemm_nt(fp8(m, 64, device, 1).tensor, fp8(n, 64, device, 2).tensor, around[:m, :n], recipe=(1, 1, 32))
        assert around.isnan().all()

    def test_k_zero_gives_c_or_zeros(self, device):
        a, b = fp8(4, 0, device, 1).tensor, fp8(6, 0, device, 2).tensor
        d, c = poisoned(4, 6, device), torch.randn(4, 6).bfloat16().to(device)
        deep_gemm.fp8_gemm_nt(a, b, d, recipe=(1, 1, 32))
        assert (d == 0).all()
        deep_gemm.fp8_gemm_nt(a, b, d, c=c, recipe=(1, 1, 32))
        assert_same_bytes(d, c)


def ones(*shape):
    return torch.ones(shape)


# what is wrong, the arguments it replaces, the error, what the message says
FAULTS = [
    ("a_is_no_pair", {"a": lambda a, sf: a}, TypeError, r"a is of type Tensor; expected a pair \(data, sf\)"),
    ("data_is_bf16", {"a": lambda a, sf: (a.bfloat16(), sf)}, TypeError, r"a\[0\] has dtype bfloat16; expected float8_e4m3fn"),
    ("sf_is_fp64", {"a": lambda a, sf: (a, sf.double())}, TypeError, r"sfa \(a\[1\]\) has dtype float64; expected float32 or int16"),
    ("sf_of_gran_k_128", {"a": lambda a, sf: (a, sf[:, :1].contiguous())}, ValueError, r"sfa .* has shape \[32, 1\]; expected \[32, 3\], \[ceil\(m / 1\), ceil\(k / 32\)\]"),
    ("sf_has_no_unit_stride", {"a": lambda a, sf: (a, ones(64, 6).to(sf.device)[::2, ::2])}, ValueError, "sfa .* has strides"),
    ("sf_is_no_power_of_two", {"a": lambda a, sf: (a, sf * 3)}, ValueError, "(?s)non-negative powers of two.*ceil_to_ue8m0"),
    ("sf_is_negative", {"a": lambda a, sf: (a, -sf)}, ValueError, "sfa .* is -.* at .*expected non-negative powers of two"),
    ("gran_k", {"recipe": lambda a, sf: (1, 1, 64)}, ValueError, "recipe has gran_k = 64; expected 32, or 128 as on CUDA"),
    ("gran_mn", {"recipe": lambda a, sf: (3, 1, 32)}, ValueError, "recipe has gran_mn = 3; expected a power of two from 1 to 128"),
    ("recipe_has_two", {"recipe": lambda a, sf: (1, 32)}, ValueError, "recipe is .*; expected three ints"),
    ("recipe_twice", {"recipe": lambda a, sf: (1, 1, 32), "recipe_a": lambda a, sf: (1, 32)}, ValueError, "exclusive"),
    ("cast_disabled", {"disable_ue8m0_cast": lambda a, sf: True}, ValueError, "sfa .* is float32 and would be converted"),
]


@pytest.mark.ascend_dialect
@pytest.mark.parametrize("changed, error, message", [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_refuses_and_leaves_d_untouched(device, changed, error, message):
    a, b = fp8(32, 80, device, 1), fp8(24, 80, device, 2)
    arguments = {"a": a.tensor, "b": b.tensor, "d": poisoned(32, 24, device)}
    arguments |= {name: make(*a.tensor) for name, make in changed.items()}
    with pytest.raises(error, match=message) as caught:
        deep_gemm.fp8_gemm_nt(**arguments)
    assert str(caught.value).startswith("fp8_fp4_gemm_nt: ")
    assert arguments["d"].isnan().all()


def test_hint_names_the_sibling_for_transposed_b(device):
    (data, sf) = fp8(24, 80, device, 2).tensor
    with pytest.raises(ValueError, match="For b stored as .k, n. call fp8_fp4_gemm_nn"):
        deep_gemm.fp8_gemm_nt(fp8(32, 80, device, 1).tensor, (data.T, sf.T), poisoned(32, 24, device))


def test_dequantisation_oracle_is_exact():
    operand = fp8(40, 96, "cpu", 5, gran_mn=8)
    data, sf = operand.tensor
    again = data.float() * sf.repeat_interleave(8, 0).repeat_interleave(32, 1)
    assert np.array_equal(operand.values, again.numpy())
