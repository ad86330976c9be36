# SPDX-License-Identifier: MIT
"""Does the backend cuda take what NVIDIA's library takes on SM90 and SM100, refuse what it refuses, and give its scale layouts bit by bit?

The suites of each function run over it too (conftest.py); here is what only NVIDIA has. support/nvidia.py states the limits apart from the code.
"""

import itertools
import warnings

import deep_gemm
import numpy as np
import pytest
import torch
from ascend_sim import backends, layouts
from deep_gemm.testing import calc_diff
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import nvidia
from support.cases import Operand, bf16, fp4, fp8, place, poisoned
from support.gemm import assert_gemm


@pytest.fixture(params=["sm90", "sm100"])
def arch(request):
    with backends.use(f"cuda:{request.param}"):
        yield int(request.param[2:])


@pytest.fixture
def where():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def scaled(mn, k, where, seed, gran_mn, gran_k, powers, packed=False, mn_major=False, number_format="fp8"):
    """An operand with scales of gran_mn rows and gran_k elements of k, as NVIDIA's library stores them if packed."""
    plain = (fp8 if number_format == "fp8" else fp4)(mn, k, where, seed, mn_major)
    codes = plain.values / np.repeat(plain.tensor[1].cpu().numpy(), 32, 1)[:, :k]
    random = np.random.default_rng(seed)
    shape = (-(-mn // gran_mn), -(-k // gran_k))
    sf = np.ldexp(np.float32(1), random.integers(-3, 4, shape)) if powers else random.uniform(-0.02, 0.02, shape).astype(np.float32)
    values = codes * np.repeat(np.repeat(sf, gran_mn, 0)[:mn], gran_k, 1)[:, :k]
    stored = torch.from_numpy(sf)
    if packed:
        stored = layouts.convert(stored, layouts.plain(1, gran_k), layouts.sm100(gran_k), mn=mn, k=k)
        memory = torch.as_strided(stored, (stored.shape[1] * stored.stride(1),), (1,)).to(where)
        stored = torch.as_strided(memory, stored.shape, stored.stride())
    else:
        stored = stored.to(where)
    return Operand((plain.tensor[0], stored), values.astype(np.float32))


class TestSm90:
    @pytest.fixture(autouse=True)
    def chosen(self):
        with backends.use("cuda:sm90"):
            yield

    @pytest.mark.parametrize("m, n, k", [(17, 24, 128), (130, 264, 1152), (64, 520, 512)])
    def test_blocks_of_128_by_128_into_bf16(self, where, m, n, k):
        a, b, d = scaled(m, k, where, 1, 1, 128, False), scaled(n, k, where, 2, 128, 128, False), poisoned(m, n, where)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
        assert_gemm(d, a, b)

    def test_one_scale_a_row_into_fp32_added_to_c(self, where):
        a, b = scaled(40, 384, where, 1, 1, 128, False), scaled(48, 384, where, 2, 1, 128, False)
        before = torch.randn(40, 48)
        d = place(before, where)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, c=d, recipe=(1, 1, 128))
        assert_gemm(d, a, b, before=before)

    def test_sums_are_scaled_in_fp32_block_by_block(self, where):
        a, b, d = scaled(16, 512, where, 1, 1, 128, False), scaled(16, 512, where, 2, 128, 128, False), poisoned(16, 16, where)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
        codes = [x.tensor[0].cpu().double().numpy() for x in (a, b)]
        sf = [x.tensor[1].cpu().numpy() for x in (a, b)]
        total = np.zeros((16, 16), np.float32)
        for block in range(4):
            part = slice(128 * block, 128 * block + 128)
            partial = (codes[0][:, part] @ codes[1][:, part].T).astype(np.float32)
            scale = sf[0][:, block, None] * sf[1][0, block]
            total = (total.astype(np.float64) + scale.astype(np.float64) * partial).astype(np.float32)
        assert torch.equal(d.cpu(), torch.from_numpy(total).bfloat16())

    @pytest.mark.parametrize("keywords, message", [
        ({"recipe": (1, 1, 32)}, r"recipe is .gran_mn, gran_k. = .1, 32.; expected .1, 128. or .128, 128. on SM90"),
        ({"recipe": (128, 128, 128)}, "gran_m = 128; expected 1 on SM90"),
        ({"recipe_a": (1, 128)}, "recipe_b is None and the other is given"),
        ({"recipe": (1, 1, 128)}, "expected float32 and a tensor with gran_n = 1"),
    ])
    def test_refuses_recipes_and_outputs(self, where, keywords, message):
        gran_n = 1 if keywords.get("recipe") == (1, 1, 128) else 128
        a, b, d = scaled(16, 256, where, 1, 1, 128, False), scaled(16, 256, where, 2, gran_n, 128, False), poisoned(16, 16, where)
        with pytest.raises(ValueError, match=message):
            deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, **keywords)
        assert d.isnan().all()

    def test_refuses_int32_fp4_mn_major_and_n_of_no_multiple_of_8(self, where):
        a, b = scaled(16, 256, where, 1, 1, 128, False), scaled(24, 256, where, 2, 128, 128, False)
        packed = scaled(16, 256, where, 1, 1, 128, True, packed=True)
        four = scaled(24, 256, where, 2, 128, 128, True, number_format="fp4")
        major = scaled(16, 256, where, 1, 1, 128, False, mn_major=True)
        odd = scaled(20, 256, where, 2, 128, 128, False)
        for x, y, error, message in ((packed, b, TypeError, "sfa .* is int32; expected float32 on SM90"), (a, four, TypeError, "b is FP4"),
                                     (major, b, ValueError, "a is MN-major; expected K-major"), (a, odd, ValueError, "n = 20; expected a multiple of 8")):
            d = poisoned(16, len(y.values), where, gap=4 if y is odd else 0)
            with pytest.raises(error, match=message):
                deep_gemm.fp8_fp4_gemm_nt(x.tensor, y.tensor, d)
            assert d.isnan().all()


