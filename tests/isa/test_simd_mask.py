# SPDX-License-Identifier: MIT
"""Predicates: which lanes a pattern or a count turns on, and how predicates combine, move and are stored."""

import numpy as np
import pytest
from support.simd import aligned, mask_of, random_values

WIDTHS = {"b8": 1, "b16": 2, "b32": 4}
PATTERNS = {
    "ALL": lambda i, n: i >= 0, "ALLF": lambda i, n: i < 0, "VL1": lambda i, n: i < 1, "VL2": lambda i, n: i < 2, "VL8": lambda i, n: i < 8,
    "VL16": lambda i, n: i < 16, "VL32": lambda i, n: i < 32, "VL64": lambda i, n: i < 64, "VL128": lambda i, n: i < 128,
    "M3": lambda i, n: i % 3 == 0, "M4": lambda i, n: i % 4 == 0, "H": lambda i, n: i < n // 2, "Q": lambda i, n: i < n // 4,
}


def predicate():
    return np.zeros(256, np.uint8)


def random_predicate(seed):
    return np.where(random_values("u8", 256, seed) & 1, 0xFF, 0).astype(np.uint8)


@pytest.mark.parametrize("width", [*WIDTHS, "b64"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(simd, width, pattern):
    lane_bytes = int(width[1:]) // 8
    n = 256 // lane_bytes
    got = predicate()
    simd(f"create_{width}_{pattern}", got)
    assert (got == mask_of(PATTERNS[pattern](np.arange(n), n), lane_bytes)).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_counts_are_consumed_a_register_at_a_time(simd, width):
    n = 256 // WIDTHS[width]
    for count in (0, 1, 5, n - 1, n, n + 1, 3 * n):
        got = predicate()
        rest = simd(f"update_{width}", got, count)
        assert rest == max(count - n, 0)
        assert (got == mask_of(np.arange(n) < count, WIDTHS[width])).all()


def test_bitwise_operations_and_selection(simd):
    a, b, mask = (random_predicate(seed) for seed in (1, 2, 3))
    for op, want in (("and", a & b & mask), ("or", (a | b) & mask), ("xor", (a ^ b) & mask), ("select", np.where(mask, a, b))):
        got = predicate()
        simd(f"pred_{op}", got, a, b, mask)
        assert (got == want).all(), op
    got = predicate()
    simd("pred_not", got, a, mask)
    assert (got == (~a & mask)).all()


def test_pack_and_unpack_halve_and_double_lanes(simd):
    a = random_predicate(4)
    zeros = np.zeros(128, np.uint8)
    wants = {"pack_to_low": np.concatenate([a[::2], zeros]), "pack_to_high": np.concatenate([zeros, a[::2]]),
             "unpack_lower": np.repeat(a[:128], 2), "unpack_upper": np.repeat(a[128:], 2)}
    for op, want in wants.items():
        got = predicate()
        simd(f"pred_{op}", got, a)
        assert (got == want).all(), op


@pytest.mark.parametrize("width", WIDTHS)
def test_interleave_and_back(simd, width):
    size = WIDTHS[width]
    a, b = random_predicate(5), random_predicate(6)
    low, high, even, odd = (predicate() for _ in range(4))
    simd(f"pred_intlv_{width}", low, high, a, b)
    woven = np.stack([a.reshape(-1, size), b.reshape(-1, size)], axis=1).ravel()
    assert (np.concatenate([low, high]) == woven).all()
    simd(f"pred_deintlv_{width}", even, odd, low, high)
    assert (even == a).all() and (odd == b).all()


def test_predicates_in_memory_are_a_bit_per_byte(simd):
    a = random_predicate(7)
    ub = aligned(64)
    simd("pred_storealign", ub, a)
    assert (np.unpackbits(ub[:32], bitorder="little") == a // 255).all() and not ub[32:].any()
    got = predicate()
    simd("pred_loadalign", got, ub)
    assert (got == a).all()
    simd("pred_loadalign_upsample", got, ub)
    assert (got == np.repeat(a[:128], 2)).all()
    simd("pred_storealign_pack", ub, a)
    assert (np.unpackbits(ub[:16], bitorder="little") == a[::2] // 255).all()
    ub[:] = random_values("u8", 64, 8)
    simd("pred_loadalign_downsample", got, ub)
    assert (got // 255 == np.unpackbits(ub, bitorder="little")[::2]).all()


def test_every_instruction_counts_its_slots(simd):
    got = np.zeros(11, np.uint32)
    simd("count_slots", got)
    classes = ["alu", "alu_int32", "special", "cast", "reduce", "load", "store", "permute", "gather", "mask", "calls"]
    # special: exp and a register gather
    want = {"alu": 1, "alu_int32": 2, "special": 8, "cast": 2, "reduce": 1, "load": 1, "store": 1, "permute": 1, "gather": 2, "mask": 1, "calls": 1}
    assert dict(zip(classes, got.tolist())) == want
