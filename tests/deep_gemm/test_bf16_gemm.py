# SPDX-License-Identifier: MIT
"""Does bf16_gemm_* compute D = C + alpha * A @ B, whatever the sizes and strides, and refuse what it cannot?"""

import deep_gemm
import pytest
import torch
from ascend_sim.errors import AscendParityError, AscendParityWarning
from deep_gemm.epilogue import Alpha, FP8Quantization, Identity
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import (
    EDGES,
    NORMAL,
    NORMAL_FP32,
    STRIDED,
    SUFFIXES,
    UNALIGNED_K,
    UNALIGNED_MN,
    bf16,
    call,
    place,
    poisoned,
    sized,
)
from support.compare import assert_close, assert_same_bytes
from support.gemm import assert_gemm, product


def check(device, suffix, m, n, k, *, dtype=torch.float32, accumulate=False, alpha=None, mn_major=False, gap=0):
    a, b = bf16(m, k, device, 1, mn_major, gap), bf16(n, k, device, 2, mn_major, gap)
    before = torch.randn(m, n, generator=torch.Generator().manual_seed(3)).to(dtype)
    d = place(before, device, gap=gap) if accumulate else poisoned(m, n, device, dtype, gap)
    if call(deep_gemm, "bf16", suffix, a, b, d, c=d if accumulate else None, alpha=alpha):
        assert_gemm(d, a, b, alpha=alpha, before=before if accumulate else None)


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
@pytest.mark.parametrize("suffix", SUFFIXES)
class TestMatchesFloat64:
    @pytest.mark.parametrize("m, n, k", sized(UNALIGNED_MN))
    def test_on_unaligned_m_and_n_accumulating_in_fp32(self, device, suffix, m, n, k):
        check(device, suffix, m, n, k, accumulate=True)

    @pytest.mark.parametrize("m, n, k", sized(UNALIGNED_K))
    def test_on_unaligned_k(self, device, suffix, m, n, k):
        check(device, suffix, m, n, k, dtype=torch.bfloat16)

    @pytest.mark.parametrize("m, n, k", sized(STRIDED))
    def test_on_lines_with_gaps_full_of_nan(self, device, suffix, m, n, k):
        check(device, suffix, m, n, k, dtype=torch.bfloat16, gap=24)

    @pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
    def test_on_either_major(self, device, suffix, mn_major):
        check(device, suffix, 130, 200, 96, mn_major=mn_major)

    @pytest.mark.parametrize("alpha", [None, -0.37, 0.0])
    def test_with_alpha(self, device, suffix, alpha):
        check(device, suffix, 96, 160, 128, alpha=alpha, dtype=torch.bfloat16)


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
class TestMatchesFloat64AlsoOn:
    @pytest.mark.parametrize("m, n, k", sized(NORMAL))
    def test_the_published_shapes(self, device, m, n, k):
        check(device, "nt", m, n, k, dtype=torch.bfloat16)

    @pytest.mark.parametrize("m, n, k", sized(NORMAL_FP32))
    def test_the_published_shapes_with_fp32_output(self, device, m, n, k):
        check(device, "nt", m, n, k, dtype=torch.float32)

    @pytest.mark.parametrize("size", EDGES)
    @pytest.mark.parametrize("axis", [0, 1, 2], ids=["m", "n", "k"])
    def test_sizes_around_fractals_and_tiles(self, device, axis, size):
        mnk = [33, 40, 48]
        mnk[axis] = size
        check(device, "nt", *mnk, dtype=torch.bfloat16, accumulate=True)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(m=st.integers(1, 300), n=st.integers(1, 300), k=st.integers(1, 300), suffix=st.sampled_from(SUFFIXES), gap=st.integers(0, 9),
           mn_major=st.booleans(), accumulate=st.booleans(), dtype=st.sampled_from([torch.bfloat16, torch.float32]))
    def test_any_shape(self, device, m, n, k, suffix, gap, mn_major, accumulate, dtype):
        check(device, suffix, m, n, k, gap=gap, mn_major=mn_major, accumulate=accumulate, dtype=dtype)


def test_exact_sums_are_exact(device):
    a = place(torch.randint(-8, 9, (70, 104)).bfloat16(), device)
    b = place(torch.randint(-8, 9, (52, 104)).bfloat16(), device)
    d = poisoned(70, 52, device, torch.float32)
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert_same_bytes(d, (a.cpu().double() @ b.cpu().double().T).float())


def test_infinities_and_nans_reach_their_own_row_or_column_only(device):
    a, b = torch.ones(20, 40).bfloat16(), torch.ones(24, 40).bfloat16()
    a[3, 7], a[5, 9], b[2, 11] = float("inf"), float("nan"), float("-inf")
    d = poisoned(20, 24, device, torch.float32)
    deep_gemm.bf16_gemm_nt(a.to(device), b.to(device), d)
    expected = torch.full((20, 24), 40.0)
    expected[:, 2], expected[3], expected[5] = float("-inf"), float("inf"), float("nan")
    expected[3, 2] = float("nan")               # inf - inf
    assert_close(d, expected, ulp=0, floor=1e-9, why="small integers")