class TestSm100:
    @pytest.fixture(autouse=True)
    def chosen(self):
        with backends.use("cuda:sm100"):
            yield

    @pytest.mark.parametrize("pair", list(itertools.product(("fp8", "fp4"), repeat=2)), ids="x".join)
    @pytest.mark.parametrize("packed, gran_k", [(False, 32), (False, 128), (True, 32), (True, 128)])
    @pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
    def test_every_pair_of_formats_and_scales(self, where, pair, packed, gran_k, mn_major):
        m, n, k = 128, 256, 640
        a, b = (scaled(mn, k, where, mn, 1, gran_k, True, packed, mn_major, number_format) for number_format, mn in zip(pair, (m, n), strict=True))
        d = poisoned(m, n, where)
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d, recipe=(1, 1, gran_k))
        assert_gemm(d, a, b)

    def test_defaults_follow_sfb(self, where):
        for packed, gran_n in ((False, 128), (True, 1)):
            a, b = scaled(32, 512, where, 1, 1, 128, True, packed), scaled(48, 512, where, 2, gran_n, 128, True, packed)
            d = poisoned(32, 48, where)
            deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
            assert_gemm(d, a, b)

    def test_any_granularity_of_rows(self, where):
        a, b, d = scaled(40, 256, where, 1, 7, 32, True), scaled(48, 256, where, 2, 300, 128, True), poisoned(40, 48, where)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, recipe_a=(7, 32), recipe_b=(300, 128))
        assert_gemm(d, a, b)

    @pytest.mark.parametrize("change, error, message", [
        (lambda sf: sf.contiguous(), ValueError, r"sfa .* has strides \[2, 1\]; expected \[1, 32\], as get_mn_major"),
        (lambda sf: (sf & 0xFFFF).short(), TypeError, "sfa .* has dtype int16; expected float32 or int32. ascend_sim.layouts.convert"),
        (lambda sf: torch.full((30, 8), 3.0, device=sf.device), ValueError, "sfa .* is 3 at .*expected non-negative powers of two"),
    ])
    def test_refuses_scales(self, where, change, error, message):
        a, b, d = scaled(30, 1024, where, 1, 1, 128, True, True), scaled(32, 1024, where, 2, 1, 128, True, True), poisoned(30, 32, where)
        with pytest.raises(error, match=message):
            deep_gemm.fp8_gemm_nt((a.tensor[0], change(a.tensor[1])), b.tensor, d, recipe=(1, 1, 128))
        assert d.isnan().all()

    def test_refuses_fp32_that_may_not_be_packed_and_fp4_of_other_extents(self, where):
        a, b, d = scaled(32, 256, where, 1, 1, 128, True), scaled(32, 256, where, 2, 128, 128, True), poisoned(32, 32, where)
        with pytest.raises(ValueError, match="disable_ue8m0_cast=True; expected int32 then on SM100"):
            deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, disable_ue8m0_cast=True)
        with pytest.raises(ValueError, match="a is FP4 with 192 elements along its packed axis, 'k'; expected a multiple of 128"):
            deep_gemm.fp8_fp4_gemm_nt(fp4(32, 192, where, 1).tensor, fp8(32, 192, where, 2).tensor, d, recipe=(1, 1, 32))
        assert d.isnan().all()


