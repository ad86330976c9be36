# SPDX-License-Identifier: MIT
"""torch.distributed under the stand-in: "nccl" means hccl."""

import functools

import torch

from ascend_sim.compat._cuda.devices import redirected, to_npu


def backend_of(name):
    """"nccl" -> "hccl", "cpu:gloo,cuda:nccl" -> "cpu:gloo,npu:hccl"; anything else as it is."""
    if not isinstance(name, str):
        return name
    parts = []
    for part in name.split(","):
        device, colon, backend = part.strip().rpartition(":")
        parts.append(f"{to_npu(device)}{colon}{'hccl' if backend.lower() == 'nccl' else backend}")
    return ",".join(parts)


def patch(patches) -> None:
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d
    for name in ("init_process_group", "new_group"):
        replacement = _with_backend(getattr(distributed_c10d, name))
        patches.set(distributed_c10d, name, replacement)
        patches.set(torch.distributed, name, replacement)
    for owner in (distributed_c10d, torch.distributed):
        patches.set(owner, "is_nccl_available", lambda: True)
    patches.set(torch.distributed, "init_device_mesh", redirected(torch.distributed.init_device_mesh))
    from torch.distributed import device_mesh
    patches.set(device_mesh, "init_device_mesh", torch.distributed.init_device_mesh)
    patches.set(device_mesh.DeviceMesh, "__init__", redirected(device_mesh.DeviceMesh.__init__))


def _with_backend(original):
    position = 0 if original.__name__ == "init_process_group" else 2      # of the argument `backend`

    @functools.wraps(original)
    def with_hccl(*arguments, **named):
        arguments = [backend_of(a) if i == position else to_npu(a) for i, a in enumerate(arguments)]
        named = {name: backend_of(a) if name == "backend" else to_npu(a) for name, a in named.items()}
        return original(*arguments, **named)
    return with_hccl
