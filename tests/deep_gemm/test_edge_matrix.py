# SPDX-License-Identifier: MIT
"""Edge cases that every dense GEMM treats alike, row by row of deep_gemm.md 21, on every backend.

| row | here, or where it is tested |
|---|---|
| M == 0 or N == 0 | TestMOrNIsZero |
| K == 0 | TestKIsZero |
| size-1 last dimension | TestLastDimensionOfSizeOne; strict: test_bf16_gemm.py, TestParity |
| odd number of K blocks | TestScales.test_the_high_byte_of_an_odd_number_of_blocks_counts_for_nothing |
| K not a multiple of the scale group | TestScales.test_a_tail_of_k_has_its_own_scale_and_nothing_behind_it_counts |
| SF with sign or mantissa bits | TestScales.test_values_that_are_no_powers_of_two, .test_values_that_are |
| c not aliasing d | TestC |
| non-contiguous A or B | TestStrides; gaps full of NaN: the STRIDED cases of test_{bf16,fp8,fp8_fp4}_gemm.py |
| misaligned D base or stride | TestMisalignedD |
| SF transform with mn == 0 or k == 0 | test_an_empty_scale_transform; without batch: test_transform_sf.py |
| FP4 packed axis odd | TestFp4Extents |
| fp4(A) x fp8(B) | TestFp4TimesFp8; test_dialects.py |

Rows of m-grouped, k-grouped, einsum, MQA and Mega MoE functions belong to tests of those functions.
"""

import contextlib
import warnings

import deep_gemm
import pytest
import torch
from ascend_sim.errors import AscendParityError, AscendParityWarning
from support.cases import QUANTISED, SUFFIXES, Operand, bf16, call, place, poisoned
from support.compare import assert_same_bytes
from support.gemm import assert_gemm

pytestmark = pytest.mark.ascend_dialect         # default recipe, any stride: NVIDIA's library refuses most of it

PAIRS = [("bf16", "bf16"), ("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4")]
MAKE = QUANTISED | {"bf16": bf16}
every_pair = pytest.mark.parametrize("pair", PAIRS, ids="x".join)
every_quantised_pair = pytest.mark.parametrize("pair", PAIRS[1:], ids="x".join)
ambiguous_is_fine = pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")


def operands(pair, m, n, k, device, **keywords) -> tuple[Operand, Operand]:
    return MAKE[pair[0]](m, k, device, 1, **keywords), MAKE[pair[1]](n, k, device, 2, **keywords)


def gemm(pair, suffix, a, b, d, **keywords):
    call(deep_gemm, "bf16" if pair[0] == "bf16" else "fp8_fp4", suffix, a, b, d, **keywords)


