# SPDX-License-Identifier: MIT
"""Does a call that only the CUDA library takes give the right result with one warning, and is it refused when strict?

One example for every kind of difference of deep_gemm/_differences.py; docs/parity.md lists the same kinds.
"""

import re
import warnings
from dataclasses import dataclass

import deep_gemm
import numpy as np
import pytest
import torch
from ascend_sim import layouts
from ascend_sim.errors import AscendParityError, AscendParityWarning
from deep_gemm._differences import DIFFERENCES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import QUANTISED, SUFFIXES, Operand, bf16, call, fp8, place, poisoned, scale_pairs
from support.compare import assert_same_bytes
from support.gemm import assert_gemm, product


pytestmark = pytest.mark.ascend_dialect         # NVIDIA's own limits are tested in test_cuda_backend.py
quiet = pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")


def quantised(number_format, mn, k, device, seed, gran_mn=1, sf="fp32", mn_major=False, gap=0, powers=True):
    """An operand with a scale for gran_mn rows and 128 elements of k: fp32, or int32 words with exponents of 128 or 32 elements."""
    data, _ = QUANTISED[number_format](mn, k, device, seed, mn_major, gap).tensor
    ones = QUANTISED[number_format](mn, k, "cpu", seed, mn_major).tensor[1]
    values = QUANTISED[number_format](mn, k, "cpu", seed, mn_major).values / spread(ones.numpy(), 1, 32, mn, k)
    random = np.random.default_rng(seed)
    gran_k = 32 if sf == "int32 of 32" else 128
    shape = (-(-mn // gran_mn), -(-k // gran_k))
    scales = np.ldexp(np.float32(1), random.integers(-3, 4, shape)) if powers else random.uniform(1e-3, 2e-2, shape).astype(np.float32) * \
        random.choice([1, 1, -1], shape).astype(np.float32)
    stored = torch.from_numpy(scales)
    if sf != "fp32":
        exponents = (scales.view(np.uint32) >> 23).astype(np.uint8)
        padded = np.zeros((shape[0], -(-shape[1] // 4) * 4), np.uint8)
        padded[:, : shape[1]] = exponents
        stored = torch.from_numpy(padded.view("<i4"))
    return Operand((data, place_sf(stored, device, mn_major, gap)), (values * spread(scales, gran_mn, gran_k, mn, k)).astype(np.float32))


def place_sf(sf, device, mn_major, gap):
    return place(sf.view(torch.float32), device, mn_major, gap).view(sf.dtype)


def spread(scales, gran_mn, gran_k, mn, k):
    return np.repeat(np.repeat(scales, gran_mn, 0)[:mn], gran_k, 1)[:, :k]


def even(number_format, size):
    return size + size % 2 if number_format == "fp4" else size


@quiet
class TestScalesOf128:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("pair", [("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4"), ("fp4", "fp8")], ids="x".join)
    @pytest.mark.parametrize("gran_n", [1, 128])
    def test_powers_of_two_are_exact(self, device, pair, suffix, gran_n):
        a, b = quantised(pair[0], 150, 406, device, 1), quantised(pair[1], 260, 406, device, 2, gran_n)
        d = poisoned(150, 260, device)
        call(deep_gemm, "fp8_fp4", suffix, a, b, d, recipe=(1, gran_n, 128))
        assert_gemm(d, a, b)

    @pytest.mark.parametrize("sf", ["int32 of 32", "int32 of 128"])
    @pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
    def test_int32_words(self, device, sf, mn_major):
        a, b = (quantised("fp8", mn, 1100, device, mn, sf=sf, mn_major=mn_major, gap=3) for mn in (70, 90))
        d = poisoned(70, 90, device)
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d, recipe=(1, 1, int(sf[9:])))
        assert_gemm(d, a, b)

    def test_each_operand_has_its_own(self, device):
        a, b = quantised("fp8", 33, 300, device, 1), fp8(45, 300, device, 2, sf_dtype=torch.int16)
        d = poisoned(33, 45, device)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, recipe_a=(1, 128), recipe_b=(1, 32))
        assert_gemm(d, a, b)
        packed = quantised("fp8", 45, 300, device, 3, sf="int32 of 32")
        deep_gemm.fp8_gemm_nt(a.tensor, packed.tensor, d, recipe_a=(1, 128), recipe_b=(1, 32))
        assert_gemm(d, a, packed)

    @pytest.mark.parametrize("sf, gran_n", [("fp32", 128), ("int32 of 128", 1)])
    def test_without_a_recipe_cudas_default_is_taken_where_only_it_fits(self, device, sf, gran_n):
        a, b, d = quantised("fp8", 40, 256, device, 1, sf=sf), quantised("fp8", 300, 256, device, 2, gran_n, sf=sf), poisoned(40, 300, device)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d)
        assert_gemm(d, a, b)

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(m=st.integers(1, 200), n=st.integers(1, 200), k=st.integers(1, 900), log_grans=st.tuples(st.integers(0, 7), st.integers(0, 7)),
           sf=st.sampled_from(["fp32", "int32 of 32", "int32 of 128"]), gap=st.integers(0, 5), mn_major=st.booleans(),
           pair=st.sampled_from([("fp8", "fp8"), ("fp4", "fp8"), ("fp4", "fp4")]))
    def test_on_any_shape(self, device, m, n, k, log_grans, sf, gap, mn_major, pair):
        grans = [2**log if sf == "fp32" else 1 for log in log_grans]
        sizes = {"m": m, "n": n, "k": k}
        for number_format, axis in zip(pair, "mn", strict=True):
            sizes = {**sizes, (axis if mn_major else "k"): even(number_format, sizes[axis if mn_major else "k"])}
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        gap = gap or int(mn_major and 2 in (m, n))          # a line of one byte would be taken as K-major
        a = quantised(pair[0], m, k, device, 1, grans[0], sf, mn_major, gap)
        b = quantised(pair[1], n, k, device, 2, grans[1], sf, mn_major, gap)
        d = poisoned(m, n, device, torch.float32)
        gran_k = 32 if sf == "int32 of 32" else 128
        deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d, recipe_a=(grans[0], gran_k), recipe_b=(grans[1], gran_k))
        assert_gemm(d, a, b)


@quiet
class TestScalesThatAreNoPowersOfTwo:
    """SM90's: right up to 2^-16 of each product, which the dequantising kernel's two bf16 parts keep."""

    def check(self, d, a, b, alpha=1.0, before=0.0):
        expected = (product(a, b) * alpha).float().to(d.dtype).double() + before
        terms = torch.from_numpy(np.abs(a.values).astype(np.float64) @ np.abs(b.values).astype(np.float64).T)
        error = terms * (2.0**-16 + a.values.shape[1] * 2.0**-24) * abs(alpha)
        step = 2.0**-8 if d.dtype == torch.bfloat16 else 2.0**-23
        assert ((d.cpu().double() - expected).abs() <= error + 2 * step * (expected.abs() + (product(a, b) * alpha).abs())).all()

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("m, n, k, gran_n", [(130, 257, 1100, 128), (17, 15, 100, 1), (1, 1, 1, 128), (300, 40, 512, 4)])
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
    def test_are_applied(self, device, suffix, m, n, k, gran_n, dtype):
        a, b = quantised("fp8", m, k, device, 1, powers=False), quantised("fp8", n, k, device, 2, gran_n, powers=False)
        d = poisoned(m, n, device, dtype)
        call(deep_gemm, "fp8", suffix, a, b, d, recipe=(1, gran_n, 128))
        self.check(d, a, b)

    def test_with_c_and_alpha_and_gaps(self, device):
        a, b = quantised("fp8", 40, 700, device, 1, powers=False, gap=9), quantised("fp8", 50, 700, device, 2, 128, powers=False, gap=5)
        before = torch.randn(40, 50)
        d = place(before, device, gap=3)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, c=d, recipe=(1, 128, 128), alpha=-0.3)
        self.check(d, a, b, -0.3, before.double())

    def test_one_of_two_is_enough_and_disabling_the_cast_keeps_them_all(self, device):
        a, b = quantised("fp8", 40, 300, device, 1), quantised("fp8", 50, 300, device, 2, 128, powers=False)
        for x, y in ((a, b), (a, a)):
            d = poisoned(40, len(y.values), device, torch.float32)
            deep_gemm.fp8_gemm_nt(x.tensor, y.tensor, d, recipe_a=(1, 128), recipe_b=(128 if y is b else 1, 128), disable_ue8m0_cast=True)
            self.check(d, x, y)

    def test_nan_reaches_its_own_row_only(self, device):
        a, b = quantised("fp8", 20, 300, device, 1, powers=False), quantised("fp8", 24, 300, device, 2, powers=False)
        a.tensor[0].view(torch.uint8)[3, 290] = 0x7F
        d = poisoned(20, 24, device)
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, recipe=(1, 1, 128))
        assert torch.equal(d.isnan().cpu(), torch.arange(20)[:, None].expand(20, 24) == 3)

    @pytest.mark.parametrize("change, message", [
        (lambda a, b: ({"b": QUANTISED["fp4"](24, 256, "cpu", 1).tensor[0]}, {}), "b is FP4; expected FP8 x FP8 then"),
        (lambda a, b: ({"b": b.T.contiguous().T}, {}), "b is MN-major; expected K-major operands then"),
        (lambda a, b: ({"sfa": torch.full((20, 2), float("nan"))}, {}), r"sfa .a.1.. is nan at .0, 0.; expected finite scales"),
        (lambda a, b: ({"sfa": torch.full((20, 2), 3e38)}, {}), "expected finite scales up to 2.118"),
        (lambda a, b: ({"sfa": torch.ones(20, 8)}, {"recipe_a": (1, 32), "recipe_b": (1, 128)}), "sfa .* gran_k = 32; expected float32 and 128"),
    ])
    def test_where_neither_library_takes_them(self, device, change, message):
        a, b = (quantised("fp8", mn, 256, "cpu", mn, powers=False).tensor for mn in (20, 24))
        parts, keywords = change(a[0], b[0])
        given_ = {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1]} | parts
        there = {name: keep(value, device) for name, value in given_.items()}
        d = poisoned(20, 24, device)
        with pytest.raises(ValueError, match=message):
            deep_gemm.fp8_fp4_gemm_nt((there["a"], there["sfa"]), (there["b"], there["sfb"]), d, **(keywords or {"recipe": (1, 1, 128)}))
        assert d.isnan().all()


