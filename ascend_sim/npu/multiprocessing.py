# SPDX-License-Identifier: MIT
"""How npu tensors travel through torch.multiprocessing queues: by value.

PyTorch only knows how to share CPU and CUDA memory; an npu tensor put into a queue would fail in the queue's own thread, and the
receiver would wait for ever. The receiver gets a tensor of its own on the same device; writes are not seen on the other side.
"""

from multiprocessing.reduction import ForkingPickler

import torch
from torch.multiprocessing.reductions import reduce_tensor


def install() -> None:
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, _reduce)


def _reduce(tensor: torch.Tensor):
    if tensor.device.type != "npu":
        return reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("an npu tensor that requires grad and is not a leaf cannot be sent to another process; detach() it first.")
    # As plain bytes: a shared CPU tensor could only be received while its sender still runs.
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return _rebuild, (type(tensor), data, tensor.dtype, tensor.shape, tensor.get_device(), tensor.requires_grad)


def _rebuild(kind: type, data: bytes, dtype: torch.dtype, shape: torch.Size, index: int, requires_grad: bool) -> torch.Tensor:
    flat = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
    tensor = flat.view(dtype).view(shape).to(torch.device("npu", index))
    return torch.nn.Parameter(tensor, requires_grad) if kind is torch.nn.Parameter else tensor.requires_grad_(requires_grad)
