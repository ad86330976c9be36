# SPDX-License-Identifier: MIT
"""Is every bf16 output the rounded exact result, except where two orders of fp32 sums straddle a tie? And does the check notice if not?

support/gemm.py checks that in every test of the GEMMs. Here are the cases where no order has to round, so that D is known bit by bit
on all sets of cases, and the check itself.
"""

import deep_gemm
import ml_dtypes
import numpy as np
import pytest
import torch
from support.cases import (
    NORMAL,
    QUANTISED,
    STRIDED,
    UNALIGNED_K,
    UNALIGNED_MN,
    Operand,
    bf16,
    call,
    fp4,
    generator,
    pack_fp4,
    place,
    poisoned,
    sized,
)
from support.compare import assert_same_bytes
from support.gemm import assert_gemm, product, sum_error

pytestmark = pytest.mark.ascend_dialect         # default recipe, any stride: NVIDIA's library refuses most of it

# Small values that every format has, and scales that keep their sums within 24 bits for any k here.
_VALUES = torch.tensor([-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6])
PAIRS = [("bf16", "bf16"), ("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4")]


def small(kind: str, mn: int, k: int, device, seed: int) -> Operand:
    """Values out of -6 .. 6; quantised ones with scales 1, 2, 4."""
    random = generator(seed)
    values = _VALUES[torch.randint(0, len(_VALUES), (mn, k), generator=random)]
    if kind == "bf16":
        return Operand(place(values.bfloat16(), device), values.numpy())
    sf = torch.ldexp(torch.ones(mn, -(-k // 32)), torch.randint(0, 3, (mn, -(-k // 32)), generator=random))
    if kind == "fp8":
        data = values.to(torch.float8_e4m3fn)
    else:
        data = pack_fp4(torch.from_numpy(values.numpy().astype(ml_dtypes.float4_e2m1fn).view(np.uint8)))
    return Operand((place(data, device), place(sf, device)), values.numpy() * sf.repeat_interleave(32, 1)[:, :k].numpy())


def in_turn(cases):
    """Every case with every pair; by default small cases only, each with one pair, in turn."""
    def marks(case, index, number):
        m, n, k = case.values
        is_quick = index % len(PAIRS) == number and max(m * n, n * k, m * k) < 3e6
        return [*case.marks, *([] if is_quick else [pytest.mark.slow])]
    return [pytest.param(pair, *case.values, marks=marks(case, index, number), id=f"{'x'.join(pair)}-{case.id}")
            for index, case in enumerate(sized(cases)) for number, pair in enumerate(PAIRS)]


@pytest.mark.filterwarnings("ignore::ascend_sim.errors.AscendParityWarning")
class TestSumsThatNeedNoRounding:
    def check(self, device, pair, m, n, k, dtype, c=None):
        k += k % 2 if "fp4" in pair else 0
        a, b = small(pair[0], m, k, device, 1), small(pair[1], n, k, device, 2)
        assert (sum_error(a, b) == 0).all()
        d = poisoned(m, n, device, dtype)
        call(deep_gemm, "bf16" if pair[0] == "bf16" else "fp8_fp4", "nt", a, b, d)
        assert_same_bytes(d, product(a, b).float().to(dtype))

    @pytest.mark.parametrize("pair, m, n, k", in_turn([*UNALIGNED_MN, *UNALIGNED_K, *STRIDED, *NORMAL]))
    def test_give_the_rounded_exact_result_in_bf16(self, device, pair, m, n, k):
        self.check(device, pair, m, n, k, torch.bfloat16)

    @pytest.mark.parametrize("pair, m, n, k", in_turn([(130, 257, 2048), (33, 40, 234), (15, 600, 512), (257, 31, 66)]))
    def test_give_the_exact_result_in_fp32(self, device, pair, m, n, k):
        self.check(device, pair, m, n, k, torch.float32)


def test_ties_go_to_even_in_bf16(device):
    """1 + j / 256 for j up to 255 is a tie for every odd j."""
    j = torch.arange(256.0)
    a = torch.stack((torch.ones(256), j)).T.bfloat16()
    b = torch.tensor([[1.0, 2.0**-8], [-1.0, -(2.0**-8)]]).bfloat16()
    d = poisoned(256, 2, device)
    deep_gemm.bf16_gemm_nt(a.contiguous().to(device), b.to(device), d)
    steps = np.rint(np.arange(256) / 2) * 2         # numpy rounds halves to even
    expected = torch.from_numpy(1 + steps / 256)
    assert torch.equal(d.cpu().double(), torch.stack((expected, -expected)).T)


class TestTheCheck:
    """Of the tests of this folder: support.gemm.assert_gemm."""

    @pytest.fixture
    def case(self):
        a, b = bf16(40, 500, "cpu", 1), bf16(50, 500, "cpu", 2)
        return a, b, product(a, b).float().bfloat16()

    def test_accepts_the_rounded_exact_result_and_leaves_little_open(self, case):
        a, b, d = case
        assert assert_gemm(d, a, b) > 0.97

    @pytest.mark.parametrize("make", [lambda: (bf16(64, 4096, "cpu", 1), bf16(64, 4096, "cpu", 2)),
                                      lambda: (QUANTISED["fp8"](64, 7168, "cpu", 1), QUANTISED["fp8"](64, 7168, "cpu", 2)),
                                      lambda: (QUANTISED["fp8"](64, 7168, "cpu", 1), fp4(64, 7168, "cpu", 2))], ids=["bf16", "fp8", "fp8xfp4"])
    def test_leaves_little_open_for_long_sums(self, make):
        a, b = make()
        assert assert_gemm(product(a, b).float().bfloat16(), a, b) > 0.9

    @pytest.mark.parametrize("direction", [-1, 1])
    def test_notices_one_element_that_is_the_neighbour_of_the_right_one(self, case, direction):
        a, b, d = case
        bits = d.view(torch.int16)
        distance = (product(a, b) - d.double()).abs() + 100 * (d.abs() < 8)
        at = divmod(int(distance.argmin()), 50)         # far from a tie, seen from a step of its own size
        bits[at] += direction
        with pytest.raises(AssertionError, match=rf"1 of 2000 elements are off, the first at \[{at[0]}, {at[1]}\]"):
            assert_gemm(d, a, b)

    def test_notices_nan_and_truncation(self, case):
        a, b, d = case
        broken = d.clone()
        broken[7, 9] = float("nan")
        with pytest.raises(AssertionError, match="1 of 2000"):
            assert_gemm(broken, a, b)
        truncated = (product(a, b).float().view(torch.int32) & -65536).view(torch.float32).bfloat16()
        with pytest.raises(AssertionError, match="elements are off"):
            assert_gemm(truncated, a, b)

    def test_takes_c_and_alpha_into_account(self, case):
        a, b, _ = case
        before = torch.randn(40, 50).bfloat16()
        scaled = (product(a, b) * float(np.float32(-0.3))).float().bfloat16()
        d = (scaled.double() + before.double()).bfloat16()
        assert_gemm(d, a, b, alpha=-0.3, before=before)
        once = (product(a, b) * -0.3 + before.double()).bfloat16()
        with pytest.raises(AssertionError, match="elements are off"):
            assert_gemm(once, a, b, alpha=-0.3, before=before)
