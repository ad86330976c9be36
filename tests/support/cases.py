# SPDX-License-Identifier: MIT
"""Which shapes and inputs tests and benchmarks share. The sets are those of DeepGEMM-Ascend's own tests (deep_gemm.md 20.2)."""

import functools
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
import torch
from ascend_sim import backends
from support import nvidia

SUFFIXES = ("nt", "nn", "tn", "tt")
GRAN_K = 32

# (m, n, k)
UNALIGNED_MN = [(4, 4, 64), (17, 4096, 4096), (4096, 17, 4096), (15, 4096, 4096), (4096, 15, 4096), (130, 257, 2048), (513, 257, 4096)]
UNALIGNED_K = [(64, 64, 4), (1024, 2048, 17), (8192, 4096, 15), (128, 128, 234), (2048, 8192, 4095)]
STRIDED = [(4, 4, 4), (4, 4, 16384), (4, 16384, 4), (16384, 4, 4), (16384, 4, 16384), (4, 16384, 16384), (128, 128, 128),
           (256, 512, 1024), (1024, 256, 512), (4096, 4096, 4096)]
NORMAL = [(m, n, k) for m in (1, 128, 4096) for n, k in ((2112, 7168), (576, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048))]
NORMAL_FP32 = [(m, n, k) for m in (1, 128, 4096) for n, k in ((256, 7168), (129280, 7168))]
RECIPES = [(1, 1, 32), (1, 32, 32), (32, 1, 32), (32, 32, 32)]
# 0, 1; 15, 16, 17 (fractal); 31, 33 (scale block); 127, 129 (half a tile); 255, 256, 257 (tile)
EDGES = (1, 15, 16, 17, 31, 33, 127, 129, 255, 256, 257)

# Above these a case is marked `large`: seconds to minutes each, gigabytes of memory.
_DEFAULT_MACS = 2.2e9
_DEFAULT_ELEMENTS = 3e7


def sized(cases: list[tuple[int, int, int]]) -> list:
    """The cases as pytest parameters, the big ones marked `large`."""
    def is_large(m, n, k):
        return m * n * k > _DEFAULT_MACS or max(m * k, n * k, m * n) > _DEFAULT_ELEMENTS
    return [pytest.param(*case, marks=[pytest.mark.large] if is_large(*case) else [], id="x".join(map(str, case))) for case in cases]


@dataclass(frozen=True)
class Operand:
    """A matrix [mn, k] as a function takes it, and its exact values."""

    tensor: object              # a tensor, or (data, sf)
    values: np.ndarray          # float32 [mn, k]: exact for all formats here, half the memory of float64


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def place(values: torch.Tensor, device, mn_major: bool = False, gap: int = 0) -> torch.Tensor:
    """A matrix on the device with the chosen unit-stride axis, and `gap` poisoned elements behind each of its lines."""
    lines = values.T if mn_major else values
    raw = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[values.element_size()]
    buffer = torch.full((lines.shape[0] + bool(gap), lines.shape[1] + gap), _poison(values.dtype), dtype=raw)
    buffer[: lines.shape[0], : lines.shape[1]] = lines.contiguous().view(raw)
    view = buffer.to(device).view(values.dtype)[: lines.shape[0], : lines.shape[1]]
    return view.T if mn_major else view


def _poison(dtype: torch.dtype) -> int:
    """Bits of a NaN; for scale pairs two NaN exponents, for FP4 pairs 6 and -6."""
    return {torch.bfloat16: 0x7FC1, torch.float32: 0x7FC00001, torch.float8_e4m3fn: 0x7F, torch.int16: -1, torch.int8: 0xF7}[dtype]


def bf16(mn: int, k: int, device, seed: int, mn_major: bool = False, gap: int = 0) -> Operand:
    codes, values = _bf16_values(mn, k, seed)
    return Operand(place(codes, device, mn_major, gap), values)


def fp8(mn: int, k: int, device, seed: int, mn_major: bool = False, gap: int = 0, gran_mn: int = 1, sf_dtype=torch.float32) -> Operand:
    """Uniform over all e4m3 codes but NaN, subnormals and +-448 included; scales out of 2^-9, 2^-8, 2^-7. Decoded by ml_dtypes."""
    codes, sf, values = _quantised_values("fp8", mn, k, seed, gran_mn)
    return _quantised(codes.view(torch.float8_e4m3fn), sf, values, device, mn_major, gap, sf_dtype)


def fp4(mn: int, k: int, device, seed: int, mn_major: bool = False, gap: int = 0, gran_mn: int = 1, sf_dtype=torch.float32) -> Operand:
    """Uniform over all e2m1 codes; scales out of 0.25, 0.5, 1. Packed along the axis of unit stride, which is even. Decoded by ml_dtypes."""
    codes, sf, values = _quantised_values("fp4", mn, k, seed, gran_mn)
    return _quantised(pack_fp4(codes, mn_major), sf, values, device, mn_major, gap, sf_dtype)


