# SPDX-License-Identifier: MIT
"""Switches of torch_npu that code sets and that mean nothing here: they can be written and read back."""

from types import SimpleNamespace

config = SimpleNamespace(allow_internal_format=True)
matmul = SimpleNamespace(allow_hf32=False)
conv = SimpleNamespace(allow_hf32=True)


def set_compile_mode(jit_compile: bool = False) -> None:
    """Nothing is compiled for the device."""


def set_option(option: dict) -> None:
    """Options of the real device's compiler."""
    if not isinstance(option, dict):
        raise TypeError(f"torch.npu.set_option: option is a {type(option).__name__}; expected a dict.")
