# SPDX-License-Identifier: MIT
"""Which inputs and which converters do the format tests share?"""

import ctypes
import os
import pathlib
import subprocess

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
ROUNDINGS = ["nearest_even", "nearest_away", "floor", "ceil", "trunc", "odd", "hybrid"]
SATURATIONS = ["off", "on", "on_keep_nan"]


class Converters:
    """csrc/formats applied to numpy arrays."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))

    def decode(self, name, codes):
        codes = np.ascontiguousarray(codes, np.uint16)
        values = np.empty(codes.shape, np.float32)
        self._call(f"decode_{name}", codes, values)
        return values

    def encode(self, name, values, rounding="nearest_even", saturation="off"):
        values = np.ascontiguousarray(values, np.float32)
        codes = np.empty(values.shape, np.uint16)
        self._call(f"encode_{name}", values, codes, ROUNDINGS.index(rounding), SATURATIONS.index(saturation))
        return codes

    def hf32(self, values, rounding):
        values = np.ascontiguousarray(values, np.float32)
        rounded = np.empty_like(values)
        self._call("round_hf32", values, rounded, ROUNDINGS.index(rounding))
        return rounded

    def _call(self, function, source, target, *controls):
        getattr(self.library, function)(
            source.ctypes.data_as(ctypes.c_void_p), target.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_long(source.size), *map(ctypes.c_int, controls))


@pytest.fixture(scope="session")
def formats(tmp_path_factory):
    library = tmp_path_factory.mktemp("formats") / "harness.so"
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-fPIC", "-shared", f"-I{HERE.parents[1] / 'csrc'}",
               str(HERE / "harness.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return Converters(library)


@pytest.fixture(scope="session")
def f32_inputs():
    """All bf16 and fp16 values, neighbours and midpoints of the narrow formats' values, random bit patterns."""
    half = np.arange(65536, dtype=np.uint16)
    as_bf16 = (half.astype(np.uint32) << 16).view(np.float32)
    as_f16 = half.view(np.float16).astype(np.float32)
    bits = np.random.default_rng(1).integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32)
    near_one = np.random.default_rng(2).standard_normal(100_000).astype(np.float32)
    # Steps of a quarter of the unit of a 10-bit mantissa, around every exponent: ties, and one ulp beside them.
    ticks = (np.arange(0, 2**32, 2**19, dtype=np.uint64)[:, None] + np.array([2**12, 2**18, 3 * 2**17])).ravel()
    ticks = np.concatenate([ticks, ticks - 1, ticks + 1]).astype(np.uint32)
    with np.errstate(invalid="ignore"):
        return np.concatenate([as_bf16, as_f16, bits.view(np.float32), near_one, ticks.view(np.float32)])