class TestC:
    @pytest.fixture
    def operands(self, device):
        return bf16(33, 64, device, 1), bf16(40, 64, device, 2)

    def test_that_is_another_tensor_is_added_and_kept(self, device, operands):
        a, b = operands
        c = torch.randn(33, 40).to(device)
        kept, d = c.clone(), poisoned(33, 40, device, torch.float32)
        in_place = c.clone()
        deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d, c=c)
        deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, in_place, c=in_place)
        assert_same_bytes(d, in_place)
        assert_same_bytes(c, kept)

    @pytest.mark.ascend_dialect
    def test_in_bf16_is_added_after_the_product_was_rounded(self, device):
        a, b = torch.tensor([[1.0, 2.0**-9]]).bfloat16().to(device), torch.tensor([[1.0, 1.0]] * 2).bfloat16().to(device)
        d = torch.full((1, 2), 2.0**-8).bfloat16().to(device)
        deep_gemm.bf16_gemm_nt(a, b, d, c=d)        # bf16(1 + 2^-9) = 1; 1 + 2^-8 ties to even: 1. In one rounding: 1 + 2^-7
        assert d.tolist() == [[1.0, 1.0]]

    def test_in_the_same_memory_with_other_strides_is_refused(self, device, operands):
        a, b = operands
        memory = torch.zeros(33 * 80).to(device)
        d, c = memory[: 33 * 40].view(33, 40), memory.view(33, 80)[:, :40]
        with pytest.raises(ValueError, match="c shares d's memory"):
            deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d, c=c)

    def test_d_in_the_memory_of_a_or_b_is_refused_and_columns_of_one_buffer_are_not(self, device):
        x = torch.ones(64, 64).bfloat16().to(device)
        for a, b in ((x, x), (x.clone(), x), (x, x.clone())):
            with pytest.raises(ValueError, match="d shares its memory with [ab]; expected memory of its own"):
                deep_gemm.bf16_gemm_nt(a, b, x)
        assert (x == 1).all()
        buffer = torch.ones(64, 128).bfloat16().to(device)
        deep_gemm.bf16_gemm_nt(buffer[:, :64], x, buffer[:, 64:])
        assert (buffer[:, :64] == 1).all() and (buffer[:, 64:] == 64).all()

    def test_of_another_dtype_or_shape_is_refused(self, device, operands):
        a, b = operands
        d = poisoned(33, 40, device, torch.float32)
        with pytest.raises(TypeError, match="c has dtype bfloat16; expected float32"):
            deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d, c=poisoned(33, 40, device))
        with pytest.raises(ValueError, match=r"c has shape \[40, 33\]; expected \[33, 40\]"):
            deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d, c=poisoned(40, 33, device, torch.float32))
        assert d.isnan().all()


class TestTrivialSizes:
    @pytest.mark.parametrize("m, n", [(0, 8), (8, 0), (0, 0)])
    @pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
    def test_m_or_n_zero_writes_nothing(self, device, m, n):
        around = poisoned(8, 8, device)
        deep_gemm.bf16_gemm_nt(bf16(m, 16, device, 1).tensor, bf16(n, 16, device, 2).tensor, around[:m, :n])
        assert around.isnan().all()

    @pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
    def test_k_zero_gives_c_or_zeros(self, device):
        a, b = torch.zeros(4, 8).bfloat16().to(device)[:, :0], torch.zeros(6, 8).bfloat16().to(device)[:, :0]
        d, c = poisoned(4, 6, device), torch.randn(4, 6).bfloat16().to(device)
        deep_gemm.bf16_gemm_nt(a, b, d)
        assert (d == 0).all()
        deep_gemm.bf16_gemm_nt(a, b, d, c=c)
        assert_same_bytes(d, c)
        deep_gemm.bf16_gemm_nt(a, b, d, c=d)
        assert_same_bytes(d, c)


class TestEpilogue:
    def test_alpha_object_is_the_same_as_alpha(self, device):
        a, b = bf16(20, 32, device, 1).tensor, bf16(32, 32, device, 2).tensor
        plain, alpha, scaled = (poisoned(20, 32, device) for _ in range(3))
        deep_gemm.bf16_gemm_nt(a, b, plain, epilogue=Identity())
        deep_gemm.bf16_gemm_nt(a, b, alpha, alpha=0.25)
        deep_gemm.bf16_gemm_nt(a, b, scaled, epilogue=Alpha(0.25))
        assert_same_bytes(alpha, scaled)
        assert_same_bytes(alpha, plain * 0.25)

    def test_alpha_and_epilogue_together_are_refused(self, device):
        with pytest.raises(ValueError, match="exclusive"):
            deep_gemm.bf16_gemm_nt(bf16(4, 8, device, 1).tensor, bf16(4, 8, device, 2).tensor, poisoned(4, 4, device),
                                   alpha=1.0, epilogue=Identity())

    def test_fp8_quantization_is_refused_by_dense_gemms(self, device):
        sfd = torch.zeros(4, 1, dtype=torch.int16).to(device)
        with pytest.raises(ValueError, match="fp8_einsum"):
            deep_gemm.bf16_gemm_nt(bf16(4, 8, device, 1).tensor, bf16(64, 8, device, 2).tensor, poisoned(4, 64, device),
                                   epilogue=FP8Quantization(sfd))


