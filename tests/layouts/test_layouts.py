# SPDX-License-Identifier: MIT
"""Are scales the same numbers in every library's layout, at the addresses that library reads, and is what cannot be there named?

The oracle computes each byte's address with integers, from the formulas of deep_gemm.md 4, and shares no code with ascend_sim.layouts.
"""

import itertools

import deep_gemm
import numpy as np
import pytest
import torch
from ascend_sim import layouts
from ascend_sim.errors import LayoutError
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import scale_pairs

GRANS = [layouts.plain(1, 32), layouts.plain(1, 128), layouts.plain(128, 128), layouts.plain(8, 32), layouts.sm90(1), layouts.sm90(128),
         layouts.sm100(32), layouts.sm100(128), layouts.ascend()]


def ceil(x, y):
    return -(-x // y)


def blocks(mn, k, gran_mn=128, gran_k=128, groups=1, seed=0):
    """Exponent bytes [G, mn, ceil(k / 32)] that are constant on cells of gran_mn x gran_k; 0, 254 and 255 occur."""
    random = np.random.default_rng(seed)
    coarse = random.choice([0, 1, 100, 126, 127, 128, 254, 255], (groups, ceil(mn, gran_mn), ceil(k, gran_k)))
    return np.repeat(np.repeat(coarse, gran_mn, 1), gran_k // 32, 2)[:, :mn, : ceil(k, 32)]


def memory(codes, layout, k):
    """(dtype, {element address: bits}, shape) of the layout that holds these exponents, by the published formulas."""
    groups, mn, _ = codes.shape
    every = layout.gran_k // 32
    cells = {}
    rows, columns = layout.shape(mn, k)
    padded = ceil(rows, 4) * 4
    for g, r, block in itertools.product(range(groups), range(rows), range(ceil(k, layout.gran_k))):
        code = int(codes[g, r * layout.gran_mn, block * every])
        if layout.kind == "sm100":
            address, shift = g * columns * padded + block // 4 * padded + r, 8 * (block % 4)
        elif layout.kind == "ascend":
            address, shift = g * columns * rows + block // 2 * rows + r, 8 * (block % 2)
        else:
            address = (g * rows + r) * columns + block if layout.gran_mn != 1 or layout.kind == "plain" else g * columns * padded + block * padded + r
            shift, code = 0, {0: 0x00400000, 255: 0x7FC00000}.get(code, code << 23)
        cells[address] = cells.get(address, 0) | code << shift
    return cells, (rows, columns)


def stored(tensor):
    """{element address: bits} of a tensor's own elements."""
    raw = tensor.view({4: torch.int32, 2: torch.int16}[tensor.element_size()])
    width = 8 * tensor.element_size()
    return {sum(i * s for i, s in zip(index, raw.stride())): int(raw[index]) & (1 << width) - 1
            for index in itertools.product(*map(range, raw.shape))}


def source(codes, layout, k):
    return layouts.convert(torch.from_numpy(np.ascontiguousarray(as_plain(codes))), layouts.plain(1, 32), layout, mn=codes.shape[1], k=k)


def as_plain(codes):
    bits = np.where(codes == 0, 0x00400000, np.where(codes == 255, 0x7FC00000, codes << 23))
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("target", GRANS, ids=str)
@pytest.mark.parametrize("origin", GRANS, ids=str)
@pytest.mark.parametrize("mn, k, groups", [(6, 200, 1), (130, 700, 2)])
def test_every_layout_becomes_every_other_bit_by_bit(origin, target, mn, k, groups):
    codes = blocks(mn, k, groups=groups)
    result = layouts.convert(source(codes, origin, k), origin, target, mn=mn, k=k)
    cells, shape = memory(codes, target, k)
    assert result.dtype == target.dtype and tuple(result.shape) == (groups, *shape)
    assert stored(result) == cells
    assert layouts.mismatch(result, target, mn, k) is None


@settings(max_examples=60, deadline=None)
@given(mn=st.integers(1, 40), k=st.integers(1, 300), groups=st.integers(1, 3), seed=st.integers(0, 99), fine=st.sampled_from([32, 128]))
def test_any_size_survives_a_way_round(mn, k, groups, seed, fine):
    codes = blocks(mn, k, 1, fine, groups, seed)
    first = source(codes, layouts.ascend(), k)
    there = layouts.convert(first, layouts.ascend(), layouts.sm100(fine), mn=mn, k=k)
    plain = layouts.convert(there, layouts.sm100(fine), layouts.plain(1, fine), mn=mn, k=k)
    back = layouts.convert(plain, layouts.plain(1, fine), layouts.ascend(), mn=mn, k=k)
    assert torch.equal(back, first) and back.stride() == first.stride()


def test_it_agrees_with_the_casts_and_the_transform():
    x = torch.randn(70, 640)
    fp32 = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True, gran_k=32)[1]
    packed = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True, gran_k=32, use_packed_ue8m0=True)[1]
    assert torch.equal(layouts.convert(fp32, layouts.plain(1, 32), layouts.sm100(32), mn=70, k=640), packed)
    expected = torch.from_numpy(scale_pairs(fp32.numpy()))
    assert torch.equal(layouts.convert(packed, layouts.sm100(32), layouts.ascend(), mn=70, k=640), expected)


