# SPDX-License-Identifier: MIT
"""Switches of torch_npu that code sets. Those of the real device's compiler and runtime mean nothing here: they can be read back."""

from types import SimpleNamespace

from ascend_sim import _C, arguments

config = SimpleNamespace(allow_internal_format=True)
matmul = SimpleNamespace(allow_hf32=False)
conv = SimpleNamespace(allow_hf32=True)
_state = {"task_queue": 1, "deterministic_level": 0}
_SYNC_MODES = ("default", "warn", "error")


def set_compile_mode(jit_compile: bool = False) -> None:
    """Nothing is compiled for the device."""


def set_option(option: dict) -> None:
    """Options of the real device's compiler."""
    if not isinstance(option, dict):
        raise TypeError(f"torch.npu.set_option: option is a {type(option).__name__}; expected a dict.")


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What happens when an operator makes the host wait for the device (item(), a copy to the host, nonzero): 0 or "default" nothing,
    1 or "warn" a warning, 2 or "error" an error."""
    mode = _SYNC_MODES.index(debug_mode) if isinstance(debug_mode, str) and debug_mode in _SYNC_MODES else debug_mode
    if not isinstance(mode, int) or mode not in (0, 1, 2):
        raise ValueError(f"torch.npu.set_sync_debug_mode: debug_mode is {arguments.shown(debug_mode)}; expected 0, 1, 2, or default, warn, error.")
    _C.set_sync_debug_mode(int(mode))


def get_sync_debug_mode() -> int:
    return _C.sync_debug_mode()


def set_task_queue_enable(level: int) -> None:
    """Launches are synchronous here whatever the level; it can be read back."""
    _state["task_queue"] = arguments.one_of("torch.npu.set_task_queue_enable", "level", level, (0, 1, 2))


def get_task_queue_enable() -> int:
    return _state["task_queue"]


def set_deterministic_level(level: int) -> None:
    """Results never depend on scheduling here; it can be read back."""
    _state["deterministic_level"] = arguments.one_of("torch.npu.set_deterministic_level", "level", level, (0, 1, 2))


def get_deterministic_level() -> int:
    return _state["deterministic_level"]