# what is wrong, the arguments it replaces, the error, what the message says
FAULTS = [
    ("swapped_b", {"b": lambda t: t(40, 24)}, ValueError, r"b has shape \[40, 24\].*k = 40, as in a \[32, 40\].*call bf16_gemm_nn"),
    ("k_differs", {"b": lambda t: t(24, 39)}, ValueError, r"b has shape \[24, 39\]; expected \[n, k\] with k = 40"),
    ("a_is_fp16", {"a": lambda t: t(32, 40).half()}, TypeError, "a has dtype float16; expected bfloat16"),
    ("a_is_3d", {"a": lambda t: t(1, 32, 40)}, ValueError, r"a has shape \[1, 32, 40\]; expected 2 dimensions"),
    ("a_is_a_list", {"a": lambda t: [1]}, TypeError, "a is of type list; expected a tensor"),
    ("a_has_no_unit_stride", {"a": lambda t: t(64, 80)[::2, ::2]}, ValueError, "a of shape .* has strides .*; one of the last two must be 1"),
    ("d_is_fp16", {"d": lambda t: t(32, 24).half()}, TypeError, "d has dtype float16; expected bfloat16 or float32"),
    ("d_has_another_shape", {"d": lambda t: t(24, 32)}, ValueError, r"d has shape \[24, 32\]; expected \[32, 24\], \[m, n\]"),
    ("d_is_m_major", {"d": lambda t: t(24, 32).T}, ValueError, "d has strides .*expected the last one to be 1"),
    ("d_overlaps_itself", {"d": lambda t: t(1, 24).expand(32, 24)}, ValueError, "rows overlap"),
    ("compiled_dims", {"compiled_dims": lambda t: "nkx"}, ValueError, "compiled_dims is 'nkx'"),
    ("alpha_is_a_string", {"alpha": lambda t: "2"}, TypeError, "alpha is of type str; expected a number"),
    ("several", {"a": lambda t: t(32, 40).half(), "compiled_dims": lambda t: "z"}, ValueError, r"(?s)a has dtype float16.*compiled_dims is 'z'"),
]


@pytest.mark.parametrize("changed, error, message", [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_refuses_and_leaves_d_untouched(device, changed, error, message):
    def filled(*shape):
        return torch.full(shape, float("nan"), dtype=torch.bfloat16).to(device)
    arguments = {"a": bf16(32, 40, device, 1).tensor, "b": bf16(24, 40, device, 2).tensor, "d": filled(32, 24)}
    arguments |= {name: make(filled) for name, make in changed.items()}
    with pytest.raises(error, match=message) as caught:
        deep_gemm.bf16_gemm_nt(**arguments)
    assert str(caught.value).startswith("bf16_gemm_nt: ")
    assert arguments["d"].isnan().all()


@pytest.mark.ascend_dialect
class TestParity:
    """A tensor with two unit strides: the Ascend library calls its major ambiguous."""

    def call(self, device):
        a, b, d = bf16(6, 1, device, 1), bf16(5, 1, device, 2), poisoned(6, 5, device, torch.float32)
        deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d)
        return d, product(a, b)

    def test_warns_once_and_computes(self, device):
        with pytest.warns(AscendParityWarning, match=r"bf16_gemm_nt: a of shape \[6, 1\] has strides \[1, 1\].*ASCEND_SIM_STRICT=1 raises") as caught:
            d, expected = self.call(device)
            self.call(device)
        assert len(caught) == 1 and caught[0].filename == __file__
        assert_close(d, expected, ulp=0, floor=1e-30, why="one product each")

    def test_raises_when_strict(self, device, monkeypatch):
        monkeypatch.setenv("ASCEND_SIM_STRICT", "1")
        with pytest.raises(AscendParityError, match="ambiguous"):
            self.call(device)


def test_results_do_not_depend_on_compiled_dims(device):
    a, b = bf16(40, 56, device, 1).tensor, bf16(32, 56, device, 2).tensor
    results = []
    for dims in ("", "m", "nk", "mnk"):
        results.append(poisoned(40, 32, device))
        deep_gemm.bf16_gemm_nt(a, b, results[-1], compiled_dims=dims)
    for other in results[1:]:
        assert_same_bytes(other, results[0])
