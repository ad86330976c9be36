# SPDX-License-Identifier: MIT
"""How npu tensors say to DLPack where they are: torch 2.13 knows PrivateUse1 only under that name, not renamed."""

import functools

import torch

KDL_EXT_DEV = 12        # DLDeviceType.kDLExtDev


def patch() -> None:
    """Teaches Tensor.__dlpack_device__ about npu; other devices take the way they took before."""
    original = torch.Tensor.__dlpack_device__

    @functools.wraps(original)
    def __dlpack_device__(self):
        if type(self) is torch.Tensor or not torch.overrides.has_torch_function_unary(self):
            if self.device.type == "npu":
                return torch.utils.dlpack.DLDeviceType(KDL_EXT_DEV), self.device.index
        return original(self)

    torch.Tensor.__dlpack_device__ = __dlpack_device__
