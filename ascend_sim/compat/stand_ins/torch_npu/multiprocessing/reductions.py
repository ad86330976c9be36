# SPDX-License-Identifier: MIT
"""How npu tensors are taken apart and put together for another process. Registered already: queues need nothing from here."""

from ascend_sim.npu.multiprocessing import _rebuild as rebuild_tensor
from ascend_sim.npu.multiprocessing import _reduce as reduce_tensor

__all__ = ["rebuild_tensor", "reduce_tensor", "rebuild_npu_tensor"]


def rebuild_npu_tensor(*arguments, **named_arguments):
    """Of the real package, from handles of its driver, which do not exist here."""
    raise NotImplementedError("torch_npu.multiprocessing.reductions.rebuild_npu_tensor: handles of the real driver are not emulated; tensors sent "
                              "through torch.multiprocessing queues arrive as tensors.")
