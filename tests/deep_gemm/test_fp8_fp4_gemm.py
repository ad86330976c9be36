# SPDX-License-Identifier: MIT
"""Does fp8_fp4_gemm_* compute D = C + alpha * A @ B with FP4 operands: FP8 x FP4 through the vector cores, FP4 x FP4 on the cube?"""

import deep_gemm
import ml_dtypes
import numpy as np
import pytest
import torch
from ascend_sim.errors import AscendParityWarning
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import (
    EDGES,
    NORMAL,
    QUANTISED,
    RECIPES,
    STRIDED,
    SUFFIXES,
    UNALIGNED_K,
    UNALIGNED_MN,
    call,
    fp4,
    fp8,
    pack_fp4,
    place,
    poisoned,
    sized,
)
from support.compare import assert_same_bytes
from support.gemm import assert_gemm

PAIRS = [("fp8", "fp4"), ("fp4", "fp4")]        # FP4 x FP8, which only CUDA has: test_dialects.py
both_pairs = pytest.mark.parametrize("pair", PAIRS, ids="x".join, scope="class")     # so that neighbouring tests share their operands (cases.py)


def even(pair, majors, m, n, k):
    """The sizes with those doubled that FP4 packs and that are odd."""
    sizes = {"m": m, "n": n, "k": k}
    for number_format, axis, mn_major in zip(pair, "mn", majors, strict=True):
        packed = axis if mn_major else "k"
        if number_format == "fp4" and sizes[packed] % 2:
            sizes[packed] *= 2
    return sizes["m"], sizes["n"], sizes["k"]