@contextlib.contextmanager
def nothing_differs():
    """No call in the `with` block is one that the Ascend library refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", AscendParityWarning)
        yield


def random_d(m, n, device, dtype=torch.bfloat16):
    return torch.randn(m, n, generator=torch.Generator().manual_seed(3)).to(dtype).to(device)


@every_pair
@ambiguous_is_fine
class TestMOrNIsZero:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("m, n", [(0, 8), (8, 0), (0, 0)])
    @pytest.mark.parametrize("k", [0, 64])
    def test_nothing_is_written(self, device, pair, suffix, m, n, k):
        a, b = operands(pair, m, n, k, device)
        around = poisoned(8, 8, device)
        gemm(pair, suffix, a, b, around[:m, :n])
        gemm(pair, suffix, a, b, around[:m, :n], c=torch.ones(m, n).bfloat16().to(device), alpha=2.0)
        assert around.isnan().all()

    @pytest.mark.parametrize("m, n", [(0, 8), (8, 0)])
    def test_what_is_wrong_is_still_refused(self, device, pair, m, n):
        a, b = operands(pair, m, n, 64, device)
        with pytest.raises(ValueError, match=r"d has shape \[9, 8\]"):
            gemm(pair, "nt", a, b, poisoned(9, 8, device))
        _, longer = operands(pair, m, n, 128, device)
        with pytest.raises(ValueError, match="b has shape .* with k = 64"):
            gemm(pair, "nt", a, longer, poisoned(m, n, device))


@every_pair
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
class TestKIsZero:
    def operands(self, pair, device):
        """With strides that are not both 1, which no library calls ambiguous."""
        a, b = operands(pair, 6, 4, 64, device)

        def emptied(x):
            return Operand(tuple(part[:, :0] for part in x.tensor) if isinstance(x.tensor, tuple) else x.tensor[:, :0], x.values[:, :0])
        return emptied(a), emptied(b)

    def gemm(self, pair, a, b, d, **keywords):
        with nothing_differs():
            gemm(pair, "nt", a, b, d, **keywords)

    @pytest.mark.parametrize("alpha", [None, 3.0])
    def test_without_c_d_is_zero_and_nothing_else(self, device, pair, dtype, alpha):
        around = poisoned(8, 8, device, dtype)
        self.gemm(pair, *self.operands(pair, device), around[:6, :4], alpha=alpha)
        assert (around[:6, :4] == 0).all()
        around[:6, :4] = float("nan")
        assert around.isnan().all()

    def test_c_that_is_d_stays(self, device, pair, dtype):
        d = random_d(6, 4, device, dtype)
        before = d.clone()
        self.gemm(pair, *self.operands(pair, device), d, c=d, alpha=0.5)
        assert_same_bytes(d, before)

    def test_another_c_is_copied(self, device, pair, dtype):
        d, c = poisoned(6, 4, device, dtype), random_d(6, 4, device, dtype)
        before = c.clone()
        self.gemm(pair, *self.operands(pair, device), d, c=c)
        assert_same_bytes(d, before)
        assert_same_bytes(c, before)


@every_pair
class TestLastDimensionOfSizeOne:
    def test_of_n(self, device, pair):
        a, b = operands(pair, 34, 1, 64, device)
        d = poisoned(34, 1, device)
        with pytest.warns(AscendParityWarning, match=r"d of shape \[34, 1\] has strides \[1, 1\].*ambiguous; taken as N-major"):
            gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    def test_of_k(self, device, pair):
        k = 2 if "fp4" in pair else 1       # two codes are stored as one byte
        a, b = operands(pair, 34, 20, k, device)
        d = poisoned(34, 20, device)
        stored = r"\[34, 1\]" if pair[0] == "fp4" or k == 1 else r"\[20, 1\]"
        with pytest.warns(AscendParityWarning, match=rf"of shape {stored} has strides \[1, 1\].*ambiguous; taken as K-major"):
            gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    def test_a_row_with_longer_stride_is_not_ambiguous(self, device, pair):
        a, b = operands(pair, 1, 20, 64, device)        # strides (K, 1)
        d = poisoned(1, 20, device)
        with nothing_differs():
            gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    @ambiguous_is_fine
    def test_one_of_everything(self, device, pair):
        k = 2 if "fp4" in pair else 1
        a, b = operands(pair, 1, 1, k, device)
        d = poisoned(1, 1, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)


@every_quantised_pair
class TestScales:
    @pytest.mark.parametrize("k", [2, 32, 64 + 32, 64 + 34])
    @ambiguous_is_fine
    def test_the_high_byte_of_an_odd_number_of_blocks_counts_for_nothing(self, device, pair, k):
        a, b = operands(pair, 20, 24, k, device, sf_dtype=torch.int16)
        if -(-k // 32) % 2:
            for operand in (a, b):
                operand.tensor[1][:, -1] |= -256        # a NaN scale
        d = poisoned(20, 24, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    @pytest.mark.parametrize("k", [2, 30, 34, 98])
    @ambiguous_is_fine
    def test_a_tail_of_k_has_its_own_scale_and_nothing_behind_it_counts(self, device, pair, k):
        a, b = operands(pair, 20, 24, k, device, gap=40)        # lines full of NaN behind k
        d = poisoned(20, 24, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    def test_a_tail_without_its_scale_is_refused(self, device, pair):
        a, b = operands(pair, 20, 24, 34, device)
        d = poisoned(20, 24, device)
        with pytest.raises(ValueError, match=r"sfa .*has shape \[20, 1\]; expected \[20, 2\]"):
            gemm(pair, "nt", Operand((a.tensor[0], a.tensor[1][:, :1].contiguous()), a.values), b, d)
        assert d.isnan().all()

    @pytest.mark.parametrize("side", [0, 1], ids=["a", "b"])
    @pytest.mark.parametrize("value", [-1.0, 3.0, 1 + 2.0**-23, -0.0, float("nan"), float("-inf"), 2.0**-130])
    def test_values_that_are_no_powers_of_two(self, device, pair, side, value):
        pair_of_operands = operands(pair, 20, 24, 66, device)
        pair_of_operands[side].tensor[1][19, 2] = value
        d = poisoned(20, 24, device)
        with pytest.raises(ValueError, match=rf"sf{'ab'[side]} \({'ab'[side]}\[1\]\) is .* at \[19, 2\].*expected non-negative powers of two"):
            gemm(pair, "nt", *pair_of_operands, d)
        assert d.isnan().all()

    @pytest.mark.parametrize("value, factor", [(0.0, 2.0**-127), (2.0**-126, 2.0**-126), (2.0**127, 2.0**127), (float("inf"), float("nan"))])
    def test_values_that_are(self, device, pair, value, factor):
        """Exponent byte 0 is 2^-127, 255 is NaN; the other operand keeps the product in the middle of fp32's range."""
        ones = torch.ones(1, 64)
        data = [ones.to(torch.float8_e4m3fn) if kind == "fp8" else torch.full((1, 32), 0x22, dtype=torch.int8) for kind in pair]
        other = 2.0**127 if factor < 1 else 2.0**-126 if factor > 1 else 1.0
        sf = [torch.full((1, 2), scale).to(device) for scale in (value, other)]
        d = poisoned(1, 1, device, torch.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AscendParityWarning)
            deep_gemm.fp8_fp4_gemm_nt((data[0].to(device), sf[0]), (data[1].to(device), sf[1]), d)
        assert torch.equal(d.cpu(), torch.tensor([[64 * factor * other]]).float()) or (factor != factor and d.isnan().all())