def keep(tensor, device):
    """On the device with the same strides."""
    memory = torch.as_strided(tensor, (tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,)).to(device)
    return torch.as_strided(memory, tensor.shape, tensor.stride())


@quiet
class TestTransform:
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(mn=st.integers(1, 700), k=st.integers(1, 2500), batch=st.sampled_from([None, 1, 3]), log_gran=st.integers(0, 7), mn_major=st.booleans(),
           sf=st.sampled_from(["fp32", "int32 of 32", "int32 of 128"]), gap=st.integers(0, 3), seed=st.integers(0, 99))
    def test_gives_the_same_pairs_as_scales_of_32(self, device, mn, k, batch, log_gran, mn_major, sf, gap, seed):
        gran_mn, gran_k = (2**log_gran if sf == "fp32" else 1), (32 if sf == "int32 of 32" else 128)
        shape = (*(() if batch is None else (batch,)), -(-mn // gran_mn), -(-k // gran_k))
        scales = (np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint32) << 23).view(np.float32)
        source = torch.from_numpy(scales)
        if sf != "fp32":
            source = layouts.ue8m0.pack(source.view(torch.int32) >> 23, 4)
        lines = source.mT if mn_major else source
        buffer = torch.full((*lines.shape[:-1], lines.shape[-1] + gap), -1, dtype=torch.int32)
        buffer[..., : lines.shape[-1]] = lines.view(torch.int32)
        view = buffer.to(device).view(source.dtype)[..., : lines.shape[-1]]
        result = deep_gemm.transform_sf_into_required_layout(view.mT if mn_major else view, mn, k, (gran_mn, gran_k), num_groups=batch)
        of_32 = np.repeat(np.repeat(scales, gran_mn, -2)[..., :mn, :], gran_k // 32, -1)[..., : -(-k // 32)]
        assert np.array_equal(result.cpu().numpy(), scale_pairs(of_32)) and result.stride()[-2:] == (1, mn)

    def test_of_groups_clears_what_is_between_them(self, device):
        scales = torch.full((512, 2), 4.0)
        scales[5:256], scales[300:] = -3.0, float("nan")
        psum = torch.tensor([5, 300], dtype=torch.int32)
        result = deep_gemm.transform_sf_into_required_layout(scales.to(device), 512, 256, (1, 128), psum_layout=psum.to(device))
        live = torch.zeros(512, dtype=torch.bool)
        live[:5], live[256:300] = True, True
        assert torch.equal(result.cpu(), torch.where(live, 129 * 257, 0)[:, None].expand(512, 4).short())

    def test_returns_what_has_no_pairs_as_it_is_for_the_gemm(self, device):
        a, b = quantised("fp8", 40, 300, device, 1, powers=False), quantised("fp8", 50, 300, device, 2, 128, powers=False)
        sfa = deep_gemm.transform_sf_into_required_layout(a.tensor[1], 40, 300, (1, 128, 128), is_sfa=True)
        sfb = deep_gemm.transform_sf_into_required_layout(b.tensor[1], 50, 300, (128, 128))
        assert sfa is a.tensor[1] and sfb is b.tensor[1]
        d = poisoned(40, 50, device)
        deep_gemm.fp8_gemm_nt((a.tensor[0], sfa), (b.tensor[0], sfb), d)
        TestScalesThatAreNoPowersOfTwo().check(d, a, b)


@dataclass
class Example:
    """A call of one kind of difference, and what its message has to name."""

    run: object
    function: str
    reason: str


def quietly(function, *arguments, **keywords) -> None:
    """Calls it; its result is looked at by another test."""
    function(*arguments, **keywords)


def gemm(a, b, device, **keywords):
    d = poisoned(len(a.values), len(b.values), device)
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d, **keywords)
    return lambda: assert_gemm(d, a, b)


def examples(device):
    def q(number_format, mn, seed, **how):
        return quantised(number_format, mn, 256, device, seed, **how)
    f = "fp8_fp4_gemm_nt"
    ones = torch.ones(8, 2).to(device)
    d = poisoned(6, 5, device)
    one_column = bf16(6, 1, device, 1), bf16(5, 1, device, 2)
    x = fp8(32, 64, device, 1)
    fp4 = QUANTISED["fp4"](32, 64, device, 1)
    return {
        "gran_k 128": Example(lambda: gemm(q("fp8", 20, 1), q("fp8", 24, 2), device, recipe=(1, 1, 128)), f, "gran_k = 128, which the Ascend library refuses"),
        "int32 scales": Example(lambda: gemm(q("fp8", 20, 1, sf="int32 of 32"), q("fp8", 24, 2, sf="int32 of 32"), device, recipe=(1, 1, 32)), f,
                                "int32, four exponents an element"),
        "fp32 scales": Example(lambda: quietly(gemm, q("fp8", 20, 1, powers=False), q("fp8", 24, 2), device, recipe=(1, 1, 128)), f, "no powers of two"),
        "default recipe": Example(lambda: gemm(q("fp8", 20, 1), q("fp8", 24, 2, gran_mn=128), device), f, r"CUDA's default, \(1, 128, 128\)"),
        "FP4 x FP8": Example(lambda: gemm(fp4, x, device), f, "a is FP4 .* and b FP8"),
        "two-number recipe": Example(lambda: quietly(deep_gemm.transform_sf_into_required_layout, ones, 8, 64, (1, 32)),
                                     "transform_sf_into_required_layout", "two numbers, which only the CUDA library"),
        "ambiguous major": Example(lambda: deep_gemm.bf16_gemm_nt(one_column[0].tensor, one_column[1].tensor, d), "bf16_gemm_nt", "refuses as ambiguous"),
        "float4_e2m1fn_x2": Example(lambda: gemm(x, Operand((fp4.tensor[0].view(torch.float4_e2m1fn_x2), fp4.tensor[1]), fp4.values), device), f,
                                    "takes FP4 as int8"),
        "num_sms 0": Example(lambda: deep_gemm.set_num_sms(0), "set_num_sms", "only known to the CUDA library"),
        "expected_m": Example(lambda: quietly(deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout, 64),
                              "get_theoretical_mk_alignment_for_contiguous_layout", "only known to the CUDA library"),
        "helpers": Example(lambda: quietly(deep_gemm.ceil_div, 3, 2), "ceil_div", "only the CUDA library's package has such helpers"),
        "TMA layouts": Example(lambda: quietly(deep_gemm.get_mn_major_tma_aligned_tensor, ones), "get_mn_major_tma_aligned_tensor", "its own scale layouts"),
        "skip head mid": Example(lambda: quietly(deep_gemm.fp8_gemm_nt_skip_head_mid, x.tensor, x.tensor, poisoned(32, 40, device), (4, 2, 4)),
                                 "fp8_gemm_nt_skip_head_mid", "only the CUDA library has this function"),
        "hints": Example(lambda: deep_gemm.set_pdl(True), "set_pdl", "only the CUDA library has this function"),
    }


KINDS = list(DIFFERENCES)


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    @pytest.fixture(autouse=True)
    def undone(self):
        yield
        from ascend_sim.backends import settings as kept
        kept.deep_gemm.pdl, kept.deep_gemm.num_sms = False, 0

    def test_warns_once_and_is_right(self, device, kind):
        example = examples(device)[kind]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            settle = example.run()
            example.run()
        of_kind = [str(w.message) for w in caught if w.category is AscendParityWarning]
        matching = [text for text in of_kind if text.startswith(f"{example.function}: ")]
        assert len(matching) == len(set(matching)) >= 1
        assert sum(bool(re.search(example.reason, text)) for text in matching) == 1
        if settle:
            settle()

    def test_raises_when_strict(self, device, kind, monkeypatch):
        example = examples(device)[kind]
        monkeypatch.setenv("ASCEND_SIM_STRICT", "1")
        with pytest.raises(AscendParityError, match=f"{example.function}: .*ASCEND_SIM_STRICT=1 forbids what the Ascend library refuses"):
            example.run()


def test_a_refused_strict_call_leaves_d_untouched(device, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_STRICT", "1")
    a, b = quantised("fp8", 20, 256, device, 1, powers=False), quantised("fp8", 24, 256, device, 2)
    d = poisoned(20, 24, device)
    with pytest.raises(AscendParityError, match="gran_k = 128"):
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, d, recipe=(1, 1, 128))
    assert d.isnan().all()


@quiet
def test_fp4_times_fp8_is_fp8_times_fp8_of_the_expanded_operand(device):
    a, b = QUANTISED["fp4"](70, 96, device, 1), fp8(50, 96, device, 2)
    codes = QUANTISED["fp4"](70, 96, "cpu", 1).values / spread(a.tensor[1].cpu().numpy(), 1, 32, 70, 96)
    results = [poisoned(70, 50, device) for _ in range(2)]
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, results[0])
    deep_gemm.fp8_fp4_gemm_nt((torch.from_numpy(codes).to(torch.float8_e4m3fn).to(device), a.tensor[1]), b.tensor, results[1])
    assert_same_bytes(results[0], results[1])


