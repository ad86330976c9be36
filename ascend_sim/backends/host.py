# SPDX-License-Identifier: MIT
"""How checks read tensors without the device noticing: emulated HBM is host memory, so no launch is charged."""

import ctypes

import torch

from ascend_sim import modes


def holds_values() -> bool:
    """False in timing mode, where tensors may never have been computed."""
    return modes.get() != "timing"


def view(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a cpu tensor, to be read while `tensor` lives; a copy for tensors of devices that are not emulated."""
    if tensor.device.type == "cpu":
        return tensor
    if tensor.device.type != "npu":
        return tensor.cpu()
    if tensor.numel() == 0:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
    storage = tensor.untyped_storage()
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    flat = torch.frombuffer(memory, dtype=tensor.dtype, count=storage.nbytes() // tensor.element_size())
    return torch.as_strided(flat, tensor.shape, tensor.stride(), tensor.storage_offset())


def no_powers_of_two(values: torch.Tensor) -> torch.Tensor:
    """bool like fp32 `values` (cpu): sign or mantissa bits are set, so an exponent byte is not all there is. +0 and inf have only that."""
    return (values.contiguous().view(torch.int32) & 0x807FFFFF) != 0


def first(values: torch.Tensor, chosen: torch.Tensor) -> str:
    """The first chosen value and where it is, as messages say it."""
    at = chosen.nonzero()[0].tolist()
    return f"{values[tuple(at)].item():.9g} at {at}"
