# SPDX-License-Identifier: MIT
"""Loads, stores, gathers, broadcasts and permutations: every lane where it belongs, and nothing else touched."""

import numpy as np
import pytest
from support.edges import edges
from support.simd import DTYPES, FLOATS, INTS, aligned, check, edge_masks, edge_values, empty, full_mask, lanes, mask_of, random_mask, random_values

ALL = FLOATS + INTS
WIDTHS = ("f32", "bf16", "u8")


def memory(suffix, count, seed=1):
    """Aligned elements holding random bits."""
    data = aligned(count * np.dtype(DTYPES[suffix]).itemsize)
    data[:] = random_values("u8", len(data), seed)
    return data.view(DTYPES[suffix])


def bits(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


LOADS = {
    "asc_loadalign": lambda x, n: x[:n],
    "asc_loadalign_brc_elem": lambda x, n: np.repeat(x[:1], n),
    "asc_loadalign_unpack": lambda x, n: np.stack([bits(x[: n // 2]), 0 * bits(x[: n // 2])], axis=1).ravel(),
    "asc_loadalign_upsample": lambda x, n: np.repeat(x[: n // 2], 2),
    "asc_loadalign_downsample": lambda x, n: x[: 2 * n : 2],
    "asc_loadalign_brc_datablock": lambda x, n: np.tile(x[: n // 8], 8),
    "asc_loadalign_brc_elem2datablock": lambda x, n: np.repeat(x[:8], n // 8),
}


@pytest.mark.parametrize("suffix", WIDTHS)
@pytest.mark.parametrize("name", LOADS)
def test_load_distributions(simd, name, suffix):
    n = lanes(suffix)
    ub = memory(suffix, 4 * n)
    offset = n // 2
    got = empty(suffix)
    simd(f"{name}_{suffix}", got, ub, offset)
    check(bits(got), bits(LOADS[name](ub[offset:], n)), what=name)


def test_load_of_bytes_with_three_zeros_after_each(simd):
    ub = memory("u8", 256)
    got = empty("u8")
    simd("asc_loadalign_unpack4_u8", got, ub, 64)
    assert (got.view(np.uint32) == ub[64:128]).all()


@pytest.mark.parametrize("suffix", WIDTHS)
def test_de_interleaving_load(simd, suffix):
    n = lanes(suffix)
    ub = memory(suffix, 4 * n)
    even, odd = empty(suffix), empty(suffix)
    simd(f"asc_loadalign_deintlv_{suffix}", even, odd, ub, n)
    check(bits(even), bits(ub[n : 3 * n : 2]))
    check(bits(odd), bits(ub[n + 1 : 3 * n : 2]))


@edges("strides bounds", "asc_loadalign{,_brc_elem,_unpack,_upsample,_downsample,_brc_datablock,_brc_elem2datablock}_postupdate")
@pytest.mark.parametrize("suffix", WIDTHS)
@pytest.mark.parametrize("name", LOADS)
def test_post_update_forms_load_the_same_and_advance(simd, name, suffix):
    n = lanes(suffix)
    ub = memory(suffix, 4 * n)
    for step in (n // 2, 0, 1, -n, 2**20):
        got = empty(suffix)
        assert simd(f"{name}_postupdate_{suffix}", got, ub, step) == step
        check(bits(got), bits(LOADS[name](ub, n)), what=name)


@edges("strides bounds", "asc_loadalign_unpack4_postupdate")
def test_post_update_load_of_bytes_with_three_zeros_after_each(simd):
    ub = memory("u8", 256)
    for step in (64, 0, 1, -64, 2**20):
        got = empty("u8")
        assert simd("asc_loadalign_unpack4_postupdate_u8", got, ub, step) == step
        assert (got.view(np.uint32) == ub[:64]).all()


@edges("bounds", "asc_loadalign{,_brc_elem,_unpack,_unpack4,_upsample,_downsample,_brc_datablock,_brc_elem2datablock,_deintlv}")
@pytest.mark.parametrize("suffix", ["f32", "bf16"])
def test_a_load_needs_whole_units_or_whole_elements(simd, suffix):
    if simd.level == "aarch64":
        pytest.skip("its copy of an array is always aligned")
    size = np.dtype(DTYPES[suffix]).itemsize
    whole = {"asc_loadalign": 32, "asc_loadalign_brc_datablock": 32, "asc_loadalign_deintlv": 32}
    ub = memory("u8", 4096)
    for name in (*LOADS, "asc_loadalign_deintlv"):
        registers = [empty(suffix)] * (2 if name.endswith("deintlv") else 1)
        for shift in (0, 1, size // 2, size, 16, 31, 32, 33):
            assert simd(f"{name}_{suffix}", *registers, ub[shift:], 0) == (shift % whole.get(name, size) != 0), (name, shift)
    assert simd("asc_loadalign_unpack4_u8", empty("u8"), ub[1:], 0) == 0


@edges("lanes bounds", "asc_storealign asc_storealign_{pack,pack_quarter,postupdate}")
@edges("bounds", "asc_{gather,scatter}")
def test_a_store_needs_whole_units_or_whole_elements(simd):
    if simd.level == "aarch64":
        pytest.skip("its copy of an array is always aligned")
    ub, x, mask = memory("u8", 4096), empty("u8"), full_mask()
    for name, unit in (("asc_storealign_f32", 32), ("asc_storealign_bf16", 32), ("asc_storealign_u8", 32), ("asc_storealign_pack_u32", 2),
                       ("asc_storealign_pack_u16", 1), ("asc_storealign_pack_quarter_u32", 1)):
        for shift in (0, 1, 2, 4, 16, 31, 32, 33):
            before = ub.copy()
            faulted = simd(name, ub[shift:], x, 0, mask)
            assert faulted == (shift % unit != 0) and (not faulted or (ub == before).all()), (name, shift)
    for name, unit in (("asc_storealign_1st_f32", 4), ("asc_storealign_1st_bf16", 2), ("asc_storealign_1st_u8", 1)):
        assert [simd(name, ub[shift:], x, 0) for shift in (0, 1, 2, 4)] == [shift % unit != 0 for shift in (0, 1, 2, 4)]
    index = np.zeros(256, np.uint8)
    for name, unit in (("f32", 4), ("f16", 2)):
        assert [simd(f"asc_gather_{name}", x, ub[shift:], index, mask) for shift in (0, 1, 2, 4)] == [shift % unit != 0 for shift in (0, 1, 2, 4)]
        assert [simd(f"asc_scatter_{name}", ub[shift:], x, index, mask) for shift in (0, 1, 2, 4)] == [shift % unit != 0 for shift in (0, 1, 2, 4)]


@edges("strides", "asc_storealign_postupdate")
@pytest.mark.parametrize("suffix", WIDTHS)
def test_post_update_stores_write_at_the_old_address_and_advance(simd, suffix):
    n, x = lanes(suffix), random_values(suffix, lanes(suffix), 3)
    for step in (n, 0, -n, 1, 2**20):
        for on in edge_masks(suffix):
            ub = memory(suffix, 2 * n)
            want = np.where(on, bits(x), bits(ub[:n]))
            after = bits(ub[n:]).copy()
            assert simd(f"asc_storealign_postupdate_{suffix}", ub, x, step, mask_of(on, 256 // n)) == step
            assert (bits(ub[:n]) == want).all() and (bits(ub[n:]) == after).all()


@edges("values", "asc_update_addr_reg_b{8,16,32}")
def test_address_registers_count_elements(simd):
    ub, got = memory("u8", 2048), np.zeros(768, np.uint8)
    for offset in (64, 0, 32, -64):
        simd("load_by_address_register", got, ub, 512, offset)
        for register, size in enumerate((1, 2, 4)):
            assert (got[256 * register :][:256] == ub[512 + size * offset :][:256]).all(), (offset, size)


@edges("lanes bounds", "asc_storealign_intlv")
@pytest.mark.parametrize("suffix", ["u16", "f32"])
def test_interleaving_store(simd, suffix):
    n = lanes(suffix)
    a, b = random_values(suffix, n, 3), random_values(suffix, n, 4)
    for on in edge_masks(suffix):
        ub = memory(suffix, 4 * n)
        want = ub.copy()
        inside = want[n : 3 * n].reshape(n, 2)
        inside[on] = np.stack([a, b], 1)[on]
        assert simd(f"storealign_intlv_{suffix}", ub, a, b, n, mask_of(on, 256 // n)) == 0
        check(bits(ub), bits(want))
    before = ub.copy()
    assert simd(f"storealign_intlv_{suffix}", ub, a, b, 1, full_mask()) == 1 and (bits(ub) == bits(before)).all()


@edges("lanes indices bounds", "asc_gather_datablock")
def test_gather_of_32_byte_blocks(simd):
    ub = memory("bf16", 16 * 40)
    block = np.random.default_rng(8).permutation(40)[:8]
    index = np.full(64, 2**32 - 1, np.uint32)               # lanes beyond the eighth say nothing
    index[:8] = block * 32
    got = empty("bf16")
    simd("gather_datablock_bf16", got, ub, index, None)
    check(bits(got), bits(ub.reshape(40, 16)[block].ravel()))
    on = np.arange(64) % 3 == 0
    index[:8] = np.where(on[:8], block * 32, 2**31)         # blocks that are off touch no memory
    simd("gather_datablock_bf16", got, ub, index, mask_of(on, 4))
    check(bits(got), np.where(np.repeat(on[:8], 16), bits(ub.reshape(40, 16)[block].ravel()), 0).astype(np.uint16))
    for on in edge_masks("f32"):
        for block in (np.zeros(8, int), np.full(8, 39), np.arange(8)):
            index = np.where(on, np.resize(block * 32, 64), 2**31).astype(np.uint32)
            simd("gather_datablock_bf16", got, ub, index, mask_of(on, 4))
            check(bits(got), np.where(np.repeat(on[:8], 16), bits(ub.reshape(40, 16)[block].ravel()), 0).astype(np.uint16))
    for offset in (16, 1, 31):
        index[:8] = offset
        assert simd("gather_datablock_faults", ub, index) == 1


RAW_FORMS = {"vadd": "f16", "vsub": "f32", "vmul": "bf16", "vdiv": "f32", "vmax": "f32", "vmin": "s16", "vand": "u32", "vor": "u16", "vxor": "u8", "vshl": "s32",
             "vshr": "s16", "vabsdif": "f32", "vadds": "s32", "vmuls": "f32", "vmaxs": "bf16", "vmins": "u16", "vshls": "u32", "vshrs": "s32", "vln": "f32",
             "vsqrt": "f32", "vabs": "s16", "vneg": "f16", "vrelu": "f32", "vnot": "u8", "vexp": "f32", "vaxpy": "f32"}


@edges("values lanes", """v{add,sub,mul,div,max,min,and,or,xor,shl,shr,absdif,adds,muls,maxs,mins,shls,shrs,ln,sqrt,abs,neg,relu,not,exp,axpy}""")
@pytest.mark.parametrize("name", RAW_FORMS)
def test_raw_forms_keep_or_clear_masked_lanes_of_the_plain_instruction(simd, name):
    """The plain instruction has its oracle in test_simd_arithmetic.py; here: what its lanes become under each mode."""
    suffix = RAW_FORMS[name]
    n = lanes(suffix)
    for seed, on in enumerate([*edge_masks(suffix), random_mask(suffix, 5)[0]]):
        mask = mask_of(on, 256 // n)
        a = np.resize(np.concatenate([edge_values(suffix), random_values(suffix, n, seed)]), n)
        b = np.roll(np.resize(edge_values(suffix), n), seed)
        if "sh" in name:
            b = (np.arange(n) % 18).astype(DTYPES[suffix]) if name in ("vshl", "vshr") else np.full(n, 3 * seed, DTYPES[suffix])
        out = np.concatenate([random_values(suffix, n, 90 + seed), random_values(suffix, 2 * n, 91)])
        old = out[:n].copy()
        simd(f"{name}_modes_{suffix}", out, a, b, mask)
        merged, zeroed, plain = out.reshape(3, n)
        check(bits(zeroed), bits(plain))
        check(bits(merged)[on], bits(plain)[on])
        check(bits(merged)[~on], bits(old)[~on])
        if name != "vaxpy":
            assert (bits(zeroed)[~on] == 0).all()


@edges("values lanes", "v{cadd,cmax,cmin}")
@pytest.mark.parametrize("name, written", [("vcadd", 1), ("vcmax", 2), ("vcmin", 2)])
def test_raw_reductions_write_their_lanes_only_when_merging(simd, name, written):
    """The plain ones have their oracles in test_simd_reduce.py and test_simd_edges.py."""
    for x in (random_values("f32", 64, 5), np.resize(edge_values("f32"), 64), np.full(64, -0.0, np.float32)):
        for on in [*edge_masks("f32"), random_mask("f32", 6)[0]]:
            out = random_values("f32", 192, 7)
            old = out[:64].copy()
            simd(f"{name}_modes_f32", out, x, mask_of(on, 4))
            merged, zeroed, plain = bits(out).reshape(3, 64)
            check(zeroed, plain)
            check(merged[:written], plain[:written])
            check(merged[written:], bits(old)[written:])
            assert (zeroed[written:] == 0).all()


@pytest.mark.parametrize("suffix", WIDTHS)
def test_a_masked_store_touches_active_lanes_only(simd, suffix):
    n = lanes(suffix)
    x = random_values(suffix, n, 2)
    for on in edge_masks(suffix):
        ub = memory(suffix, 3 * n)
        before = ub.copy()
        simd(f"asc_storealign_{suffix}", ub, x, n, mask_of(on, 256 // n))
        check(bits(ub[n : 2 * n]), np.where(on, bits(x), bits(before[n : 2 * n])), what="inside")
        check(bits(ub[:n]), bits(before[:n]))
        check(bits(ub[2 * n :]), bits(before[2 * n :]))


def test_a_masked_store_may_end_where_memory_ends(simd):
    import mmap

    if simd.level == "aarch64":
        pytest.skip("protects pages of this process, and the store happens in another one")

    page = mmap.PAGESIZE
    block = mmap.mmap(-1, 2 * page)
    ub = np.frombuffer(block, np.uint8)
    import ctypes

    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert mprotect(ub.ctypes.data + page, page, 0) == 0
    try:
        tail = np.arange(64) < 8  # 32 bytes before the forbidden page
        simd("asc_storealign_f32", ub[page - 32 :], np.arange(64, dtype=np.float32), 0, mask_of(tail, 4))
        assert (ub[page - 32 : page].view(np.float32) == np.arange(8)).all()
    finally:
        mprotect(ub.ctypes.data + page, page, 3)


@pytest.mark.parametrize("name, wide, narrow", [("asc_storealign_pack_u32", "u32", np.uint16), ("asc_storealign_pack_u16", "u16", np.uint8),
                                                ("asc_storealign_pack_quarter_u32", "u32", np.uint8)])
def test_packing_stores_keep_the_low_part_of_active_lanes(simd, name, wide, narrow):
    n = lanes(wide)
    x = random_values(wide, n, 3)
    for on in edge_masks(wide):
        ub = aligned(512)
        ub[:] = 0xA5
        simd(name, ub, x, 32, mask_of(on, 256 // n))
        start = 32 * np.dtype(DTYPES[wide]).itemsize
        size = n * np.dtype(narrow).itemsize
        want = np.where(on, x.astype(narrow), np.full(n * np.dtype(narrow).itemsize, 0xA5, np.uint8).view(narrow))
        assert (ub[start : start + size].view(narrow) == want).all()
        assert (ub[:start] == 0xA5).all() and (ub[start + size :] == 0xA5).all()


@edges("values bounds", "asc_storealign_1st")
@pytest.mark.parametrize("suffix", WIDTHS)
def test_the_first_lane_store_needs_no_alignment(simd, suffix):
    x = random_values(suffix, lanes(suffix), 4)
    ub = memory(suffix, 64)
    before = ub.copy()
    simd(f"asc_storealign_1st_{suffix}", ub, x, 5)
    check(bits(ub), bits(np.concatenate([before[:5], x[:1], before[6:]])))


@edges("lanes strides", "asc_storealign asc_storealign_postupdate")
@pytest.mark.parametrize("block_stride, repeat_stride", [(5, 3), (1, 0), (0, 65535), (40, 1)])
def test_block_stores_scatter_32_byte_blocks_and_advance(simd, block_stride, repeat_stride):
    x = random_values("bf16", 128, 5)
    for on in [np.arange(128) < 100, *edge_masks("bf16")]:
        ub = aligned(32 * 320, fill=0xA5)
        ub[:] = 0xA5
        assert simd("storealign_blocks_bf16", ub, x, block_stride, repeat_stride, mask_of(on, 2)) == repeat_stride * 16
        want = np.full((320, 16), 0xA5A5, np.uint16)
        for block in range(8):         # without a stride the last active one stays
            want[block * block_stride][on[block * 16 :][:16]] = bits(x[block * 16 :][:16])[on[block * 16 :][:16]]
        assert (ub.reshape(-1, 32).view(np.uint16) == want).all()


@edges("lanes indices", "asc_{gather,scatter}")
@pytest.mark.parametrize("suffix, index_type", [("f32", np.uint32), ("f16", np.uint16)])
def test_gather_and_scatter_of_the_same_and_the_last_element(simd, suffix, index_type):
    n = lanes(suffix)
    for index in (np.zeros(n, index_type), np.arange(n).astype(index_type)[::-1].copy(), np.full(n, 599, index_type), (np.arange(n) // 3).astype(index_type)):
        for on in edge_masks(suffix):
            ub, x, got = memory(suffix, 600), random_values(suffix, n, 8), empty(suffix)
            far, want = np.where(on, index, np.iinfo(index_type).max).astype(index_type), ub.copy()
            simd(f"asc_gather_{suffix}", got, ub, far, mask_of(on, 256 // n))
            check(bits(got), np.where(on, bits(ub[index]), 0).astype(bits(got).dtype))
            for lane in np.flatnonzero(on):         # of equal indices the highest lane stays
                want[index[lane]] = x[lane]
            simd(f"asc_scatter_{suffix}", ub, x, far, mask_of(on, 256 // n))
            check(bits(ub), bits(want))


@pytest.mark.parametrize("suffix, index_type", [("f32", np.uint32), ("f16", np.uint16)])
def test_gather_and_scatter_by_element(simd, suffix, index_type):
    n = lanes(suffix)
    ub = memory(suffix, 600)
    index = np.random.default_rng(6).permutation(600)[:n].astype(index_type)
    on, mask = random_mask(suffix, 7)
    far = np.where(on, index, np.iinfo(index_type).max).astype(index_type)  # masked-off lanes point outside of everything
    got = empty(suffix)
    simd(f"asc_gather_{suffix}", got, ub, far, mask)
    check(bits(got), np.where(on, bits(ub[index]), 0).astype(bits(got).dtype))
    x, want = random_values(suffix, n, 8), ub.copy()
    want[index[on]] = x[on]
    simd(f"asc_scatter_{suffix}", ub, x, far, mask)
    check(bits(ub), bits(want))


def test_gathered_bytes_widen(simd):
    ub = memory("s8", 300)
    index = np.random.default_rng(9).integers(0, 300, 128).astype(np.uint16)
    got = empty("s16")
    simd("asc_gather_s8", got, ub, index, full_mask())
    check(got, ub[index].astype(np.int16))


@edges("indices", "asc_gather")
@pytest.mark.parametrize("suffix, index_type", [("f32", np.uint32), ("bf16", np.uint16), ("u8", np.uint8)])
def test_register_gather_permutes_lanes(simd, suffix, index_type):
    n = lanes(suffix)
    x = random_values(suffix, n, 10)
    index = np.random.default_rng(11).integers(0, np.iinfo(index_type).max, n, endpoint=True).astype(index_type)
    index[:6] = 0, n - 1, n % 256, n - 1, np.iinfo(index_type).max, 0
    got = empty(suffix)
    simd(f"asc_gather_lanes_{suffix}", got, x, index)
    check(bits(got), bits(x[index.astype(int) % n]))


@pytest.mark.parametrize("suffix", ALL)
def test_broadcasts_of_a_scalar_the_first_and_the_last_lane(simd, suffix):
    x = random_values(suffix, lanes(suffix), 12)
    on, mask = random_mask(suffix, 13)
    for name, value in (("asc_duplicate", x[0]), ("asc_duplicate_highest", x[-1])):
        got = empty(suffix)
        simd(f"{name}_{suffix}", got, x, mask)
        check(bits(got), np.where(on, bits(np.array([value])), 0).astype(bits(got).dtype))
    got = empty(suffix)
    scalar = edge_values(suffix)[3:4]
    simd(f"asc_duplicate_scalar_{suffix}", got, scalar, mask)
    check(bits(got), np.where(on, bits(scalar), 0).astype(bits(got).dtype))


@pytest.mark.parametrize("suffix", ALL)
def test_ramps_count_lanes(simd, suffix):
    start = np.array([3], DTYPES[suffix])
    count = np.arange(lanes(suffix))
    for name, step in (("asc_arange", 1), ("asc_arange_descend", -1)):
        got = empty(suffix)
        simd(f"{name}_{suffix}", got, start)
        want = (3 + step * count).astype(np.int64)
        check(got, want.astype(DTYPES[suffix]) if suffix in INTS else want.astype(np.float32).astype(DTYPES[suffix]))


@edges("values", "asc_intlv asc_deintlv")
@pytest.mark.parametrize("suffix", ALL)
def test_interleave_and_back(simd, suffix):
    n = lanes(suffix)
    a, b = random_values(suffix, n, 14), random_values(suffix, n, 15)
    low, high = empty(suffix), empty(suffix)
    simd(f"asc_intlv_{suffix}", low, high, a, b)
    woven = np.stack([bits(a), bits(b)], axis=1).ravel()
    check(bits(low), woven[:n])
    check(bits(high), woven[n:])
    even, odd = empty(suffix), empty(suffix)
    simd(f"asc_deintlv_{suffix}", even, odd, low, high)
    check(bits(even), bits(a))
    check(bits(odd), bits(b))


@edges("values", "asc_pack_to_{low,high}")
@pytest.mark.parametrize("wide, narrow", [("u32", "u16"), ("u16", "u8")])
def test_pack_keeps_low_halves_in_one_half_of_the_register(simd, wide, narrow):
    x = np.resize(np.concatenate([edge_values(wide), random_values(wide, 20, 16)]), lanes(wide))
    zeros = np.zeros(lanes(wide), DTYPES[narrow])
    for where, parts in (("low", (x.astype(DTYPES[narrow]), zeros)), ("high", (zeros, x.astype(DTYPES[narrow])))):
        got = empty(narrow)
        simd(f"asc_pack_to_{where}_{wide}_{narrow}", got, x)
        check(got, np.concatenate(parts))


@edges("values", "asc_unpack_{lower,upper}")
@pytest.mark.parametrize("name, narrow, wide", [("lower", "u16", "u32"), ("upper", "u16", "u32"), ("lower", "s8", "s16"), ("upper", "s16", "s32")])
def test_unpack_widens_half_a_register(simd, name, narrow, wide):
    x = np.resize(np.concatenate([edge_values(narrow), random_values(narrow, 40, 17)]), lanes(narrow))
    half = x[: lanes(wide)] if name == "lower" else x[lanes(wide) :]
    got = empty(wide)
    simd(f"asc_unpack_{name}_{narrow}_{wide}", got, x)
    check(got, half.astype(DTYPES[wide]))


@pytest.mark.parametrize("suffix", ALL)
def test_squeeze_moves_active_lanes_down(simd, suffix):
    x = random_values(suffix, lanes(suffix), 18)
    on, mask = random_mask(suffix, 19)
    got = empty(suffix)
    simd(f"asc_squeeze_{suffix}", got, x, mask)
    want = np.zeros(lanes(suffix), bits(x).dtype)
    want[: on.sum()] = bits(x)[on]
    check(bits(got), want)


@pytest.mark.parametrize("suffix", INTS)
def test_unsqueeze_counts_the_active_lanes_before(simd, suffix):
    on, mask = random_mask(suffix, 20)
    got = empty(suffix)
    simd(f"asc_unsqueeze_{suffix}", got, mask)
    check(got, (np.cumsum(on) - on).astype(DTYPES[suffix]))


@pytest.mark.parametrize("cumulative", [0, 1])
@pytest.mark.parametrize("half", [0, 1])
def test_histograms_add_to_the_register(simd, cumulative, half):
    x = random_values("u8", 256, 21)
    x[:40] = 200
    on, mask = random_mask("u8", 22)
    got = np.arange(128, dtype=np.uint16)
    simd("histogram", got, x, mask, cumulative, half)
    counts = np.bincount(x[on], minlength=256)
    counts = np.cumsum(counts) if cumulative else counts
    check(got, (np.arange(128) + counts[128 * half : 128 * half + 128]).astype(np.uint16))