@pytest.mark.parametrize("mn, k", [(0, 64), (5, 0), (0, 0)])
@pytest.mark.parametrize("target", GRANS, ids=str)
def test_empty_operands(mn, k, target):
    result = layouts.convert(torch.zeros(layouts.ascend().shape(mn, k), dtype=torch.int16), layouts.ascend(), target, mn=mn, k=k)
    assert tuple(result.shape) == target.shape(mn, k) and result.dtype == target.dtype


class TestGroupsOfRows:
    def test_rows_between_groups_hold_anything_and_come_out_as_zero(self):
        ends, mn, k = [3, 260, 256 * 2 + 7], 768, 300
        codes = blocks(mn, k, 1, 128)
        clean = source(codes, layouts.plain(1, 128), k)[0]
        is_gap = torch.zeros(mn, dtype=torch.bool)
        is_gap[3:256], is_gap[260:512], is_gap[519:768] = True, True, True
        dirty = torch.where(is_gap[:, None], -3.0 * torch.rand(mn, 3), clean)
        result = layouts.convert(dirty, layouts.plain(1, 128), layouts.ascend(), mn=mn, k=k, psum_layout=torch.tensor(ends, dtype=torch.int32))
        expected = layouts.convert(clean, layouts.plain(1, 128), layouts.ascend(), mn=mn, k=k)
        assert torch.equal(result, torch.where(is_gap[:, None], torch.tensor(0, dtype=torch.int16), expected))

    def test_their_alignment_on_nvidia_is_128(self):
        sf = torch.ones(256, 1)
        sf[2:128] = -1
        ends = torch.tensor([2, 256], dtype=torch.int32)
        assert layouts.convert(sf, layouts.plain(), layouts.sm100(), mn=256, k=64, psum_layout=ends, alignment=128)[128:].eq(127).all()
        with pytest.raises(LayoutError, match="row 128"):
            sf[128] = -1
            layouts.convert(sf, layouts.plain(), layouts.sm100(), mn=256, k=64, psum_layout=ends, alignment=128)

    def test_a_coarser_target_ignores_rows_between(self):
        sf = torch.ones(256, 1)
        sf[7:] = torch.rand(249, 1)
        result = layouts.convert(sf, layouts.plain(1, 128), layouts.sm90(128), mn=256, k=64, psum_layout=torch.tensor([7], dtype=torch.int32))
        assert result.tolist() == [[1.0], [0.0]]


