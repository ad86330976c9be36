# SPDX-License-Identifier: MIT
"""Do aclnn_* and cublaslt_* take what the vendor's functions take, write where those write, and agree with the other GEMMs?"""

import deep_gemm
import pytest
import torch
from support.cases import QUANTISED, SUFFIXES, bf16, call, fp8, poisoned
from support.compare import assert_same_bytes
from support.gemm import assert_gemm

PAIRS = [("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4")]
all_pairs = pytest.mark.parametrize("pair", PAIRS, ids="x".join)


def operands(pair, device, m=40, n=48, k=128, **how):
    return [QUANTISED[number_format](mn, k, device, mn, **how) for number_format, mn in zip(pair, (m, n), strict=True)]


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestBf16:
    def test_matches_float64(self, device, suffix):
        a, b, d = bf16(70, 96, device, 1), bf16(50, 96, device, 2), poisoned(70, 50, device)
        call(deep_gemm, "aclnn_bf16", suffix, a, b, d)
        assert_gemm(d, a, b)

    def test_with_c_the_sum_is_in_c_and_d_stays(self, device, suffix):
        a, b, d = bf16(70, 96, device, 1), bf16(50, 96, device, 2), poisoned(70, 50, device)
        before = torch.randn(70, 50).bfloat16()
        c = before.clone().to(device)
        call(deep_gemm, "aclnn_bf16", suffix, a, b, d, c)
        assert_gemm(c, a, b, before=before)
        assert d.isnan().all()

    def test_cublaslt_is_the_identical_object(self, suffix):
        assert getattr(deep_gemm, f"cublaslt_gemm_{suffix}") is getattr(deep_gemm, f"aclnn_bf16_gemm_{suffix}")


@all_pairs
class TestFp8Fp4:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_matches_float64(self, device, pair, suffix):
        (a, b), d = operands(pair, device), poisoned(40, 48, device)
        call(deep_gemm, "aclnn_fp8_fp4", suffix, a, b, d)
        assert_gemm(d, a, b)

    def test_c_is_added_to_the_rounded_product(self, device, pair):
        (a, b), d, expected = operands(pair, device), poisoned(40, 48, device), poisoned(40, 48, device)
        c = torch.randn(40, 48).bfloat16().to(device)
        deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d, c)
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, expected, recipe=(1, 1, 32))
        assert_same_bytes(d, c + expected)

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.float8_e8m0fnu])
    def test_scales_as_exponent_bytes(self, device, pair, dtype):
        a, b = operands(pair, device)
        results = [poisoned(40, 48, device) for _ in range(2)]
        deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, results[0])
        as_bytes = [(data, (sf.cpu().view(torch.int32) >> 23).to(torch.uint8).view(dtype).to(device)) for data, sf in (a.tensor, b.tensor)]
        deep_gemm.aclnn_fp8_fp4_gemm_nt(*as_bytes, results[1], disable_ue8m0_cast=True)
        assert_same_bytes(results[1], results[0])
        (data_a, sfa), (data_b, sfb) = as_bytes
        if pair != ("fp8", "fp4") or dtype == torch.uint8:
            deep_gemm.aclnn_fp8_fp4_gemm_tn((data_a.T, sfa.T), (data_b.T, sfb.T), results[1])
            assert_same_bytes(results[1], results[0])


def test_fp8_fp4_into_fp16(device):
    (a, b), d, c = operands(("fp8", "fp4"), device), poisoned(40, 48, device, torch.float16), torch.ones(40, 48).half().to(device)
    exact = poisoned(40, 48, device, torch.float32)
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, exact, recipe=(1, 1, 32))
    deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
    assert_same_bytes(d, exact.half())
    deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d, c)
    assert_same_bytes(d, c + exact.half())


class TestRefuses:
    @all_pairs
    def test_k_that_is_no_multiple_of_64(self, device, pair):
        (a, b), d = operands(pair, device, k=96), poisoned(40, 48, device)
        with pytest.raises(ValueError, match="aclnn_fp8_fp4_gemm_nt: k = 96; the vendor's function takes multiples of 64. fp8_fp4_gemm_nt takes any"):
            deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
        assert d.isnan().all()

    def test_mn_major_fp8_times_fp4(self, device):
        (a, b), d = operands(("fp8", "fp4"), device, mn_major=True), poisoned(40, 48, device)
        with pytest.raises(ValueError, match=r"(?s)a is MN-major.*b is MN-major"):
            deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d)

    def test_fp8_times_fp4_into_fp32_and_fp8_times_fp8_into_fp16(self, device):
        for pair, dtype, accepted in ((("fp8", "fp4"), torch.float32, "bfloat16 or float16"), (("fp8", "fp8"), torch.float16, "bfloat16 or float32")):
            (a, b), d = operands(pair, device), poisoned(40, 48, device, dtype)
            with pytest.raises(TypeError, match=f"d has dtype .*; expected {accepted}"):
                deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d)

    def test_int16_scales_and_other_recipes(self, device):
        (a, b), d = operands(("fp8", "fp8"), device, sf_dtype=torch.int16), poisoned(40, 48, device)
        with pytest.raises(TypeError, match="sfa .* has dtype int16; expected float32 or float8_e8m0fnu or uint8"):
            deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
        a, b = operands(("fp8", "fp8"), device)
        for keywords in ({"recipe": (1, 32, 32)}, {"recipe_a": (32, 32)}, {"recipe_b": (1, 128)}):
            with pytest.raises(ValueError, match="the vendor's function takes"):
                deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, b.tensor, d, **keywords)

    def test_scales_that_are_no_powers_of_two(self, device):
        (a, b), d = operands(("fp8", "fp8"), device), poisoned(40, 48, device)
        with pytest.raises(ValueError, match="sfb .* expected non-negative powers of two"):
            deep_gemm.aclnn_fp8_fp4_gemm_nt(a.tensor, (b.tensor[0], b.tensor[1] * 1.5), d)

    def test_fp8_where_bf16_is_meant(self, device):
        with pytest.raises(TypeError, match="aclnn_bf16_gemm_nt: a has dtype float8_e4m3fn; expected bfloat16"):
            deep_gemm.cublaslt_gemm_nt(fp8(40, 64, device, 1).tensor[0], bf16(48, 64, device, 1).tensor, poisoned(40, 48, device))