class TestLimitsOfBulkCopies:
    @pytest.mark.parametrize("what", ["a_stride", "b_address", "d_stride"])
    def test_lines_and_addresses_are_multiples_of_16_bytes(self, arch, where, what):
        a, b, d = bf16(24, 64, where, 1).tensor, bf16(32, 64, where, 2).tensor, poisoned(24, 32, where)
        if what == "a_stride":
            a = bf16(24, 64, where, 1, gap=4).tensor
        elif what == "b_address":
            b = torch.zeros(32 * 64 + 4, dtype=torch.bfloat16, device=where)[4:].view(32, 64)
        else:
            d = poisoned(24, 32, where, gap=2)
        with pytest.raises(ValueError, match=rf"bf16_gemm_nt: {what[0]} of shape .*expected lines 16 bytes apart"):
            deep_gemm.bf16_gemm_nt(a, b, d)
        assert d.isnan().all()

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(m=st.integers(0, 40), n=st.integers(0, 40), k=st.integers(0, 200), step=st.sampled_from([1, 8, 16]), gran_n=st.sampled_from([1, 128]),
           accumulate=st.booleans(), dtype=st.sampled_from([torch.bfloat16, torch.float32]), mn_major=st.booleans(), powers=st.booleans())
    def test_any_call_is_right_or_refused_as_the_limits_say(self, arch, where, m, n, k, step, gran_n, accumulate, dtype, mn_major, powers):
        m, n, k = (x * step // 8 * 8 if step > 1 else x for x in (m, n, k))
        a, b = scaled(m, k, where, 1, 1, 128, powers or arch == 100, mn_major=mn_major), scaled(n, k, where, 2, gran_n, 128, powers or arch == 100)
        before = torch.randn(m, n).to(dtype)
        d = before.clone().to(where)
        c = d if accumulate else None
        reason = nvidia.refusal(arch, "fp8", a.tensor, b.tensor, d, c=c, recipe=(1, gran_n, 128))
        if reason is None:
            deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, c=c, recipe=(1, gran_n, 128))
            assert_gemm(d, a, b, before=before if accumulate else None)
        else:
            with pytest.raises((ValueError, TypeError), match=reason):
                deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, c=c, recipe=(1, gran_n, 128))
            assert torch.equal(d.cpu(), before)


