# SPDX-License-Identifier: MIT
"""torch.distributed on npu tensors: the backend "hccl", which stands on Gloo and so runs on one machine or many.

    torch.distributed.init_process_group("hccl")                    npu tensors only
    torch.distributed.init_process_group("cpu:gloo,npu:hccl")       both

What it does differently from Gloo: npu tensors on the same bytes, any dtype where data is only moved, ReduceOp.AVG, reductions of bool
and int16. Simulated time: csrc/torch/process_group.h.
"""

import torch


def install() -> None:
    """Makes "hccl" the backend of npu devices. Importing torch.distributed is left to torch."""
    if not torch.distributed.is_available():
        return
    torch.distributed.Backend.register_backend("hccl", _create, extended_api=True, devices=["npu"])


def process_group_class() -> type:
    """ProcessGroupHCCL, with its Options; made when first asked for."""
    from ascend_sim import _C
    if not hasattr(_C, "ProcessGroupHCCL"):
        _C.define_process_group(_C)
    return _C.ProcessGroupHCCL


def _create(settings, options):
    kind = process_group_class()
    if options is not None and not isinstance(options, kind.Options):
        raise TypeError(f"hccl: pg_options is a {type(options).__name__}; expected ProcessGroupHCCL.Options or None.")
    gloo = torch.distributed.ProcessGroupGloo(settings.store, settings.group_rank, settings.group_size, timeout=settings.timeout)
    return kind(gloo, options)


def __getattr__(name: str):
    if name == "ProcessGroupHCCL":
        return process_group_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