def check(device, pair, suffix, m, n, k, *, dtype=torch.bfloat16, accumulate=False, alpha=None, majors=(False, False), gap=0, recipe=None,
          sf_dtype=torch.float32):
    m, n, k = even(pair, majors, m, n, k)
    if (majors[0] and m == 2) or (majors[1] and n == 2):
        gap = gap or 1              # one byte a line: without gaps both strides would be 1, which is K-major
    gran_m, gran_n, _ = recipe or (1, 1, 32)
    a = QUANTISED[pair[0]](m, k, device, 1, majors[0], gap, gran_m, sf_dtype)
    b = QUANTISED[pair[1]](n, k, device, 2, majors[1], gap, gran_n, sf_dtype)
    before = torch.randn(m, n, generator=torch.Generator().manual_seed(3)).to(dtype)
    d = place(before, device, gap=gap) if accumulate else poisoned(m, n, device, dtype, gap)
    if call(deep_gemm, "fp8_fp4", suffix, a, b, d, c=d if accumulate else None, alpha=alpha, recipe=recipe or (1, 1, 32)):
        assert_gemm(d, a, b, alpha=alpha, before=before if accumulate else None)


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
@both_pairs
class TestMatchesFloat64:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("m, n, k", sized(UNALIGNED_MN))
    def test_on_unaligned_m_and_n_accumulating_in_fp32(self, device, pair, suffix, m, n, k):
        check(device, pair, suffix, m, n, k, dtype=torch.float32, accumulate=True)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("m, n, k", sized(UNALIGNED_K))
    def test_on_unaligned_k(self, device, pair, suffix, m, n, k):
        check(device, pair, suffix, m, n, k)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("m, n, k", sized(STRIDED))
    def test_on_lines_with_gaps_full_of_garbage(self, device, pair, suffix, m, n, k):
        check(device, pair, suffix, m, n, k, gap=24)

    @pytest.mark.parametrize("majors", [(False, False), (False, True), (True, False), (True, True)], ids=["kk", "kn", "mk", "mn"])
    @pytest.mark.parametrize("sf_dtype", [torch.float32, torch.int16], ids=["fp32", "int16"])
    @pytest.mark.parametrize("m, n, k", [(130, 200, 96), (70, 530, 1100)])
    def test_on_every_pair_of_majors(self, device, pair, majors, sf_dtype, m, n, k):
        check(device, pair, "nt", m, n, k, majors=majors, sf_dtype=sf_dtype, accumulate=True, gap=5)

    @pytest.mark.parametrize("recipe", RECIPES, ids=str)
    @pytest.mark.parametrize("m, n, k", sized([(18, 18, 18), (300, 260, 512), (4096, 4096, 4096)]))
    def test_with_a_recipe(self, device, pair, m, n, k, recipe):
        check(device, pair, "nt", m, n, k, recipe=recipe)

    @pytest.mark.parametrize("gran_mn", [1, 2, 4, 8, 16, 32, 64, 128])
    def test_with_every_granularity(self, device, pair, gran_mn):
        check(device, pair, "nt", 140, 150, 70, recipe=(gran_mn, 128 // gran_mn, 32))

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("alpha", [-0.37, 0.0])
    def test_with_alpha(self, device, pair, suffix, alpha):
        check(device, pair, suffix, 96, 160, 128, alpha=alpha)

    def test_with_alpha_into_fp32_from_one_core(self, device, pair):
        deep_gemm.set_num_sms(1)            # blocks as large as they get: most UB for scaled rows
        try:
            for m, n in ((334, 336), (700, 168), (130, 512)):
                check(device, pair, "nt", m, n, 142, dtype=torch.float32, alpha=0.7)
        finally:
            deep_gemm.set_num_sms(32)

    @pytest.mark.parametrize("m, n, k", sized(NORMAL))
    def test_on_the_published_shapes(self, device, pair, m, n, k):
        check(device, pair, "nt", m, n, k)

    # 2; 30, 34 (scale block); 62, 66 (fractal of 64 codes); 254, 258 (tile); 510, 514 (line of a vector register)
    @pytest.mark.parametrize("size", [2, 30, 34, 62, 66, 254, 258, 510, 514])
    @pytest.mark.parametrize("majors", [(False, False), (True, True)], ids=["k_major", "mn_major"])
    @pytest.mark.parametrize("axis", [0, 1, 2], ids=["m", "n", "k"])
    def test_on_sizes_around_fractals_and_tiles(self, device, pair, axis, majors, size):
        mnk = [34, 40, 48]
        mnk[axis] = size
        check(device, pair, "nt", *mnk, majors=majors, accumulate=True)

    @pytest.mark.parametrize("size", [size for size in EDGES if size % 2])
    @pytest.mark.parametrize("axis, majors", [(0, (False, False)), (1, (False, False)), (2, (True, True))], ids=["m", "n", "k"])
    def test_on_odd_sizes_of_axes_that_are_not_packed(self, device, pair, axis, majors, size):
        mnk = [34, 40, 48]
        mnk[axis] = size
        check(device, pair, "nt", *mnk, majors=majors)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(m=st.integers(1, 300), n=st.integers(1, 300), k=st.integers(1, 700), suffix=st.sampled_from(SUFFIXES), gap=st.integers(0, 9),
           majors=st.tuples(st.booleans(), st.booleans()), accumulate=st.booleans(), dtype=st.sampled_from([torch.bfloat16, torch.float32]),
           recipe=st.sampled_from(RECIPES), sf_dtype=st.sampled_from([torch.float32, torch.int16]))
    def test_on_any_shape(self, device, pair, m, n, k, suffix, gap, majors, accumulate, dtype, recipe, sf_dtype):
        check(device, pair, suffix, m, n, k, gap=gap, majors=majors, accumulate=accumulate, dtype=dtype, recipe=recipe, sf_dtype=sf_dtype)


def unit_scales(mn: int, k: int, device) -> torch.Tensor:
    return torch.ones(mn, -(-k // 32)).to(device)


# One element of each row differs from zero, at an even or an odd k: every product of two codes is an element of D.
@pytest.mark.ascend_dialect
@pytest.mark.parametrize("at", [0, 1, 62, 63])
@pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
class TestEveryCode:
    def one_code_a_row(self, codes, at, mn_major, device, dtype):
        data = torch.zeros(codes.numel(), 64, dtype=torch.uint8)
        data[:, at] = codes
        data = pack_fp4(data, mn_major) if dtype == torch.int8 else data.view(dtype)
        return place(data, device, mn_major), unit_scales(codes.numel(), 64, device)

    def test_of_fp4_times_every_code_of_fp4(self, device, at, mn_major):
        codes = torch.arange(16, dtype=torch.uint8)
        a = self.one_code_a_row(codes, at, mn_major, device, torch.int8)
        d = poisoned(16, 16, device, torch.float32)
        deep_gemm.fp8_fp4_gemm_nt(a, a, d)
        values = codes.numpy().view(ml_dtypes.float4_e2m1fn).astype(np.float32)
        assert np.array_equal(d.cpu().numpy(), np.outer(values, values))

    def test_of_fp8_times_every_code_of_fp4(self, device, at, mn_major):
        codes8, codes4 = torch.arange(256, dtype=torch.uint8), torch.arange(16, dtype=torch.uint8)
        a = self.one_code_a_row(codes8, at, mn_major, device, torch.float8_e4m3fn)
        b = self.one_code_a_row(codes4, at, mn_major, device, torch.int8)
        d = poisoned(256, 16, device, torch.float32)
        deep_gemm.fp8_fp4_gemm_nt(a, b, d)
        with np.errstate(invalid="ignore"):
            expected = np.outer(codes8.numpy().view(ml_dtypes.float8_e4m3fn).astype(np.float32), codes4.numpy().view(ml_dtypes.float4_e2m1fn).astype(np.float32))
        assert np.array_equal(d.cpu().numpy(), expected, equal_nan=True)


@pytest.mark.ascend_dialect
@both_pairs
def test_scale_bytes_beyond_k_influence_nothing(device, pair):
    a, b = (QUANTISED[number_format](mn, 30, device, mn, sf_dtype=torch.int16) for number_format, mn in zip(pair, (20, 24), strict=True))
    (data_a, sfa), (data_b, sfb) = a.tensor, b.tensor
    clean, dirty = poisoned(20, 24, device), poisoned(20, 24, device)
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, clean)
    deep_gemm.fp8_fp4_gemm_nt((data_a, sfa | -256), (data_b, sfb | -256), dirty)        # high bytes: NaN scales of a block that is not there
    assert_same_bytes(dirty, clean)


@pytest.mark.ascend_dialect
@both_pairs
def test_a_nan_scale_reaches_its_row_or_column_only(device, pair):
    a, b = (QUANTISED[number_format](mn, 128, device, mn, sf_dtype=torch.int16) for number_format, mn in zip(pair, (20, 24), strict=True))
    d = poisoned(20, 24, device)
    a.tensor[1][3, 1] |= 255
    b.tensor[1][5, 0] |= 255
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
    expected = torch.zeros(20, 24, dtype=torch.bool)
    expected[3], expected[:, 5] = True, True
    assert torch.equal(d.isnan().cpu(), expected)


@pytest.mark.ascend_dialect
@both_pairs
def test_the_same_bits_again(device, pair):
    a, b = (QUANTISED[number_format](mn, 190, device, mn) for number_format, mn in zip(pair, (300, 270), strict=True))
    results = [poisoned(300, 270, device) for _ in range(2)]
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, results[0])
    big = fp4(600, 1024, device, 9)                                                  # leaves its own codes in every memory of the chip
    deep_gemm.fp8_fp4_gemm_nt(fp8(600, 1024, device, 8).tensor, big.tensor, poisoned(600, 600, device))
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, results[1])
    assert_same_bytes(results[1], results[0])


@pytest.mark.ascend_dialect
@both_pairs
def test_trivial_sizes(device, pair):
    a, b = (QUANTISED[number_format](mn, 0, device, 1) for number_format, mn in zip(pair, (6, 4), strict=True))
    d = poisoned(6, 4, device)
    with pytest.warns(AscendParityWarning, match="ambiguous|both axes"):
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
    assert (d == 0).all()
    a, b = QUANTISED[pair[0]](0, 64, device, 1), QUANTISED[pair[1]](4, 64, device, 1)
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, poisoned(0, 4, device))


