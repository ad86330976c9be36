# SPDX-License-Identifier: MIT
"""What torch.nn.DataParallel moves tensors with: PyTorch has these functions only where it was built for CUDA."""

import torch


def install() -> None:
    """Defines those that torch._C lacks; a build for CUDA has them all."""
    for name, function in (("_broadcast", broadcast), ("_broadcast_out", broadcast_out), ("_broadcast_coalesced", broadcast_coalesced),
                           ("_scatter", scatter), ("_scatter_out", scatter_out), ("_gather", gather), ("_gather_out", gather_out)):
        if not hasattr(torch._C, name):
            setattr(torch._C, name, function)


def broadcast(tensor, devices) -> list:
    """The tensor on each device: itself where it is, copies elsewhere."""
    return [tensor.to(_npu(device)) for device in devices]


def broadcast_out(tensor, out) -> list:
    return [target.copy_(tensor) for target in out]


def broadcast_coalesced(tensors, devices, buffer_size) -> list[list]:
    return [[tensor.to(_npu(device)) for tensor in tensors] for device in devices]


def scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None) -> tuple:
    """Equal parts along `dim`, the last ones smaller, or parts of `chunk_sizes`; each on its device."""
    parts = tensor.split(list(chunk_sizes), dim) if chunk_sizes is not None else tensor.chunk(len(devices), dim)
    return tuple(part.to(_npu(device)) for part, device in zip(parts, devices))


def scatter_out(tensor, out, dim=0, streams=None) -> tuple:
    parts = tensor.split([target.shape[dim] for target in out], dim)
    return tuple(target.copy_(part) for target, part in zip(out, parts))


def gather(tensors, dim, destination=None):
    """All parts along `dim` on the device `destination`: an index, -1 for the CPU, None for the current one."""
    where = torch.device("cpu") if destination == -1 else _npu(destination)
    return torch.cat([tensor.to(where) for tensor in tensors], dim)


def gather_out(tensors, out, dim):
    return out.copy_(torch.cat([tensor.to(out.device) for tensor in tensors], dim))


def _npu(device) -> torch.device:
    if isinstance(device, int):
        return torch.device("npu", device)
    return torch.device("npu", torch.npu.current_device()) if device is None else torch.device(device)
