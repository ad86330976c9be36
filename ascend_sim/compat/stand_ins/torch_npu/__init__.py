# SPDX-License-Identifier: MIT
"""torch_npu as emulated by ascend-sim: what code written for Ascend imports from the package of that name, on the emulated device.

torch_npu.npu is torch.npu. What the real package has and this one lacks is an AttributeError, so hasattr tells the truth.
docs/compat.md lists what is here.
"""

import importlib
import sys

import ascend_sim.npu as _npu
import torch as _torch
from torch_npu import _dtypes
from torch_npu._attention import npu_fusion_attention
from torch_npu._dtypes import npu_dtype_cast
from torch_npu._formats import Format, get_npu_format, npu_format_cast, npu_format_cast_

__version__ = "2.13.0+ascend.sim"
__all__ = ["Format", "get_npu_format", "npu", "npu_dtype_cast", "npu_format_cast", "npu_format_cast_", "npu_fusion_attention", "profiler"]

npu = _torch.npu
sys.modules["torch_npu.npu"] = _npu
for _name in _npu.SUBMODULES:
    sys.modules[f"torch_npu.npu.{_name}"] = importlib.import_module(f"ascend_sim.npu.{_name}")
globals().update(_dtypes.NUMBERS)

from torch_npu import _C, profiler  # noqa: E402, F401

_SUBMODULES = ("contrib", "multiprocessing", "optim")


def __getattr__(name: str):
    if name in _SUBMODULES:
        return importlib.import_module(f"torch_npu.{name}")
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}: ascend-sim's stand-in does not have it. What it has: docs/compat.md.")
