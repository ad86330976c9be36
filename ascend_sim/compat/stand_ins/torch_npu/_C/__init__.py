# SPDX-License-Identifier: MIT
"""What of torch_npu's native module clients touch: the current stream as a number, and the process group class."""

import torch
from ascend_sim.npu.devices import index_of


def _npu_getCurrentRawStream(device: int) -> int:
    """The handle of the device's current stream, as native code takes it."""
    return torch._C._accelerator_getStream(index_of(device)).stream_id


def __getattr__(name: str):
    if name == "_distributed_c10d":
        import torch_npu._C._distributed_c10d as module
        return module
    raise AttributeError(f"module 'torch_npu._C' has no attribute {name!r}: ascend-sim's stand-in does not have it. What it has: docs/compat.md.")
