# SPDX-License-Identifier: MIT
"""Loads, stores, gathers, broadcasts and permutations: every lane where it belongs, and nothing else touched."""

import numpy as np
import pytest
from support.simd import DTYPES, FLOATS, INTS, aligned, check, edge_values, empty, full_mask, lanes, mask_of, random_mask, random_values

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


def test_post_update_loads_from_the_old_address(simd):
    ub = memory("f32", 256)
    got = empty("f32")
    assert simd("loadalign_postupdate_f32", got, ub, 72) == 72
    check(bits(got), bits(ub[:64]))


@pytest.mark.parametrize("suffix", WIDTHS)
@pytest.mark.parametrize("name", LOADS)
def test_post_update_forms_load_the_same_and_advance(simd, name, suffix):
    n = lanes(suffix)
    ub = memory(suffix, 4 * n)
    got = empty(suffix)
    assert simd(f"{name}_postupdate_{suffix}", got, ub, n // 2) == n // 2
    check(bits(got), bits(LOADS[name](ub, n)), what=name)


def test_post_update_load_of_bytes_with_three_zeros_after_each(simd):
    ub, got = memory("u8", 256), empty("u8")
    assert simd("asc_loadalign_unpack4_postupdate_u8", got, ub, 64) == 64
    assert (got.view(np.uint32) == ub[:64]).all()


def test_address_registers_count_elements(simd):
    ub, got = memory("u8", 1024), np.zeros(768, np.uint8)
    simd("load_by_address_register", got, ub, 64)
    assert (got[:256] == ub[64:320]).all() and (got[256:512] == ub[128:384]).all() and (got[512:] == ub[256:512]).all()


@pytest.mark.parametrize("suffix", ["u16", "f32"])
def test_interleaving_store(simd, suffix):
    n = lanes(suffix)
    a, b = random_values(suffix, n, 3), random_values(suffix, n, 4)
    for on in (np.ones(n, bool), np.arange(n) % 3 == 1, np.zeros(n, bool)):
        ub = memory(suffix, 4 * n)
        want = ub.copy()
        inside = want[n : 3 * n].reshape(n, 2)
        inside[on] = np.stack([a, b], 1)[on]
        simd(f"storealign_intlv_{suffix}", ub, a, b, n, mask_of(on, 256 // n))
        check(bits(ub), bits(want))


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
    index[:8] = 16
    assert simd("gather_datablock_faults", ub, index) == 1


RAW_FORMS = {"vadd": "f16", "vsub": "f32", "vmul": "bf16", "vdiv": "f32", "vmax": "f32", "vmin": "s16", "vand": "u32", "vor": "u16", "vxor": "u8", "vshl": "s32",
             "vshr": "s16", "vabsdif": "f32", "vadds": "s32", "vmuls": "f32", "vmaxs": "bf16", "vmins": "u16", "vshls": "u32", "vshrs": "s32", "vln": "f32",
             "vsqrt": "f32", "vabs": "s16", "vneg": "f16", "vrelu": "f32", "vnot": "u8", "vexp": "f32", "vaxpy": "f32"}


@pytest.mark.parametrize("name", RAW_FORMS)
def test_raw_forms_keep_or_clear_masked_lanes_of_the_plain_instruction(simd, name):
    """The plain instruction has its oracle in test_simd_arithmetic.py; here: what its lanes become under each mode."""
    suffix = RAW_FORMS[name]
    n = lanes(suffix)
    for seed in range(6):
        a = np.resize(np.concatenate([edge_values(suffix), random_values(suffix, n, seed)]), n)
        b = np.roll(np.resize(edge_values(suffix), n), seed)
        if "sh" in name:
            b = (np.arange(n) % 18).astype(DTYPES[suffix]) if name in ("vshl", "vshr") else np.full(n, 3 * seed, DTYPES[suffix])
        on, mask = random_mask(suffix, seed)
        out = np.concatenate([random_values(suffix, n, 90 + seed), random_values(suffix, 2 * n, 91)])
        old = out[:n].copy()
        simd(f"{name}_modes_{suffix}", out, a, b, mask)
        merged, zeroed, plain = out.reshape(3, n)
        check(bits(zeroed), bits(plain))
        check(bits(merged)[on], bits(plain)[on])
        check(bits(merged)[~on], bits(old)[~on])
        if name != "vaxpy":
            assert (bits(zeroed)[~on] == 0).all()


@pytest.mark.parametrize("name, written", [("vcadd", 1), ("vcmax", 2), ("vcmin", 2)])
def test_raw_reductions_write_their_lanes_only_when_merging(simd, name, written):
    x, (_, mask) = random_values("f32", 64, 5), random_mask("f32", 6)
    out = random_values("f32", 192, 7)
    old = out[:64].copy()
    simd(f"{name}_modes_f32", out, x, mask)
    merged, zeroed, plain = bits(out).reshape(3, 64)
    check(zeroed, plain)
    check(merged[:written], plain[:written])
    check(merged[written:], bits(old)[written:])
    assert (zeroed[written:] == 0).all()


def test_a_misaligned_load_is_a_fault(simd):
    ub = memory("f32", 256)
    assert [simd("faults_at", ub, offset) for offset in (0, 32, 4, 16)] == [0, 0, 1, 1]


@pytest.mark.parametrize("suffix", WIDTHS)
def test_a_masked_store_touches_active_lanes_only(simd, suffix):
    n = lanes(suffix)
    x = random_values(suffix, n, 2)
    for on in (np.ones(n, bool), np.zeros(n, bool), np.arange(n) < 3, np.arange(n) % 5 == 1, np.arange(n) >= n - 1):
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
    for on in (np.ones(n, bool), np.arange(n) < 5, np.arange(n) % 2 == 1):
        ub = aligned(512)
        ub[:] = 0xA5
        simd(name, ub, x, 32, mask_of(on, 256 // n))
        start = 32 * np.dtype(DTYPES[wide]).itemsize
        size = n * np.dtype(narrow).itemsize
        want = np.where(on, x.astype(narrow), np.full(n * np.dtype(narrow).itemsize, 0xA5, np.uint8).view(narrow))
        assert (ub[start : start + size].view(narrow) == want).all()
        assert (ub[:start] == 0xA5).all() and (ub[start + size :] == 0xA5).all()


@pytest.mark.parametrize("suffix", WIDTHS)
def test_the_first_lane_store_needs_no_alignment(simd, suffix):
    x = random_values(suffix, lanes(suffix), 4)
    ub = memory(suffix, 64)
    before = ub.copy()
    simd(f"asc_storealign_1st_{suffix}", ub, x, 5)
    check(bits(ub), bits(np.concatenate([before[:5], x[:1], before[6:]])))


def test_block_stores_scatter_32_byte_blocks_and_advance(simd):
    x = random_values("bf16", 128, 5)
    on = np.arange(128) < 100
    ub = aligned(32 * 64, fill=0xA5)
    ub[:] = 0xA5
    moved = simd("storealign_blocks_bf16", ub, x, 5, 3, mask_of(on, 2))
    assert moved == 3 * 16
    table = ub.reshape(-1, 32)
    for block in range(8):
        want = np.where(on[block * 16 :][:16], bits(x[block * 16 :][:16]), 0xA5A5)
        assert (table[block * 5].view(np.uint16) == want).all()
    assert (np.delete(table, np.arange(8) * 5, axis=0) == 0xA5).all()


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


@pytest.mark.parametrize("suffix, index_type", [("f32", np.uint32), ("bf16", np.uint16), ("u8", np.uint8)])
def test_register_gather_permutes_lanes(simd, suffix, index_type):
    n = lanes(suffix)
    x = random_values(suffix, n, 10)
    index = np.random.default_rng(11).integers(0, np.iinfo(index_type).max, n, endpoint=True).astype(index_type)
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


@pytest.mark.parametrize("wide, narrow", [("u32", "u16"), ("u16", "u8")])
def test_pack_keeps_low_halves_in_one_half_of_the_register(simd, wide, narrow):
    x = random_values(wide, lanes(wide), 16)
    zeros = np.zeros(lanes(wide), DTYPES[narrow])
    for where, parts in (("low", (x.astype(DTYPES[narrow]), zeros)), ("high", (zeros, x.astype(DTYPES[narrow])))):
        got = empty(narrow)
        simd(f"asc_pack_to_{where}_{wide}_{narrow}", got, x)
        check(got, np.concatenate(parts))


@pytest.mark.parametrize("name, narrow, wide", [("lower", "u16", "u32"), ("upper", "u16", "u32"), ("lower", "s8", "s16"), ("upper", "s16", "s32")])
def test_unpack_widens_half_a_register(simd, name, narrow, wide):
    x = random_values(narrow, lanes(narrow), 17)
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
