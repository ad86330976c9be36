# SPDX-License-Identifier: MIT
"""How checks read tensors without the device noticing: emulated HBM is host memory, so no launch is charged."""

import torch

from ascend_sim import modes


def holds_values() -> bool:
    """False in timing mode, where tensors may never have been computed."""
    return modes.get() != "timing"


def view(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a cpu tensor; a copy for tensors of devices that are not emulated."""
    if tensor.device.type == "cpu":
        return tensor
    if tensor.device.type == "npu":
        from ascend_sim import _C
        return _C.host_view(tensor)
    return tensor.cpu()