class TestRefuses:
    def test_another_k_and_says_how_fp4_is_stored(self, device):
        d = poisoned(32, 48, device)
        with pytest.raises(ValueError, match=r"b has shape \[48, 128\] .FP4, stored \[48, 64\].; expected \[n, k\] with k = 64, as in a \[32, 64\]"):
            deep_gemm.fp8_fp4_gemm_nt(fp8(32, 64, device, 1).tensor, fp4(48, 128, device, 2).tensor, d)
        assert d.isnan().all()

    @pytest.mark.ascend_dialect
    def test_scales_of_the_stored_instead_of_the_logical_k(self, device):
        (data, sf), d = fp4(48, 128, device, 2).tensor, poisoned(32, 48, device)
        with pytest.raises(ValueError, match=r"sfb .b\[1\]. has shape \[48, 2\]; expected \[48, 4\]"):
            deep_gemm.fp8_fp4_gemm_nt(fp8(32, 128, device, 1).tensor, (data, sf[:, :2].contiguous()), d)
        assert d.isnan().all()

    def test_other_types_of_data(self, device):
        data, sf = fp4(48, 128, device, 2).tensor
        with pytest.raises(TypeError, match=r"b\[0\] has dtype uint8; expected float8_e4m3fn or int8 or float4_e2m1fn_x2. int8 holds two FP4 codes"):
            deep_gemm.fp8_fp4_gemm_nt(fp8(32, 128, device, 1).tensor, (data.view(torch.uint8), sf), poisoned(32, 48, device))