@quiet
class TestSkippedHeadMiddle:
    @pytest.mark.parametrize("left, mid, right, heads", [(4, 2, 4, 5), (0, 3, 8, 3), (8, 5, 0, 3), (3, 0, 2, 9)])
    @pytest.mark.parametrize("k", [256, 0])
    def test_columns_go_to_their_heads_and_the_middle_stays(self, device, left, mid, right, heads, k):
        n = heads * (left + right)
        a, b = fp8(20, k, device, 1), fp8(n, k, device, 2)
        d, plain = poisoned(20, heads * (left + mid + right), device, gap=3), poisoned(20, n, device)
        deep_gemm.fp8_gemm_nt_skip_head_mid(a.tensor, b.tensor, d, (left, mid, right), recipe=(1, 1, 32))
        deep_gemm.fp8_gemm_nt(a.tensor, b.tensor, plain)
        expected = torch.full(d.shape, float("nan"), dtype=torch.bfloat16)
        for column in range(n):
            expected[:, column + (column + right) // (left + right) * mid] = plain.cpu()[:, column]
        assert torch.equal(d.cpu().isnan(), expected.isnan()) and torch.equal(d.cpu().nan_to_num(), expected.nan_to_num())

    @pytest.mark.parametrize("head_splits, message", [((4, 2), "expected three ints"), ((0, 4, 0), "left . right positive"),
                                                      ((4, 1, 3), "expected a multiple of left . right = 7")])
    def test_refuses(self, device, head_splits, message):
        x, d = fp8(32, 64, device, 1), poisoned(32, 40, device)
        with pytest.raises(ValueError, match=f"(?s)fp8_gemm_nt_skip_head_mid: .*{message}"):
            deep_gemm.fp8_gemm_nt_skip_head_mid(x.tensor, x.tensor, d, head_splits)
        assert d.isnan().all()


@quiet
class TestTmaLayouts:
    """Addresses by the formulas of deep_gemm.md 4.2 and 4.3."""

    @pytest.mark.parametrize("shape", [(6, 5), (3, 7, 9), (4, 1)])
    def test_aligned_and_packed(self, device, shape):
        mn, s = shape[-2:]
        exponents = np.random.default_rng(1).integers(0, 256, shape)
        sf = torch.from_numpy((exponents.astype(np.uint32) << 23).view(np.float32)).to(device)
        aligned, rows = deep_gemm.get_mn_major_tma_aligned_tensor(sf), -(-mn // 4) * 4
        assert aligned.stride()[-2:] == (1, rows) and torch.equal(aligned.cpu().view(torch.int32), sf.cpu().view(torch.int32))
        assert deep_gemm.get_mn_major_tma_aligned_tensor(aligned) is aligned
        packed = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
        assert packed.dtype == torch.int32 and packed.shape == (*shape[:-1], -(-s // 4)) and packed.stride()[-2:] == (1, rows)
        words = torch.empty(packed.shape, dtype=torch.int32).copy_(packed).view(torch.uint8)
        assert np.array_equal(words[..., :s].numpy(), exponents) and (words[..., s:] == 0).all()

    def test_rows_between_groups(self, device):
        sf = torch.full((600, 3), -1.0)
        sf[:2], sf[256:300] = 1.0, 2.0
        packed = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf.to(device), torch.tensor([2, 300], dtype=torch.int32).to(device)).cpu()
        assert (packed[:2] == 0x7F7F7F).all() and (packed[256:300] == 0x808080).all() and packed.count_nonzero() == 46

    @pytest.mark.parametrize("psum", [False, True])
    def test_groups_of_k_are_packed_each_for_itself(self, device, psum):
        ks, mn = [256, 384, 0, 640], 8
        sizes = [-(-k // 128) for k in ks]
        exponents = np.random.default_rng(2).integers(0, 256, (sum(sizes), mn))
        sf = torch.from_numpy((exponents.astype(np.uint32) << 23).view(np.float32)).to(device)
        ends = np.cumsum([0, *ks])[1:] if psum else ks
        packed = deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
            sf, torch.tensor(ends, dtype=torch.int32).to(device), ks, 128, 128, psum).cpu()
        row = begin = 0
        for size in sizes:
            for j in range(size):
                assert np.array_equal((packed[row + j // 4] >> 8 * (j % 4) & 0xFF).numpy(), exponents[begin + j])
            row, begin = row + -(-size // 4), begin + size
        assert packed.shape == (row, mn) and packed.is_contiguous()

    def test_refuse(self, device):
        sf = torch.full((4, 3), 1.5).to(device)
        with pytest.raises(ValueError, match=r"sf is 1.5 at \[0, 0\]; expected non-negative powers of two"):
            deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
        with pytest.raises(TypeError, match="sf is torch.int32; expected a tensor of float32"):
            deep_gemm.get_mn_major_tma_aligned_tensor(sf.int())
        with pytest.raises(ValueError, match="element_size is 3; expected a divisor of 16"):
            deep_gemm.get_tma_aligned_size(5, 3)
        assert [deep_gemm.get_tma_aligned_size(5, size) for size in (1, 2, 4, 8)] == [16, 8, 8, 6]


def test_these_calls_run_on_the_chip():
    ascend_sim = pytest.importorskip("ascend_sim")
    pytest.importorskip("ascend_sim._C")

    def kernels(*arguments, **keywords):
        with ascend_sim.profile(timeline=False) as profile, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gemm(*arguments, "npu", **keywords)
        assert all(record.simulated_us > 0 for record in profile.records)
        return [record.name for record in profile.records if not record.name.startswith("aten")]
    fp32, other = (quantised("fp8", 20, 256, "npu", seed) for seed in (1, 2))
    assert kernels(fp32, other, recipe=(1, 1, 128)) == ["expand_sf", "expand_sf", "fp8_gemm_impl"]
    odd = quantised("fp8", 20, 256, "npu", 3, powers=False)
    assert kernels(odd, other, recipe=(1, 1, 128)) == ["split_fp8", "split_fp8", "bf16_gemm_impl"]
    assert kernels(QUANTISED["fp4"](32, 64, "npu", 1), fp8(32, 64, "npu", 2)) == ["transform_sf", "transform_sf", "expand_fp4", "fp8_gemm_impl"]
