# SPDX-License-Identifier: MIT
"""What a process sets for all later calls. Source: deep_gemm.md 5; docs/deep_gemm.md, "Runtime settings"."""

from ascend_sim import chips, config, parity
from ascend_sim.backends import settings

__all__ = [
    "set_num_sms", "get_num_sms", "set_npu_arch", "get_npu_arch",
    "use_deterministic_algorithms", "get_deterministic_algorithms",
    "set_mk_alignment_for_contiguous_layout", "get_mk_alignment_for_contiguous_layout",
    "get_theoretical_mk_alignment_for_contiguous_layout",
]

_MK_ALIGNMENT = 256


def set_num_sms(num_sms: int, /) -> None:
    """How many AI cores later kernels use, 1 to the device's number.

    Parity: 0 ("all", as on CUDA) warns. Raises: ValueError for other values, TypeError for what is not an int.
    """
    if type(num_sms) is not int:
        raise TypeError(f"set_num_sms: num_sms is {num_sms!r}; expected an int.")
    if not 0 <= num_sms <= _device_cores():
        raise ValueError(f"set_num_sms: num_sms is {num_sms}; expected 1 to {_device_cores()}, the device's AI cores.")
    if num_sms == 0:
        parity.differs("set_num_sms", "zero", "num_sms = 0 (all cores) is only known to the CUDA library.")
    settings.deep_gemm.num_sms = num_sms


def get_num_sms() -> int:
    """How many AI cores kernels use: what was set, else all of the device."""
    return settings.deep_gemm.num_sms or _device_cores()


def set_npu_arch(arch: int) -> None:
    """The architecture number that kernels are compiled for; 0, the default, asks the device. Kept, without effect here."""
    if type(arch) is not int or arch < 0:
        raise ValueError(f"set_npu_arch: arch is {arch!r}; expected an int of at least 0 (0: the device's own).")
    settings.deep_gemm.npu_arch = arch


def get_npu_arch() -> int:
    """What set_npu_arch was told last; 0 by default."""
    return settings.deep_gemm.npu_arch


def use_deterministic_algorithms(enabled: bool) -> None:
    """Whether kernels that could add in a varying order must not. All kernels here are deterministic either way."""
    settings.deep_gemm.deterministic = bool(enabled)


def get_deterministic_algorithms() -> bool:
    """What use_deterministic_algorithms was told last; False by default."""
    return settings.deep_gemm.deterministic


def set_mk_alignment_for_contiguous_layout(alignment: int) -> None:
    """Accepts 256 only, where rows of a group start in grouped layouts. Raises: ValueError for anything else (CUDA's default is 128)."""
    if alignment != _MK_ALIGNMENT:
        raise ValueError(f"set_mk_alignment_for_contiguous_layout: alignment is {alignment!r}; expected {_MK_ALIGNMENT}: "
                         "it is fixed on Ascend. Lay groups out by get_mk_alignment_for_contiguous_layout().")


def get_mk_alignment_for_contiguous_layout() -> int:
    """256: groups of a grouped layout start at multiples of it."""
    return _MK_ALIGNMENT


def get_theoretical_mk_alignment_for_contiguous_layout(expected_m: int | None = None) -> int:
    """256. `expected_m` is CUDA's hint; giving it warns, since the Ascend function takes no argument."""
    if expected_m is not None:
        parity.differs("get_theoretical_mk_alignment_for_contiguous_layout", "expected_m",
                       f"expected_m = {expected_m} is only known to the CUDA library.")
    return _MK_ALIGNMENT


def _device_cores() -> int:
    return int(chips.load(config.chip())["cores.ai_cores"])