@every_pair
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
class TestC:
    def test_that_is_not_d_is_copied_first_and_stays(self, device, pair, dtype):
        a, b = operands(pair, 33, 40, 64, device)
        c = place(random_d(33, 40, "cpu", dtype), device, gap=5)        # with other strides than d
        before, d, in_place = c.clone(), poisoned(33, 40, device, dtype), c.clone()
        gemm(pair, "nt", a, b, d, c=c)
        gemm(pair, "nt", a, b, in_place, c=in_place)
        assert_gemm(d, a, b, before=before.cpu())
        assert_same_bytes(in_place, d)
        assert_same_bytes(c, before)


@every_pair
class TestStrides:
    def test_one_line_seen_as_many(self, device, pair):
        """Outer stride 0 of the data, and of the scales: every row of A, and of B, is the same."""
        a, b = operands(pair, 1, 1, 130, device)

        def spread(x, rows):
            parts = x.tensor if isinstance(x.tensor, tuple) else (x.tensor,)
            parts = tuple(part.expand(rows, -1) for part in parts)
            return Operand(parts if len(parts) > 1 else parts[0], x.values.repeat(rows, axis=0))
        a, b = spread(a, 37), spread(b, 21)
        d = poisoned(37, 21, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    def test_one_column_seen_as_many(self, device, pair):
        """Outer stride 0 of MN-major data: all k are the same."""
        a, b = operands(pair, 34, 40, 2, device, mn_major=True)

        def spread(x):
            data = x.tensor[0] if isinstance(x.tensor, tuple) else x.tensor
            column = data[:, :1].expand(-1, 70)
            values = column.float().cpu() if data.dtype != torch.int8 else torch.from_numpy(raw_values(data[:, :1]).copy())[:, None].expand(-1, 70)
            return Operand((column, torch.ones(x.values.shape[0], 3).to(device)) if isinstance(x.tensor, tuple) else column, values.contiguous().numpy())
        a, b = spread(a), spread(b)
        d = poisoned(34, 40, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    @pytest.mark.parametrize("mn_major", [False, True], ids=["k_major", "mn_major"])
    def test_lines_farther_apart_than_a_field_of_an_instruction_holds(self, device, pair, mn_major):
        """Row strides of the operands, their scales, C and D beyond 2^19 elements; most of it is never touched."""
        far = 2**19 + 8 + 4 * mn_major
        m, n, k = 18, 20, 66

        def spread(x):
            memory = torch.empty(far * max(x.shape), dtype=x.dtype, device=x.device)
            view = memory.as_strided(x.shape, (far, 1) if x.stride(1) == 1 else (1, far))
            view.copy_(x)
            return view
        a, b = (Operand(tuple(map(spread, x.tensor)) if isinstance(x.tensor, tuple) else spread(x.tensor), x.values)
                for x in operands(pair, m, n, k, device, mn_major=mn_major))
        d, c = spread(poisoned(m, n, device)), spread(random_d(m, n, device))
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)
        gemm(pair, "nt", a, b, d, c=c)
        assert_gemm(d, a, b, before=c.cpu())

    def test_lines_that_overlap(self, device, pair):
        """Windows over one line, two elements (or bytes) apart."""
        x, y = operands(pair, 1, 1, 256, device)

        def windows(operand, rows, k):
            data = operand.tensor[0] if isinstance(operand.tensor, tuple) else operand.tensor
            per_byte = 2 if data.dtype == torch.int8 else 1
            view = data.as_strided((rows, k // per_byte), (2, 1))
            values = torch.from_numpy(raw_values(data)).as_strided((rows, k), (2 * per_byte, 1)).contiguous().numpy()
            return Operand((view, torch.ones(rows, -(-k // 32)).to(device)) if isinstance(operand.tensor, tuple) else view, values)
        a, b = windows(x, 35, 64), windows(y, 18, 64)
        d = poisoned(35, 18, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)


def raw_values(data):
    """float32 values of a line of data without its scales. e2m1: 0 .5 1 1.5 2 3 4 6, sign in bit 3, the even element low."""
    data = data.cpu()
    if data.dtype != torch.int8:
        return data.float().flatten().numpy()
    byte = data.flatten().view(torch.uint8)
    codes = torch.stack((byte & 15, byte >> 4), dim=1).flatten().long()
    magnitudes = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    return (magnitudes[codes & 7] * (1 - 2.0 * (codes >> 3))).numpy()


@every_pair
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
class TestMisalignedD:
    """The chip stores straight from L0C where D is aligned to 32 bytes, through UB where it is not."""

    # elements before d, row stride
    @pytest.mark.parametrize("offset, stride", [(1, 48), (0, 41), (3, 43), (8, 48)])
    def test_has_the_same_bits_and_nothing_around_it_is_written(self, device, pair, dtype, offset, stride):
        a, b = operands(pair, 33, 40, 64, device)
        aligned = poisoned(33, 40, device, dtype)
        gemm(pair, "nt", a, b, aligned)
        memory = torch.full((offset + 34 * stride,), float("nan"), dtype=dtype).to(device)
        d = memory.as_strided((33, 40), (stride, 1), offset)
        gemm(pair, "nt", a, b, d)
        assert_same_bytes(d, aligned)
        assert_gemm(d, a, b)
        d.fill_(float("nan"))
        assert memory.isnan().all()

    @pytest.mark.parametrize("offset, stride", [(1, 41), (5, 48)])
    def test_accumulates_alike(self, device, pair, dtype, offset, stride):
        a, b = operands(pair, 33, 40, 64, device)
        before = random_d(33, 40, device, dtype)
        aligned = before.clone()
        gemm(pair, "nt", a, b, aligned, c=aligned)
        d = torch.full((offset + 34 * stride,), float("nan"), dtype=dtype).to(device).as_strided((33, 40), (stride, 1), offset)
        d.copy_(before)
        gemm(pair, "nt", a, b, d, c=d)
        assert_same_bytes(d, aligned)


@pytest.mark.parametrize("mn, k", [(0, 64), (64, 0), (0, 0)])
@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int16], ids=["fp32", "int16"])
def test_an_empty_scale_transform(device, mn, k, batch, dtype):
    shape = (mn, -(-k // (32 if dtype == torch.float32 else 64)))
    sf = torch.empty(shape if batch is None else (batch, *shape), dtype=dtype).to(device)
    result = deep_gemm.transform_sf_into_required_layout(sf, mn, k, (1, 1, 32), num_groups=batch, is_sfa=True)
    pairs = -(-k // 64)
    assert result.dtype == torch.int16 and result.shape == (*(() if batch is None else (batch,)), mn, pairs)
    assert result.numel() == 0 and result.device.type == device.type
    assert result.stride()[-2] == 1


@pytest.mark.parametrize("pair", [("fp8", "fp4"), ("fp4", "fp4")], ids="x".join)
class TestFp4Extents:
    @pytest.mark.parametrize("k", [2, 6, 30, 62, 66, 126, 130])
    @ambiguous_is_fine
    def test_any_even_k(self, device, pair, k):
        a, b = operands(pair, 7, 9, k, device)
        d = poisoned(7, 9, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    @pytest.mark.parametrize("n", [2, 6, 30, 66, 130])
    @ambiguous_is_fine
    def test_any_even_n_when_packed_along_n(self, device, pair, n):
        a, b = operands(pair, 10, n, 33, device, mn_major=True, gap=1)
        d = poisoned(10, n, device)
        gemm(pair, "nt", a, b, d)
        assert_gemm(d, a, b)

    def test_an_odd_k_of_fp8_cannot_meet_it(self, device, pair):
        if pair[0] == "fp4":
            pytest.skip("two FP4 operands store even sizes only")
        (a, _), (_, b) = operands(("fp8", "fp8"), 7, 9, 33, device), operands(pair, 7, 9, 34, device)
        d = poisoned(7, 9, device)
        with pytest.raises(ValueError, match=r"b has shape \[9, 34\] .FP4, stored \[9, 17\].; expected \[n, k\] with k = 33"):
            gemm(pair, "nt", a, b, d)
        assert d.isnan().all()


@pytest.mark.parametrize("m, n, k", [(32, 48, 64), (0, 8, 64), (2, 2, 4)])
class TestFp4TimesFp8:
    """Only CUDA has it: computed with a warning, refused when strict."""

    def operands(self, device, m, n, k):
        return operands(("fp4", "fp4"), m, n, k, device)[0], operands(("fp8", "fp8"), m, n, k, device)[1]

    @ambiguous_is_fine
    def test_strict(self, device, m, n, k, monkeypatch):
        monkeypatch.setenv("ASCEND_SIM_STRICT", "1")
        a, b = self.operands(device, m, n, k)
        d = poisoned(m, n, device)
        with pytest.raises((AscendParityError, TypeError), match="FP4"):
            gemm(("fp4", "fp8"), "nt", a, b, d)
        assert d.isnan().all()

    def test_otherwise(self, device, m, n, k):
        a, b = self.operands(device, m, n, k)
        d = poisoned(m, n, device)
        with pytest.warns(AscendParityWarning):
            gemm(("fp4", "fp8"), "nt", a, b, d)
        assert_gemm(d, a, b)