class TestGroupsOfK:
    KS = [512, 300, 0, 33]

    @pytest.mark.parametrize("target", [layouts.plain(1, 32), layouts.sm100(32), layouts.ascend()], ids=str)
    @pytest.mark.parametrize("origin", [layouts.plain(1, 32), layouts.sm100(32), layouts.ascend()], ids=str)
    def test_compact_and_padded_geometry(self, origin, target):
        mn, groups = 8, [blocks(8, k_g, 1, 32, seed=k_g)[0] for k_g in self.KS]
        result, expected = layouts.convert_k_grouped(self.tensor(groups, origin, mn), origin, target, mn=mn, ks=self.KS), self.tensor(groups, target, mn)
        assert result.dtype == target.dtype and result.stride() == ((1, mn) if target.kind == "ascend" else (mn, 1))
        assert torch.equal(result.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8))

    def tensor(self, groups, layout, mn):
        """By the formulas of deep_gemm.md 4.3 and 4.4."""
        if layout.kind == "plain":
            return torch.from_numpy(np.concatenate([as_plain(codes).T for codes in groups]))
        per = {"sm100": 4, "ascend": 2}[layout.kind]
        parts = []
        for codes in groups:
            size = ceil(codes.shape[1], 4) if layout.kind == "sm100" else ceil(codes.shape[1], 8) * 4
            wide = np.zeros((mn, size * per), np.uint8)
            wide[:, : codes.shape[1]] = codes
            parts.append(wide.view("<i4" if per == 4 else "<i2"))
        whole = torch.from_numpy(np.concatenate(parts, 1))
        return whole if layout.kind == "ascend" else whole.T

    def test_from_sm90_to_ascend_and_back(self):
        codes = [blocks(4, k_g, 1, 128, seed=k_g)[0] for k_g in (256, 384)]
        sf = torch.from_numpy(np.concatenate([as_plain(c[:, ::4]).T for c in codes]))
        there = layouts.convert_k_grouped(sf, layouts.sm90(), layouts.ascend(), mn=4, ks=[256, 384])
        assert there.shape == (4, (256 + 512) // 64) and there.stride() == (1, 4)
        assert torch.equal(layouts.convert_k_grouped(there, layouts.ascend(), layouts.sm90(), mn=4, ks=[256, 384]).view(torch.int32), sf.view(torch.int32))

    def test_an_error_names_the_group(self):
        sf = torch.ones(2 + 3, 4)
        sf[3, 2] = 1.5
        with pytest.raises(LayoutError, match="the scale of group 1, row 2, block 1 of k is 1.5, which is no power of two"):
            layouts.convert_k_grouped(sf, layouts.plain(), layouts.ascend(), mn=4, ks=[256, 300])


class TestWhatCannotBeRepresented:
    @pytest.mark.parametrize("value, reason", [(3.0, "is 3, which is no power of two"), (-2.0, "is -2, which is negative"), (0.0, "is 0, and UE8M0 has no zero"),
                                               (float("inf"), "is inf, and UE8M0 has no infinity"), (2.0**-130, "is 7.34683969e-40, which is below 2.-127"),
                                               (float(np.float32(1) + np.float32(2)**-23), "is 1.00000012, which is no power of two")])
    def test_the_first_is_named_with_its_reason(self, value, reason):
        sf = torch.ones(2, 5, 3)
        sf[1, 2, 1] = sf[1, 4, 0] = value
        for gran_k, target in ((32, layouts.ascend()), (128, layouts.sm100(128))):
            with pytest.raises(LayoutError, match=f"the scale of group 1, row 2, block 1 of k {reason}.*2 of 30 scales are no such"):
                layouts.convert(sf, layouts.plain(1, gran_k), target, mn=5, k=3 * gran_k)

    def test_scales_that_differ_where_the_target_has_one(self):
        codes = blocks(4, 256, 1, 128)
        codes[0, 3, 6] = 90
        packed = source(codes, layouts.ascend(), 256)
        with pytest.raises(LayoutError, match="the scale of row 3, block 6 of k is 7.27595761e-12, the scale of row 3, block 4 of k .*one scale for 128 elements of k"):
            layouts.convert(packed, layouts.ascend(), layouts.sm90(), mn=4, k=256)
        rows = torch.ones(130, 1)
        rows[129] = 2
        with pytest.raises(LayoutError, match="row 129, block 0 of k is 2, the scale of row 128, .* one scale for 128 rows"):
            layouts.convert(rows, layouts.plain(), layouts.sm90(128), mn=130, k=64)

    def test_granularities_that_do_not_divide(self):
        with pytest.raises(LayoutError, match="gran_k = 48 and 32 of ascend"):
            layouts.convert(torch.ones(4, 2), layouts.plain(1, 48), layouts.ascend(), mn=4, k=96)


@pytest.mark.parametrize("arguments, error, message", [
    ({"sf": torch.ones(4, 2).int()}, TypeError, "sf is int32; expected a tensor of float32"),
    ({"sf": torch.ones(4, 3)}, ValueError, r"sf has shape \[4, 3\]; expected \[4, 2\] for plain\(gran_mn=1, gran_k=32\), mn = 4, k = 64"),
    ({"source": "sm90"}, TypeError, r"source is 'sm90'; expected a Layout: plain\(\), sm90\(\)"),
    ({"target": None}, TypeError, "target is None; expected a Layout"),
    ({"mn": -1}, ValueError, "mn is -1; expected an int of at least 0"),
    ({"sf": torch.ones(1, 4, 2), "psum_layout": torch.tensor([4], dtype=torch.int32)}, ValueError, "expected two dimensions"),
    ({"psum_layout": torch.tensor([4.0])}, TypeError, "psum_layout is .*; expected an int32 tensor"),
])
def test_refuses(arguments, error, message):
    given_ = {"sf": torch.ones(4, 2), "source": layouts.plain(1, 32), "target": layouts.ascend(), "mn": 4, "k": 64} | arguments
    with pytest.raises(error, match=message):
        layouts.convert(given_.pop("sf"), given_.pop("source"), given_.pop("target"), **given_)


@pytest.mark.parametrize("make, message", [(lambda: layouts.sm90(2), "sm90: gran_mn is 2; expected 1 or 128"),
                                           (lambda: layouts.sm100(64), "sm100: gran_k is 64; expected 32 or 128")])
def test_layouts_that_no_library_has(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_on_the_device():
    pytest.importorskip("ascend_sim._C")
    codes = blocks(9, 300, 1, 128)
    there = layouts.convert(source(codes, layouts.plain(1, 128), 300)[0].to("npu"), layouts.plain(1, 128), layouts.ascend(), mn=9, k=300)
    assert there.device.type == "npu" and torch.equal(there.cpu(), source(codes, layouts.ascend(), 300)[0])
    with pytest.raises(LayoutError, match="row 1"):
        layouts.convert(torch.tensor([[1.0], [3.0]]).to("npu"), layouts.plain(), layouts.ascend(), mn=2, k=32)
