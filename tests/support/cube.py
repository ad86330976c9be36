# SPDX-License-Identifier: MIT
"""The kernels of tests/isa/cube_kernels.cpp, and number formats as numpy and ml_dtypes know them."""

import functools
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch

POISON = 0xA5


@functools.cache
def kernels():
    from ascend_sim import jit
    return jit.compile_all((Path(__file__).parents[1] / "isa" / "cube_kernels.cpp").read_text())


def launch(name: str, *arguments, numbers) -> None:
    """Numpy arrays travel to the device and back; `numbers` becomes the list p."""
    tensors = [torch.from_numpy(np.ascontiguousarray(x).reshape(-1).view(np.uint8)).npu() for x in arguments]
    p = torch.tensor([int(x) for x in numbers], dtype=torch.int64).npu()
    kernel = kernels()[name]
    typed = [x.view(torch.float32) if parameter == "f32*" else x for x, parameter in zip(tensors, kernel.signature, strict=False)]
    kernel[1](*typed, p)
    for array, tensor in zip(arguments, tensors, strict=True):
        array.reshape(-1).view(np.uint8)[:] = tensor.cpu().numpy()


def host_levels() -> list[str]:
    """What this host can multiply with; kernels of cube_kernels.cpp have no vector code, so that one compilation serves all."""
    from ascend_sim import _C
    chosen, found = _C.host_isa(), []
    for level in ("portable", "avx2", "avx512", "amx", "neon"):
        try:
            _C.set_host_isa(level)
            found.append(level)
        except ValueError:
            pass
    _C.set_host_isa(chosen)
    return found


@pytest.fixture(scope="module", params=host_levels())
def host_level(request):
    from ascend_sim import _C
    torch.npu.init()
    chosen = _C.host_isa()
    _C.set_host_isa(request.param)
    yield request.param
    _C.set_host_isa(chosen)


def cycles_of(instruction: str, call, tmp_path) -> list[float]:
    """Simulated cycles from the beginning of each such instruction of one launch until its result is visible."""
    import ascend_sim
    with ascend_sim.profile() as p:
        call()
    path = tmp_path / "trace.json"
    p.export_chrome_trace(path)
    spans = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    return [event["dur"] * 1650 for event in spans if event["name"] == instruction]


# ---- formats ------------------------------------------------------------------------------------------------------------

def hif8_value(code: int) -> float:
    """ascend950.md 7, read off bit by bit."""
    sign, body = -1.0 if code & 0x80 else 1.0, code & 0x7f
    if code == 0x80:
        return np.nan
    if body == 0x6f:
        return sign * np.inf
    if body < 8:
        return sign * 2.0 ** (body - 23) if body else 0.0
    exponent_bits, mantissa_bits = (4, 1) if body >> 5 == 3 else (3, 2) if body >> 5 == 2 else (2, 3) if body >> 5 == 1 else (1, 3) if body >> 4 else (0, 3)
    field, mantissa = body >> mantissa_bits & (1 << exponent_bits) - 1, body & (1 << mantissa_bits) - 1
    exponent = 0
    if exponent_bits:
        top = 1 << (exponent_bits - 1)
        exponent = (-1 if field & top else 1) * (top | field & top - 1)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0**exponent


HIF8 = np.array([hif8_value(code) for code in range(256)])
E1M2 = np.array([code / 4 for code in range(8)] + [-code / 4 for code in range(8)])
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
FLOATS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
          "s8": np.int8, "s32": np.int32}
TABLES = {"hif8": HIF8, "e2m1": E2M1, "e1m2": E1M2}
BITS = {"bf16": 16, "f16": 16, "f32": 32, "e4m3": 8, "e5m2": 8, "hif8": 8, "s8": 8, "e2m1": 4, "e1m2": 4}


def decode(name: str, codes: np.ndarray) -> np.ndarray:
    """float64 values of unsigned codes."""
    if name in TABLES:
        return TABLES[name][codes]
    return codes.view(FLOATS[name]).astype(np.float64)


def encode_exactly(name: str, values: np.ndarray) -> np.ndarray:
    """Codes of values that the format has."""
    if name in TABLES:
        order = np.argsort(TABLES[name], kind="stable")
        codes = order[np.searchsorted(TABLES[name][order], values)].astype(np.uint8)
    else:
        codes = values.astype(FLOATS[name])
        codes = codes.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[codes.itemsize])
    assert (decode(name, codes) == values).all()
    return codes


def row_bytes(name: str, codes: np.ndarray) -> np.ndarray:
    """[rows, bytes]: codes as they lie in memory; of 4-bit ones the even column in the low nibble."""
    if BITS[name] == 4:
        codes = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
        return (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
    return np.ascontiguousarray(codes).view(np.uint8).reshape(len(codes), -1)
