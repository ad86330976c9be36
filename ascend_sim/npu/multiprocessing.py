# SPDX-License-Identifier: MIT
"""How npu tensors travel through torch.multiprocessing queues: as tensors on the same memory, like tensors of other devices.

Sender and receiver must both have forked before the first use of a device, or been spawned. As with CPU tensors, the sender has to live
until the receiver has taken the tensor; after that neither needs the other. Sending moves a tensor's storage: addresses that native code
has kept become stale. A storage without bytes has nothing to share and travels as it is.
"""

import os
from multiprocessing import reduction

import torch
from torch.multiprocessing.reductions import reduce_tensor

from ascend_sim import _C


def install() -> None:
    for kind in (torch.Tensor, torch.nn.Parameter):
        reduction.ForkingPickler.register(kind, _reduce)


def _reduce(tensor: torch.Tensor):
    if tensor.device.type != "npu":
        return reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("an npu tensor that requires grad and is not a leaf cannot be sent to another process; detach() it first.")
    nbytes = tensor.untyped_storage().nbytes()
    memory = None
    if nbytes:
        descriptor = _C.share_storage(tensor.detach())
        try:
            memory = reduction.DupFd(descriptor)
        finally:
            os.close(descriptor)
    return _rebuild, (type(tensor), memory, nbytes, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
                      tensor.get_device(), tensor.requires_grad)


def _rebuild(kind: type, memory, nbytes: int, dtype: torch.dtype, shape: tuple, stride: tuple, offset: int, index: int,
             requires_grad: bool) -> torch.Tensor:
    tensor = torch.empty(0, dtype=dtype, device=torch.device("npu", index))
    if memory is None:
        tensor = tensor.new_empty(shape)
    else:
        descriptor = memory.detach()
        try:
            whole = _C.open_shared(descriptor, nbytes, index)
        finally:
            os.close(descriptor)
        tensor.set_(whole.untyped_storage(), offset, shape, stride)
    return torch.nn.Parameter(tensor, requires_grad) if kind is torch.nn.Parameter else tensor.requires_grad_(requires_grad)