QUANTISED = {"fp8": fp8, "fp4": fp4}


def pack_fp4(codes: torch.Tensor, mn_major: bool = False) -> torch.Tensor:
    """int8 [mn, k / 2], or [mn / 2, k] if MN-major, of uint8 codes [mn, k]: the even element in the low nibble."""
    if mn_major:
        return (codes[0::2] | codes[1::2] << 4).view(torch.int8)
    return (codes[:, 0::2] | codes[:, 1::2] << 4).view(torch.int8)


def _quantised(data: torch.Tensor, sf: torch.Tensor, values: np.ndarray, device, mn_major: bool, gap: int, sf_dtype) -> Operand:
    if sf_dtype == torch.int16:
        sf = torch.from_numpy(scale_pairs(sf.numpy()))
    return Operand((place(data, device, mn_major, gap), place(sf, device, mn_major, gap)), values)


# Kept for the neighbouring tests, which differ in suffix only and would spend most of their time here.
@functools.lru_cache(maxsize=2)
def _bf16_values(mn: int, k: int, seed: int) -> tuple[torch.Tensor, np.ndarray]:
    codes = torch.randn(mn, k, generator=generator(seed)).bfloat16()
    return codes, codes.float().numpy()


@functools.lru_cache(maxsize=2)
def _quantised_values(number_format: str, mn: int, k: int, seed: int, gran_mn: int) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    """uint8 codes [mn, k], fp32 scales, float32 values [mn, k]."""
    random = generator(seed)
    if number_format == "fp8":
        codes = torch.randint(0, 254, (mn, k), generator=random, dtype=torch.uint8)
        codes += (codes >= 0x7F).to(torch.uint8)                # leaves out 0x7F; 0xFF is not reached
        lowest, dtype = -9, ml_dtypes.float8_e4m3fn
    else:
        codes = torch.randint(0, 16, (mn, k), generator=random, dtype=torch.uint8)
        lowest, dtype = -2, ml_dtypes.float4_e2m1fn
    exponents = torch.randint(lowest, lowest + 3, (-(-mn // gran_mn), -(-k // GRAN_K)), generator=random)
    sf = torch.ldexp(torch.ones(exponents.shape), exponents)
    scales = np.repeat(np.repeat(np.ldexp(np.float32(1), exponents.numpy()), gran_mn, axis=0)[:mn], GRAN_K, axis=1)[:, :k]
    return codes, sf, codes.numpy().view(dtype).astype(np.float32) * scales


def scale_pairs(sf: np.ndarray) -> np.ndarray:
    """int16 [.., ceil(S / 2)] of fp32 powers of two [.., S]: exponent bytes, the even block low; 0 fills up. In numpy: an oracle."""
    exponents = (np.ascontiguousarray(sf).view(np.uint32) >> 23).astype(np.uint8)
    if exponents.shape[-1] % 2:
        exponents = np.concatenate((exponents, np.zeros((*exponents.shape[:-1], 1), np.uint8)), axis=-1)
    return np.ascontiguousarray(exponents).view("<i2")


def poisoned(m: int, n: int, device, dtype=torch.bfloat16, gap: int = 0) -> torch.Tensor:
    """[m, n] full of NaN, `gap` more behind each row: what is not written stays visible."""
    return torch.full((m + bool(gap), n + gap), float("nan"), dtype=dtype).to(device)[:m, :n]


def shaped(operand, suffix_letter: str, transposed_letter: str):
    """The operand [mn, k] as the suffix's caller shapes it: itself, or its transposed view."""
    if suffix_letter != transposed_letter:
        return operand
    return tuple(part.T for part in operand) if isinstance(operand, tuple) else operand.T


def call(module, family: str, suffix: str, a: Operand, b: Operand, d: torch.Tensor, *arguments, **keywords) -> bool:
    """<family>_gemm_<suffix>(a, b, d, ...) with a and b given as [m, k] and [n, k]. Whether it computes: NVIDIA's limits are tested here, too."""
    function = getattr(module, f"{family}_gemm_{suffix}")
    given = shaped(a.tensor, suffix[0], "t"), shaped(b.tensor, suffix[1], "n"), d
    reason = None
    if backends.current().startswith("cuda") and not family.startswith("aclnn"):
        limited = {name: keywords.get(name) for name in ("c", "recipe", "recipe_a", "recipe_b")}
        reason = nvidia.refusal(int(backends.current()[-3:].strip("m")), family, a.tensor, b.tensor, d, **limited)
    if reason is None:
        function(*given, *arguments, **keywords)
        return True
    before = d.clone()
    with pytest.raises((ValueError, TypeError), match=reason):
        function(*given, *arguments, **keywords)
    assert torch.equal(d.view(torch.uint8), before.view(torch.uint8)) if d.numel() and d.stride(-1) == 1 else True
    return False
