# SPDX-License-Identifier: MIT
"""256-byte registers and predicates as numpy arrays, and values that reach the corners of each element type."""

import ctypes

import ml_dtypes
import numpy as np

DTYPES = {
    "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e8m0": ml_dtypes.float8_e8m0fnu, "s64": np.int64, "u64": np.uint64, "s32": np.int32, "u32": np.uint32, "s16": np.int16, "u16": np.uint16, "s8": np.int8, "u8": np.uint8,
}
FLOATS, INTS = ("f32", "f16", "bf16"), ("s32", "u32", "s16", "u16", "s8", "u8")
UINT = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
MIN_NORMAL = 2.0**-126


class Simd:
    """The harness at one host level."""

    def __init__(self, library, level):
        self.library, self.level = ctypes.CDLL(str(library)), level

    def __call__(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_long
        return function(*[pointer(x) if isinstance(x, np.ndarray) else x for x in arguments])


class EmulatedSimd:
    """The harness on another processor (support/aarch64.py)."""

    def __init__(self, machine, library):
        self.machine, self.library, self.level = machine, library, "aarch64"

    def __call__(self, name, *arguments):
        return self.machine.call(self.library, name, *arguments)


def pointer(array):
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def aligned(bytes_, fill=0):
    """Zeroed memory at a 256-byte boundary, as bytes."""
    raw = np.full(bytes_ + 256, fill, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + bytes_]


def lanes(suffix):
    return 256 // np.dtype(DTYPES[suffix]).itemsize


def empty(suffix, fill=0xA5):
    """A register of recognisable junk."""
    return np.full(256, fill, np.uint8).view(DTYPES[suffix])


def mask_of(lane_is_on, lane_bytes):
    """A predicate: every bit of each active lane."""
    return np.repeat(np.where(lane_is_on, 0xFF, 0).astype(np.uint8), lane_bytes)


def full_mask():
    return np.full(256, 0xFF, np.uint8)


def random_mask(suffix, seed):
    on = np.random.default_rng(seed).integers(0, 2, lanes(suffix)).astype(bool)
    return on, mask_of(on, 256 // lanes(suffix))


def edge_masks(suffix):
    """Which lanes are on: none, the first, the last, a tail, every third, all."""
    lane, n = np.arange(lanes(suffix)), lanes(suffix)
    return [lane < 0, lane == 0, lane == n - 1, lane < n - 3, lane % 3 == 1, lane >= 0]


def edge_values(suffix):
    dtype = np.dtype(DTYPES[suffix])
    if suffix in FLOATS or suffix in ("e4m3", "e5m2"):
        info = ml_dtypes.finfo(dtype)
        tiny, top, eps = float(info.smallest_subnormal), float(info.max), float(info.eps)
        normal = float(info.smallest_normal)
        values = [0.0, -0.0, 1.0, -1.0, tiny, -tiny, normal - tiny, normal, top, -top, 1 + eps, 1 - eps / 2, 1.5, -2.5, 3.0, 0.1,
                  np.inf, -np.inf, np.nan]
        return np.array(values).astype(dtype)
    info = np.iinfo(dtype)
    values = {info.min, info.min + 1, -1, 0, 1, 2, 3, 7, 15, 16, 31, 32, info.max // 2, info.max - 1, info.max}
    return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype)


def random_values(suffix, count, seed):
    dtype = np.dtype(DTYPES[suffix])
    bits = np.random.default_rng(seed).integers(0, 256, count * dtype.itemsize).astype(np.uint8)
    return bits.view(dtype)


def registers(array):
    """The array in whole registers, the last one padded with its own first elements."""
    count = 256 // array.dtype.itemsize
    total = -(-len(array) // count) * count
    return np.resize(array, total).reshape(-1, count)


def operands(suffix, arity, seed=0, random_registers=4):
    """Registers whose lanes go through every combination of edge values, then random bit patterns."""
    edges = edge_values(suffix)
    grids = np.meshgrid(*[np.arange(len(edges))] * arity, indexing="ij")
    columns = []
    for axis, grid in enumerate(grids):
        extra = random_values(suffix, random_registers * lanes(suffix), seed * 10 + axis)
        columns.append(registers(np.concatenate([edges[grid.ravel()], extra])))
    return list(zip(*columns))


def same(got, expected):
    """Same bits, or both NaN (which NaN a host instruction passes on is not specified)."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    bits = UINT[got.dtype.itemsize]
    equal = got.view(bits) == expected.view(bits)
    if got.dtype.kind in "fV":
        equal |= np.isnan(got.astype(np.float32)) & np.isnan(expected.astype(np.float32))
    return equal


def check(got, expected, *inputs, what=""):
    wrong = np.flatnonzero(~same(got, expected))
    if len(wrong):
        i = wrong[0]
        given = ", ".join(str(x[i % len(x)]) for x in inputs)
        raise AssertionError(f"{what}: {len(wrong)} lanes differ; lane {i}: got {got[i]}, expected {expected[i]}, from {given}")


def flushed(x):
    """binary32 subnormals as zeros of their sign (in float64)."""
    x = np.asarray(x, np.float64)
    return np.where(np.abs(x) < MIN_NORMAL, np.copysign(0.0, x), x)
