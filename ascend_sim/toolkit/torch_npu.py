# SPDX-License-Identifier: MIT
"""What of torch_npu does TileLang import? A module of that name with the current raw stream; everything else is torch.npu's."""

import importlib.util
import sys
import types

import torch


def install() -> None:
    """Makes `import torch_npu` work, unless it does already."""
    if "torch_npu" in sys.modules or importlib.util.find_spec("torch_npu") is not None:
        return
    module = types.ModuleType("torch_npu", "A stand-in of ascend-sim: the part of torch_npu that TileLang uses.")
    native = types.ModuleType("torch_npu._C")
    native._npu_getCurrentRawStream = current_raw_stream
    module.npu, module._C = torch.npu, native
    sys.modules.update({"torch_npu": module, "torch_npu._C": native, "torch_npu.npu": torch.npu})


def current_raw_stream(device: int) -> int:
    """The handle of the device's current stream, as native code takes it."""
    return torch._C._accelerator_getStream(device).stream_id
