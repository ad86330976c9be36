# SPDX-License-Identifier: MIT
"""The chip's number formats in numpy: codes to values and back, the same rules as csrc/formats.

    decode("e4m3", codes)                                     float32 array; codes are integers (or raw bytes of them)
    encode("hif8", values, rounding="nearest_away")           uint8 or uint16 codes
    unpack_fp4(bytes), pack_fp4(codes)                         two elements a byte, the even one in the low nibble

Formats: bf16, f16, e4m3, e5m2, e2m1, e1m2, e8m0, hif8, hf32. Casts start from float32. A code of hf32 is 19 bits: sign, 8 of exponent,
10 of mantissa, the upper bits of the float32 that the cube uses in its place; nearest_even or nearest_away, nothing to saturate.
rounding: nearest_even, nearest_away, floor, ceil, trunc, odd. What the chip offers per format: docs of csrc/formats.
saturation: "off" (overflow and inf give inf, or NaN where the format has none; NaN stays), "on" (overflow and inf give
the largest finite value, NaN gives 0), "on_keep_nan". e2m1 and e1m2 always saturate and have no NaN: NaN gives 0.
"""

from dataclasses import dataclass

import numpy as np

from ascend_sim import arguments

__all__ = ["FORMATS", "decode", "encode", "hf32", "pack_fp4", "unpack_fp4"]

ROUNDINGS = ("nearest_even", "nearest_away", "floor", "ceil", "trunc", "odd")
SATURATIONS = ("off", "on", "on_keep_nan")
_BITS = {"bf16": 16, "f16": 16, "hf32": 19}              # of a code; 8 of the others, 4 of which e2m1 and e1m2 use
_HF32_DROPPED = 13         # mantissa bits of a float32