class TestTransform:
    """deep_gemm.md 4.3: what becomes what."""

    @pytest.mark.parametrize("recipe, is_sfa", [((1, 128), None), ((1, 128, 128), True)])
    @pytest.mark.parametrize("shape", [(6, 5), (2, 7, 3)])
    def test_fp32_of_one_row(self, arch, where, recipe, is_sfa, shape):
        mn, k, groups = shape[-2], shape[-1] * 128 - 5, shape[0] if len(shape) == 3 else None
        sf = torch.from_numpy(np.ldexp(np.float32(1), np.random.default_rng(1).integers(-9, 9, shape))).to(where)
        result = deep_gemm.transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=groups, is_sfa=is_sfa)
        layout = layouts.sm90() if arch == 90 else layouts.sm100()
        assert layouts.mismatch(result, layout, mn, k) is None
        assert torch.equal(layouts.values(result, layout, mn, k).cpu(), sf.cpu())
        kept = deep_gemm.transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=groups, is_sfa=is_sfa, disable_ue8m0_cast=True)
        assert layouts.mismatch(kept, layouts.sm90(), mn, k) is None and torch.equal(kept.cpu(), sf.cpu())

    def test_fp32_of_blocks_stays_on_sm90_and_is_repeated_on_sm100(self, arch, where):
        sf = torch.tensor([[1.0, 2.0], [4.0, 8.0]]).to(where)
        result = deep_gemm.transform_sf_into_required_layout(sf, 130, 200, (128, 128))
        if arch == 90:
            assert result is sf
        else:
            assert torch.equal(layouts.values(result, layouts.sm100(), 130, 200).cpu(), sf.cpu().repeat_interleave(128, 0)[:130])

    def test_packed_scales_are_returned_themselves_on_sm100(self, where):
        with backends.use("cuda:sm100"):
            packed = scaled(30, 300, where, 1, 1, 32, True, packed=True).tensor[1]
            assert deep_gemm.transform_sf_into_required_layout(packed, 30, 300, (1, 32)) is packed
            with pytest.raises(ValueError, match="packed scales are taken as kernels read them"):
                deep_gemm.transform_sf_into_required_layout(packed.contiguous(), 30, 300, (1, 32))

    def test_rows_of_no_group_become_zero_whatever_they_hold(self, where):
        with backends.use("cuda:sm100"):
            sf = torch.full((400, 2), float("nan"))
            sf[:3], sf[128:130] = 1.0, 2.0
            packed = deep_gemm.transform_sf_into_required_layout(sf.to(where), 400, 256, (1, 128), psum_layout=torch.tensor([3, 130], dtype=torch.int32).to(where))
            assert packed[:3].eq(0x7F7F).all() and packed[128:130].eq(0x8080).all() and packed.count_nonzero() == 5
            assert torch.equal(packed.cpu(), deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, torch.tensor([3, 130], dtype=torch.int32)))

    def test_other_scales_are_an_unknown_transformation(self, where):
        with backends.use("cuda:sm90"):
            for sf, recipe in ((torch.ones(8, 4), (1, 32)), (torch.ones(2, 1), (4, 128)), (torch.ones(8, 1).int(), (1, 128))):
                with pytest.raises(ValueError, match="Unknown SF transformation|expected .1, 128. or .128, 128. on SM90"):
                    deep_gemm.transform_sf_into_required_layout(sf.to(where), 8, 128, recipe)


def test_settings_are_nvidias(arch):
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 128
    deep_gemm.set_mk_alignment_for_contiguous_layout(224)
    assert deep_gemm.get_mk_alignment_for_contiguous_layout() == 224
    deep_gemm.set_mk_alignment_for_contiguous_layout(128)
    theoretical = [deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(m) for m in (None, 1, 33, 200)]
    assert theoretical == ([128] * 4 if arch == 90 else [224, 32, 64, 224])


def test_nothing_is_reported_and_strict_mode_changes_nothing(arch, where, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_STRICT", "1")
    a, b, d = scaled(16, 256, where, 1, 1, 128, True), scaled(16, 256, where, 2, 128, 128, True), poisoned(16, 16, where)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
        deep_gemm.set_pdl(False)
    assert_gemm(d, a, b)


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
def test_a_call_of_cuda_gives_the_same_on_all_backends(where):
    pytest.importorskip("ascend_sim._C")
    results = {}
    for backend, place_ in (("cuda:sm90", where), ("torch", "cpu"), ("ascend", "npu")):
        with backends.use(backend):
            a, b, d = scaled(64, 384, place_, 1, 1, 128, False), scaled(80, 384, place_, 2, 128, 128, False), poisoned(64, 80, place_)
            deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
            results[backend] = d.cpu()
    assert all(calc_diff(result, results["torch"]) < 1e-5 for result in results.values())


def test_tensors_on_npu_are_taken_where_they_are():
    pytest.importorskip("ascend_sim._C")
    with backends.use("cuda:sm100"):
        a, b, d = scaled(32, 256, "npu", 1, 1, 128, True, True), scaled(48, 256, "npu", 2, 1, 128, True, True), poisoned(32, 48, "npu")
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
        assert_gemm(d, a, b)
