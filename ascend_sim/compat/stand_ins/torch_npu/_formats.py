# SPDX-License-Identifier: MIT
"""Memory formats of the real device. Emulated tensors are always ND, so that a cast to another format is the tensor itself."""

import enum

import torch
from ascend_sim import arguments


class Format(enum.IntEnum):
    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33


def npu_format_cast(input: torch.Tensor, acl_format: int, customize_dtype=None, input_dtype=None) -> torch.Tensor:
    """`input` itself: which format it has is not visible in its values, and kernels here take ND.

    Raises: TypeError for what is no tensor; ValueError for a format that is not known or a tensor that is not on an npu.
    """
    check_npu("npu_format_cast", input)
    if not isinstance(acl_format, int) or isinstance(acl_format, bool) or acl_format not in list(Format):
        raise ValueError(f"torch_npu.npu_format_cast: acl_format is {arguments.shown(acl_format)}; expected one of "
                         f"{', '.join(f'{int(known)} ({known.name})' for known in Format if known >= 0)}.")
    return input


def npu_format_cast_(input: torch.Tensor, acl_format) -> torch.Tensor:
    """The same in place; `acl_format` may be a tensor whose format is meant."""
    return npu_format_cast(input, Format.ND if isinstance(acl_format, torch.Tensor) else acl_format)


def get_npu_format(input: torch.Tensor) -> int:
    """2: ND."""
    check_npu("get_npu_format", input)
    return Format.ND


def check_npu(function: str, tensor) -> None:
    """What the operators of torch_npu take as `input`."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"torch_npu.{function}: input is a {type(tensor).__name__}; expected an npu tensor.")
    if tensor.device.type != "npu":
        raise ValueError(f"torch_npu.{function}: input is on {tensor.device}; expected an npu tensor.")