@dataclass(frozen=True)
class Format:
    """A sign, exponent, mantissa format; `largest` is the largest finite magnitude code."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    largest: int
    inf: int | None
    nan: int | None

    @property
    def sign_bit(self) -> int:
        return 1 << (self.exponent_bits + self.mantissa_bits)


FORMATS = {
    "bf16": Format(8, 7, 127, largest=0x7F7F, inf=0x7F80, nan=0x7FC0),
    "f16": Format(5, 10, 15, largest=0x7BFF, inf=0x7C00, nan=0x7E00),
    "e4m3": Format(4, 3, 7, largest=0x7E, inf=None, nan=0x7F),
    "e5m2": Format(5, 2, 15, largest=0x7B, inf=0x7C, nan=0x7E),
    "e2m1": Format(2, 1, 1, largest=0x7, inf=None, nan=None),
    "e1m2": Format(1, 2, 1, largest=0x7, inf=None, nan=None),
}
_OTHERS = ("e8m0", "hif8", "hf32")


def _check(name: str, rounding: str = "nearest_even", saturation: str = "off") -> None:
    for what, value, accepted in (("format", name, (*FORMATS, *_OTHERS)), ("rounding", rounding, ROUNDINGS),
                                  ("saturation", saturation, SATURATIONS)):
        if not isinstance(value, str) or value not in accepted:
            raise ValueError(f"ascend_sim.formats: {what} {arguments.shown(value)} is unknown; accepted: {', '.join(accepted)}")


def _integers(function: str, name: str, values, bits: int) -> np.ndarray:
    """int64 of what are whole numbers of so many bits; those of signed types may stand for their raw bytes."""
    array = _array(function, name, values, "iub", "whole numbers")
    if array.size and not (-(1 << bits - 1) <= array.min() and array.max() < 1 << bits):
        raise ValueError(f"ascend_sim.formats.{function}: {name} has values from {array.min()} to {array.max()}; expected codes from 0 to {(1 << bits) - 1}.")
    return array.astype(np.int64) & ((1 << bits) - 1)


def _numbers(function: str, name: str, values) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return _array(function, name, values, "iubfV", "numbers").astype(np.float32)        # V: bfloat16 and the like, of ml_dtypes


def _array(function: str, name: str, values, kinds: str, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:          # ragged lists; tensors elsewhere, whose message says what to do
        raise TypeError(f"ascend_sim.formats.{function}: {name} is {type(values).__name__}; expected {what} that numpy can hold: {error}") from None
    if array.size == 0 and isinstance(values, list | tuple):
        return np.zeros(array.shape, np.int64)                      # numpy makes them floating-point
    if array.dtype.kind not in kinds or array.dtype.names is not None:
        raise TypeError(f"ascend_sim.formats.{function}: {name} is {arguments.shown(values)}; expected {what}.")
    return array


def decode(name: str, codes) -> np.ndarray:
    """Values of `codes` as float32, exact. NaN codes give NaN."""
    _check(name)
    codes = _integers("decode", "codes", codes, _BITS.get(name, 8))
    if name == "e8m0":
        return np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127)).astype(np.float32)
    if name == "hif8":
        return _HIF8_VALUES[codes & 0xFF]
    if name == "hf32":
        return (codes << _HF32_DROPPED & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    f = FORMATS[name]
    magnitude = codes & (f.sign_bit - 1)
    exponent, mantissa = magnitude >> f.mantissa_bits, magnitude & ((1 << f.mantissa_bits) - 1)
    significand = mantissa + np.where(exponent > 0, 1 << f.mantissa_bits, 0)
    values = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - f.bias - f.mantissa_bits)
    if f.inf is not None:
        values = np.where(magnitude == f.inf, np.inf, np.where(magnitude > f.inf, np.nan, values))
    elif f.nan is not None:
        values = np.where(magnitude == f.nan, np.nan, values)
    return np.where(codes & f.sign_bit, -values, values).astype(np.float32)


def encode(name: str, values, rounding: str | None = None, saturation: str = "on") -> np.ndarray:
    """Codes of float32 `values`: uint16 for bf16 and f16, uint32 for hf32, else uint8. rounding defaults to nearest_even (hif8: nearest_away)."""
    rounding = rounding if rounding is not None else ("nearest_away" if name == "hif8" else "nearest_even")
    _check(name, rounding, saturation)
    values = _numbers("encode", "values", values)
    if name == "hf32":
        if rounding not in ROUNDINGS[:2]:
            raise ValueError(f"ascend_sim.formats: hf32 is rounded {' or '.join(ROUNDINGS[:2])}, not {rounding}")
        return hf32(values, away=rounding == "nearest_away").view(np.uint32) >> _HF32_DROPPED
    if name == "e8m0":
        return _encode_e8m0(values, rounding)
    if name == "hif8":
        magnitudes, sign_bit, largest, inf, nan = _HIF8_MAGNITUDES, 0x80, 0x6E, 0x6F, None
    else:
        f = FORMATS[name]
        magnitudes, sign_bit, largest, inf, nan = _ladder(name), f.sign_bit, f.largest, f.inf, f.nan
    negative, is_nan, is_inf = np.signbit(values), np.isnan(values), np.isinf(values)
    size = np.abs(np.where(is_nan, 0, values).astype(np.float64))
    index = _round(magnitudes, np.where(np.isfinite(size), size, 0), negative, rounding)
    overflow = is_inf | (index == len(magnitudes) - 1)
    code = np.where(overflow, largest, _HIF8_CODES[np.minimum(index, len(_HIF8_CODES) - 1)] if name == "hif8" else index)
    always_saturates = name in ("e2m1", "e1m2")
    if saturation == "off" and not always_saturates:
        beyond = inf if inf is not None else nan
        to_beyond = is_inf | (overflow & ~_stays_finite(negative, rounding))
        code = np.where(to_beyond, beyond, code)
    code = code + np.where(negative, sign_bit, 0)
    if name == "hif8":
        code = np.where(code == 0x80, 0, code)  # there is no -0; its code is NaN
        nan_code = 0x80
    else:
        nan_code = 0 if nan is None else nan + np.where(negative, sign_bit, 0)
    keeps_nan = saturation != "on" and not always_saturates
    code = np.where(is_nan, nan_code if keeps_nan else 0, code)
    return code.astype(np.uint16 if name in ("bf16", "f16") else np.uint8)


def hf32(values, away: bool = False) -> np.ndarray:
    """float32 values rounded to 10 mantissa bits, as the cube takes them in HF32 mode."""
    arguments.flag("ascend_sim.formats.hf32", "away", away)
    values = np.ascontiguousarray(_numbers("hf32", "values", values))
    bits = values.view(np.uint32).astype(np.int64)
    rounded = (bits + (0x1000 if away else 0xFFF + (bits >> 13 & 1))) & 0xFFFFE000
    return np.where(np.isnan(values), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))


def unpack_fp4(packed) -> np.ndarray:
    """[..., n] bytes to [..., 2n] codes."""
    packed = _array("unpack_fp4", "packed", packed, "iubfV", "bytes")
    if packed.dtype.itemsize != 1 or packed.ndim == 0:
        raise TypeError(f"ascend_sim.formats.unpack_fp4: packed is {'one' if packed.ndim == 0 else 'an array'} of {packed.dtype}; expected an array of bytes.")
    packed = packed.view(np.uint8)
    return np.stack([packed & 0xF, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)


def pack_fp4(codes) -> np.ndarray:
    """[..., 2n] codes to [..., n] bytes."""
    codes = _integers("pack_fp4", "codes", codes, 8).astype(np.uint8)
    if codes.ndim == 0 or codes.shape[-1] % 2:
        raise ValueError(f"ascend_sim.formats.pack_fp4: codes has shape {list(codes.shape)}; expected an even number in the last axis.")
    return (codes[..., 0::2] & 0xF) | (codes[..., 1::2] << 4)


def _ladder(name: str) -> np.ndarray:
    """Magnitudes by code, with the value where the ladder would go on as the last one."""
    f = FORMATS[name]
    finite = decode(name, np.arange(f.largest + 1)).astype(np.float64)
    above = np.ldexp((f.largest & ((1 << f.mantissa_bits) - 1)) + (1 << f.mantissa_bits) + 1.0,
                     (f.largest >> f.mantissa_bits) - f.bias - f.mantissa_bits)
    return np.append(finite, above)


def _round(magnitudes: np.ndarray, size: np.ndarray, negative: np.ndarray, rounding: str) -> np.ndarray:
    low = np.minimum(np.searchsorted(magnitudes, size, side="right") - 1, len(magnitudes) - 2)
    down, up = size - magnitudes[low], magnitudes[low + 1] - size
    higher = {
        "nearest_even": (down > up) | ((down == up) & (low % 2 == 1)),
        "nearest_away": down >= up,
        "floor": negative & (down > 0),
        "ceil": ~negative & (down > 0),
        "trunc": np.zeros_like(negative),
        "odd": (down > 0) & (low % 2 == 0),
    }[rounding]
    return np.where(size >= magnitudes[-1], len(magnitudes) - 1, low + higher)


def _stays_finite(negative: np.ndarray, rounding: str) -> np.ndarray:
    return {"floor": ~negative, "ceil": negative, "trunc": np.ones_like(negative), "odd": np.ones_like(negative)}.get(
        rounding, np.zeros_like(negative))


def _encode_e8m0(values: np.ndarray, rounding: str) -> np.ndarray:
    """The exponent byte of the magnitude; overflow and inf give 0xFE, NaN 0xFF."""
    powers = np.ldexp(1.0, np.arange(256) - 127)
    size = np.maximum(np.abs(np.where(np.isfinite(values), values, 0)).astype(np.float64), powers[0])
    code = np.minimum(_round(powers, size, np.zeros(values.shape, bool), rounding), 0xFE)
    return np.where(np.isnan(values), 0xFF, np.where(np.isinf(values), 0xFE, code)).astype(np.uint8)


def _hif8_value(code: int) -> float:
    """DK-TYPES: 0000 mmm, 0001 mmm, 001 e mmm, 01 ee mmm, 10 eee mm, 11 eeee m after the sign."""
    bits, sign = f"{code & 0x7F:07b}", -1.0 if code & 0x80 else 1.0
    if code & 0x7F == 0x6F:
        return sign * np.inf
    for dot, exponent_bits in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)):
        if bits.startswith(dot):
            exponent, mantissa = bits[len(dot):][:exponent_bits], bits[len(dot) + exponent_bits:]
            size = int("1" + exponent[1:], 2) if exponent else 0
            power = -size if exponent.startswith("1") else size
            return sign * (1 + int(mantissa, 2) / 2 ** len(mantissa)) * 2.0**power
    if code & 0x7F == 0:
        return np.nan if code else 0.0
    return sign * 2.0 ** (int(bits, 2) - 23)


_HIF8_VALUES = np.array([_hif8_value(code) for code in range(256)], np.float32)
_HIF8_CODES = np.array(sorted((c for c in range(0x80) if c != 0x6F), key=_hif8_value))
_HIF8_MAGNITUDES = np.append(_HIF8_VALUES[_HIF8_CODES].astype(np.float64), 1.5 * 2.0**15)
