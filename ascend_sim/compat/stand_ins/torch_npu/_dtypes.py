# SPDX-License-Identifier: MIT
"""torch_npu's names for number types, which are integers: 256 plus the number that ACL gives the type.

Source: custom_device.md 10; the numbers of the plain types are those of ACL's public type list.
"""

import torch
from ascend_sim import arguments
from torch_npu._formats import check_npu

_OFFSET = 256
_ACL = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9, "uint64": 10, "float64": 11,
    "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27, "int4": 29, "complex32": 33, "hifloat8": 34, "float8_e5m2": 35,
    "float8_e4m3fn": 36, "float8_e8m0fnu": 37, "float4_e2m1fn_x2": 40, "float4_e1m2fn_x2": 41,
}
_ALIASES = {"float": "float32", "double": "float64", "half": "float16", "short": "int16", "int": "int32", "long": "int64"}
NUMBERS = {name: _OFFSET + number for name, number in _ACL.items()}
NUMBERS |= {alias: NUMBERS[name] for alias, name in _ALIASES.items()}
_TORCH = {NUMBERS[name]: getattr(torch, name) for name in _ACL if isinstance(getattr(torch, name, None), torch.dtype)}


def torch_dtype(dtype) -> torch.dtype:
    """The torch.dtype that a number or a torch.dtype means. Raises: TypeError for anything else, also for types that torch lacks."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if type(dtype) is int and dtype in _TORCH:
        return _TORCH[dtype]
    known = next((name for name, number in NUMBERS.items() if type(dtype) is int and number == dtype), None)
    if known is not None:
        raise TypeError(f"torch_npu: PyTorch has no dtype for torch_npu.{known} ({dtype}).")
    raise TypeError(f"torch_npu: dtype is {arguments.shown(dtype)}; expected a torch.dtype or one of torch_npu's numbers, {_OFFSET} and up.")


def npu_dtype_cast(input: torch.Tensor, dtype) -> torch.Tensor:
    """`input`, an npu tensor, as another type; `dtype` is a torch.dtype or one of torch_npu's numbers."""
    check_npu("npu_dtype_cast", input)
    return input.to(torch_dtype(dtype))
