# SPDX-License-Identifier: MIT
"""How do matrices look in L0A, L0B, L0C and the scale memories? Plain numpy, element by element where it is short."""

import ml_dtypes
import numpy as np

DTYPES = {
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "hf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8,
}
K0 = {"bf16": 16, "f16": 16, "f32": 8, "hf32": 8, "e4m3": 32, "e5m2": 32, "hif8": 32, "s8": 32, "e2m1": 64, "e1m2": 64}
FP4_VALUES = {
    "e2m1": np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6]), "e1m2": np.arange(8) / 4,
}


def ceil_div(x, y):
    return -(-x // y)


def hif8_values():
    values = np.zeros(256)
    for code in range(256):
        bits = f"{code & 0x7f:07b}"
        size = 2.0 ** (int(bits, 2) - 23)
        for dot, width in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)):
            if bits.startswith(dot):
                exponent, mantissa = bits[len(dot):len(dot) + width], bits[len(dot) + width:]
                power = int("1" + exponent[1:], 2) * (-1 if exponent[0] == "1" else 1) if width else 0
                size = (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0**power
                break
        values[code] = -size if code & 0x80 else size
    values[0x00], values[0x80], values[0x6F], values[0xEF] = 0, np.nan, np.inf, -np.inf
    return values


def values_of(codes, kind):
    """float64 values of codes: dtype arrays as they are, uint8 codes for hif8, e2m1 and e1m2 (one element each)."""
    if kind in FP4_VALUES:
        return np.where(codes & 8, -1.0, 1.0) * FP4_VALUES[kind][codes & 7]
    if kind == "hif8":
        return hif8_values()[codes]
    if kind == "hf32":
        bits = codes.view(np.uint32).astype(np.int64)
        finite = np.isfinite(codes)
        rounded = (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000
        return np.where(finite, rounded, bits).astype(np.uint32).view(np.float32).astype(np.float64)
    return codes.astype(np.float64)


def poison(kind, shape, rng):
    """Codes that ruin a result if they are read: NaN where the type has one, else large values."""
    if kind in FP4_VALUES:
        return np.full(shape, 7, np.uint8)
    if kind == "hif8":
        return np.full(shape, 0x80, np.uint8)
    if kind == "s8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return np.full(shape, np.nan, DTYPES[kind])


def fractals(codes, kind, rng):
    """[rows, k] to L0A or L0B bytes: fractal (r1, k1) at (k1 * R1 + r1) * 512; everything beyond the edges is poison."""
    rows, k = codes.shape
    k0 = K0[kind]
    r1, k1 = ceil_div(rows, 16), ceil_div(k, k0)
    padded = poison(kind, (r1 * 16, k1 * k0), rng)
    padded[:rows, :k] = codes
    blocks = np.ascontiguousarray(padded.reshape(r1, 16, k1, k0).transpose(2, 0, 1, 3))
    if kind in FP4_VALUES:
        return (blocks[..., 0::2] | blocks[..., 1::2] << 4).astype(np.uint8).ravel()
    return blocks.view(np.uint8).ravel()


def scale_bytes(scales, k):
    """[rows, ceil(k/32)] e8m0 codes to L0_MX bytes; what no live element uses is NaN (255)."""
    rows = scales.shape[0]
    out = np.full((ceil_div(rows, 16), ceil_div(k, 64), 16, 2), 255, np.uint8)
    for r in range(rows):
        for g in range(scales.shape[1]):
            out[r // 16, g // 2, r % 16, g % 2] = scales[r, g]
    return out.ravel()


def to_nz(c):
    """[m, n] to L0C: element (i, j) at ((j/16) * M1 + i/16) * 256 + (i%16) * 16 + j%16; padding is NaN (or a marker)."""
    m, n = c.shape
    m1, n1 = ceil_div(m, 16), ceil_div(n, 16)
    padded = np.full((m1 * 16, n1 * 16), np.nan if c.dtype.kind == "f" else 0x55555555, c.dtype)
    padded[:m, :n] = c
    return np.ascontiguousarray(padded.reshape(m1, 16, n1, 16).transpose(2, 0, 1, 3)).ravel()


def from_nz(nz, m, n):
    """Live part of an L0C image and a mask-shaped copy of its padding, both row-major."""
    m1, n1 = ceil_div(m, 16), ceil_div(n, 16)
    full = nz.reshape(n1, m1, 16, 16).transpose(1, 2, 0, 3).reshape(m1 * 16, n1 * 16)
    dead = np.ones_like(full, bool)
    dead[:m, :n] = False
    return full[:m, :n], full[dead]
