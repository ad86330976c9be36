# SPDX-License-Identifier: MIT
"""The emulated chip: operations as launches of the kernels in csrc/kernels. Takes npu tensors only."""

import importlib.util


def availability() -> tuple[bool, str]:
    """Whether the extension is built, and what it computes on."""
    if importlib.util.find_spec("ascend_sim._C") is None:
        return False, "ascend_sim._C is not built here: run `make build`, or `make -C csrc lib torch` in a checkout"
    return True, "kernels on the emulated chip; tensors on npu"


def check_tensors(function: str, tensors: dict) -> None:
    """Raises ValueError unless every tensor is on a device npu:i."""
    elsewhere = {name: tensor.device for name, tensor in tensors.items() if tensor.device.type != "npu"}
    if elsewhere:
        where = ", ".join(f"{name} on {device}" for name, device in elsewhere.items())
        raise ValueError(
            f"{function}: {where}; the backend 'ascend' takes tensors on npu. Move them with .npu(), or compute where they are "
            "with ASCEND_SIM_BACKEND=torch or ascend_sim.backends.use('torch')."
        )
