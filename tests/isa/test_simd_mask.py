# SPDX-License-Identifier: MIT
"""Predicates: which lanes a pattern or a count turns on, and how predicates combine, move and are stored."""

import itertools

import numpy as np
import pytest
from support.edges import edges
from support.simd import aligned, mask_of, random_values

WIDTHS = {"b8": 1, "b16": 2, "b32": 4}
PATTERNS = {
    "ALL": lambda i, n: i >= 0, "ALLF": lambda i, n: i < 0, "VL1": lambda i, n: i < 1, "VL2": lambda i, n: i < 2, "VL3": lambda i, n: i < 3, "VL4": lambda i, n: i < 4, "VL8": lambda i, n: i < 8,
    "VL16": lambda i, n: i < 16, "VL32": lambda i, n: i < 32, "VL64": lambda i, n: i < 64, "VL128": lambda i, n: i < 128,
    "M3": lambda i, n: i % 3 == 0, "M4": lambda i, n: i % 4 == 0, "H": lambda i, n: i < n // 2, "Q": lambda i, n: i < n // 4,
}


def predicate():
    return np.zeros(256, np.uint8)


def random_predicate(seed):
    return np.where(random_values("u8", 256, seed) & 1, 0xFF, 0).astype(np.uint8)


@edges("lanes", "asc_create_mask_b{8,16,32,64}")
@pytest.mark.parametrize("width", [*WIDTHS, "b64"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(simd, width, pattern):
    lane_bytes = int(width[1:]) // 8
    n = 256 // lane_bytes
    got = predicate()
    simd(f"create_{width}_{pattern}", got)
    assert (got == mask_of(PATTERNS[pattern](np.arange(n), n), lane_bytes)).all()


@edges("lanes", "asc_update_mask_b{8,16,32}")
@pytest.mark.parametrize("width", WIDTHS)
def test_counts_are_consumed_a_register_at_a_time(simd, width):
    n = 256 // WIDTHS[width]
    for count in (0, 1, 5, n - 1, n, n + 1, 3 * n, 2**31 - 1, 2**32 - 1):
        got = predicate()
        rest = simd(f"update_{width}", got, count)
        assert rest & 0xFFFFFFFF == max(count - n, 0)
        assert (got == mask_of(np.arange(n) < count, WIDTHS[width])).all()


def edge_predicates():
    """None, only the first byte, only the last, all, and two without a pattern."""
    byte = np.arange(256)
    return [*(np.where(on, 0xFF, 0).astype(np.uint8) for on in (byte < 0, byte == 0, byte == 255, byte >= 0)), random_predicate(1), random_predicate(2)]


@edges("lanes", "asc_{and,or,xor,select,not}")
def test_bitwise_operations_and_selection(simd):
    for a, b, mask in itertools.product(edge_predicates(), repeat=3):
        for op, want in (("and", a & b & mask), ("or", (a | b) & mask), ("xor", (a ^ b) & mask), ("select", np.where(mask, a, b))):
            got = predicate()
            simd(f"pred_{op}", got, a, b, mask)
            assert (got == want).all(), op
        got = predicate()
        simd("pred_not", got, a, mask)
        assert (got == (~a & mask)).all()


@edges("lanes", "asc_{pack_to_low,pack_to_high,unpack_lower,unpack_upper}")
def test_pack_and_unpack_halve_and_double_lanes(simd):
    zeros = np.zeros(128, np.uint8)
    for a in edge_predicates():
        wants = {"pack_to_low": np.concatenate([a[::2], zeros]), "pack_to_high": np.concatenate([zeros, a[::2]]),
                 "unpack_lower": np.repeat(a[:128], 2), "unpack_upper": np.repeat(a[128:], 2)}
        for op, want in wants.items():
            got = predicate()
            simd(f"pred_{op}", got, a)
            assert (got == want).all(), op


@edges("lanes", "asc_{intlv,deintlv}_b{8,16,32}")
@pytest.mark.parametrize("width", WIDTHS)
def test_interleave_and_back(simd, width):
    size = WIDTHS[width]
    for a, b in itertools.product(edge_predicates(), repeat=2):
        low, high, even, odd = (predicate() for _ in range(4))
        simd(f"pred_intlv_{width}", low, high, a, b)
        woven = np.stack([a.reshape(-1, size), b.reshape(-1, size)], axis=1).ravel()
        assert (np.concatenate([low, high]) == woven).all()
        simd(f"pred_deintlv_{width}", even, odd, low, high)
        assert (even == a).all() and (odd == b).all()


@edges("lanes bounds", "asc_loadalign asc_loadalign_{upsample,downsample} asc_storealign asc_storealign_pack")
def test_predicates_in_memory_are_a_bit_per_byte(simd):
    for a in edge_predicates():
        ub = aligned(128)
        assert simd("pred_storealign", ub, a, 8) == 0
        assert (np.unpackbits(ub[32:64], bitorder="little") == a // 255).all() and not ub[:32].any() and not ub[64:].any()
        got = predicate()
        simd("pred_loadalign", got, ub, 8)
        assert (got == a).all()
        simd("pred_loadalign_upsample", got, ub, 8)
        assert (got == np.repeat(a[:128], 2)).all()
        simd("pred_storealign_pack", ub, a, 1)
        assert (np.unpackbits(ub[4:20], bitorder="little") == a[::2] // 255).all() and not ub[:4].any() and not ub[20:32].any()
    ub[:] = random_values("u8", 128, 8)
    simd("pred_loadalign_downsample", got, ub, 0)
    assert (got // 255 == np.unpackbits(ub[:64], bitorder="little")[::2]).all()
    if simd.level == "aarch64":         # whose copy of an array is always aligned
        return
    before = ub.copy()
    for name in ("pred_loadalign", "pred_loadalign_upsample", "pred_loadalign_downsample"):
        assert [simd(name, got, ub[shift:], 0) for shift in (0, 1, 2, 4)] == [0, 1, 1, 0], name
    for name in ("pred_storealign", "pred_storealign_pack"):
        assert [simd(name, ub[shift:], a, 0) for shift in (1, 2)] == [1, 1] and (ub == before).all(), name


def test_every_instruction_counts_its_slots(simd):
    got = np.zeros(11, np.uint32)
    simd("count_slots", got)
    classes = ["alu", "alu_int32", "special", "cast", "reduce", "load", "store", "permute", "gather", "mask", "calls"]
    # special: exp and a register gather
    want = {"alu": 1, "alu_int32": 2, "special": 8, "cast": 2, "reduce": 1, "load": 1, "store": 1, "permute": 1, "gather": 2, "mask": 1, "calls": 1}
    assert dict(zip(classes, got.tolist())) == want