@pytest.mark.ascend_dialect
def test_float4_x2_is_taken_with_a_warning(device):
    a, b, results = fp8(32, 64, device, 1), fp4(48, 64, device, 2), [poisoned(32, 48, device) for _ in range(2)]
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, results[0])
    with pytest.warns(AscendParityWarning, match="takes FP4 as int8"):
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, (b.tensor[0].view(torch.float4_e2m1fn_x2), b.tensor[1]), results[1])
    assert_same_bytes(results[1], results[0])


@pytest.mark.parametrize("pair, kernel", [(("fp8", "fp8"), "fp8_gemm_impl"), (("fp8", "fp4"), "fp8_dequant_gemm_impl"), (("fp4", "fp4"), "fp4_gemm_impl")])
def test_names_that_profilers_see(pair, kernel):
    pytest.importorskip("ascend_sim._C")
    a, b = (QUANTISED[number_format](64, 64, "npu", 1, sf_dtype=torch.int16) for number_format in pair)
    profile = deep_gemm.testing.bench_msprof(lambda: deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, poisoned(64, 64, "npu")), kernel, num_tests=1)
    assert profile.dur_us > 0


class TestTime:
    @pytest.fixture(autouse=True)
    def one_core_of_a_chip(self):
        pytest.importorskip("ascend_sim._C")
        deep_gemm.set_num_sms(1)        # D is one block
        yield
        deep_gemm.set_num_sms(32)

    def record(self, pair, m, n, k):
        import ascend_sim
        a, b = (QUANTISED[number_format](mn, k, "npu", 1, sf_dtype=torch.int16) for number_format, mn in zip(pair, (m, n), strict=True))
        sfa, sfb = (deep_gemm.transform_sf_into_required_layout(x.tensor[1], mn, k, (1, 1, 32), is_sfa=True) for x, mn in ((a, m), (b, n)))
        with ascend_sim.profile(timeline=False) as profile:
            deep_gemm.fp8_fp4_gemm_nt((a.tensor[0], sfa), (b.tensor[0], sfb), poisoned(m, n, "npu"))
        record, = (record for record in profile.records if "gemm_impl" in record.name)
        return record

    def test_fp4_is_read_at_half_the_size(self):
        read = {pair: self.record(pair, 16, 32, 512).gm_read_bytes for pair in (("fp8", "fp8"), *PAIRS)}
        assert read["fp8", "fp8"] - read["fp8", "fp4"] == 32 * 512 // 2
        assert read["fp8", "fp8"] - read["fp4", "fp4"] == (16 + 32) * 512 // 2

    def test_vector_cores_look_up_64_codes_a_cycle(self):
        record = self.record(("fp8", "fp4"), 16, 32, 512)       # a vector function on each vector core
        assert record.aiv["V"].busy_cycles == 2 * (23 + 12 + 16 * 512 / 64)     # start, drain, half of the 32 rows each
