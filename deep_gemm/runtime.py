# SPDX-License-Identifier: MIT
"""What a process sets for all later calls. Source: deep_gemm.md 5; docs/deep_gemm.md, "Runtime settings"."""

from pathlib import Path

from ascend_sim import arguments, backends, config, parity
from ascend_sim.backends import settings

__all__ = [
    "set_num_sms", "get_num_sms", "set_npu_arch", "get_npu_arch",
    "use_deterministic_algorithms", "get_deterministic_algorithms",
    "set_mk_alignment_for_contiguous_layout", "get_mk_alignment_for_contiguous_layout",
    "get_theoretical_mk_alignment_for_contiguous_layout", "get_library_root_path", "ASCEND_HOME",
    "set_tc_util", "get_tc_util", "set_pdl", "get_pdl", "set_ignore_compile_dims", "set_block_size_multiple_of",
]

ASCEND_HOME = config.ascend_home()      # of the toolkit that the real library compiles with; nothing is read there


def set_num_sms(num_sms: int, /) -> None:
    """How many AI cores later kernels use, 1 to the device's number. On the backend cuda: multiprocessors, of which 0 means all.

    Parity: 0 ("all", as on CUDA) warns. Raises: ValueError for other values, TypeError for what is not an int.
    """
    if type(num_sms) is not int:
        raise TypeError(f"set_num_sms: num_sms is {arguments.shown(num_sms)}; expected an int.")
    if not 0 <= num_sms <= _device_cores():
        raise ValueError(f"set_num_sms: num_sms is {arguments.shown(num_sms)}; expected 1 to {_device_cores()}, as many cores as the device has.")
    if num_sms == 0:
        parity.differs("set_num_sms", "num_sms 0", "num_sms = 0 (all cores) is only known to the CUDA library.")
    settings.deep_gemm.num_sms = num_sms


def get_num_sms() -> int:
    """How many AI cores kernels use: what was set, else all of the device. On the backend cuda its multiprocessors: those of the CUDA device,
    or 132 (SM90, H100 SXM) and 148 (SM100, B200) where there is none."""
    return min(settings.deep_gemm.num_sms or _device_cores(), _device_cores())


def set_npu_arch(arch: int) -> None:
    """The architecture number that kernels are compiled for; 0, the default, asks the device. Kept, without effect here."""
    if type(arch) is not int or arch < 0:
        raise ValueError(f"set_npu_arch: arch is {arguments.shown(arch)}; expected an int of at least 0 (0: the device's own).")
    settings.deep_gemm.npu_arch = arch


def get_npu_arch() -> int:
    """What set_npu_arch was told last; 0 by default."""
    return settings.deep_gemm.npu_arch


def use_deterministic_algorithms(enabled: bool) -> None:
    """Whether kernels that could add in a varying order must not. All kernels here are deterministic either way."""
    settings.deep_gemm.deterministic = arguments.flag("use_deterministic_algorithms", "enabled", enabled)


def get_deterministic_algorithms() -> bool:
    """What use_deterministic_algorithms was told last; False by default."""
    return settings.deep_gemm.deterministic


def set_mk_alignment_for_contiguous_layout(alignment: int) -> None:
    """Accepts 256 only, where rows of a group start in grouped layouts. Raises: ValueError for anything else (backend cuda: any, 128 by default)."""
    backends.limits("deep_gemm").set_mk_alignment(alignment)


def get_mk_alignment_for_contiguous_layout() -> int:
    """256: groups of a grouped layout start at multiples of it. On the backend cuda what was set, 128 by default."""
    return backends.limits("deep_gemm").mk_alignment()


def get_theoretical_mk_alignment_for_contiguous_layout(expected_m: int | None = None) -> int:
    """256. `expected_m` is CUDA's hint; giving it warns, since the Ascend function takes no argument. On the backend cuda as there."""
    if expected_m is not None:
        arguments.whole("get_theoretical_mk_alignment_for_contiguous_layout", "expected_m", expected_m, 0, 2**63 - 1)
        parity.differs("get_theoretical_mk_alignment_for_contiguous_layout", "expected_m",
                       f"expected_m = {expected_m} is only known to the CUDA library.")
    return backends.limits("deep_gemm").theoretical_mk_alignment(expected_m)


def get_library_root_path() -> str:
    """The folder of this package. The real library's headers are there; kernels here are built in."""
    return str(Path(__file__).parent)


# Hints and switches that only the CUDA library has. They are kept and change neither results nor simulated times.

def set_tc_util(percent: int) -> None:
    """CUDA: how much of the tensor cores kernels should use, 0 to 100; 0 reads back as 100. Warns."""
    if type(percent) is not int or not 0 <= percent <= 100:
        raise ValueError(f"set_tc_util: percent is {arguments.shown(percent)}; expected an int from 0 to 100.")
    _only_cuda("set_tc_util")
    settings.deep_gemm.tc_util = percent


def get_tc_util() -> int:
    """What set_tc_util was told last; 100 by default."""
    return settings.deep_gemm.tc_util or 100


def set_pdl(enabled: bool) -> None:
    """CUDA: programmatic dependent launch. Warns."""
    enabled = arguments.flag("set_pdl", "enabled", enabled)
    _only_cuda("set_pdl")
    settings.deep_gemm.pdl = enabled


def get_pdl() -> bool:
    """What set_pdl was told last; False by default."""
    return settings.deep_gemm.pdl


def set_ignore_compile_dims(enabled: bool) -> None:
    """CUDA: whether compiled_dims is ignored, which it always is here. Warns."""
    arguments.flag("set_ignore_compile_dims", "enabled", enabled)
    _only_cuda("set_ignore_compile_dims")


def set_block_size_multiple_of(multiple: int | tuple[int, int]) -> None:
    """CUDA: of what block sizes have to be multiples; kernels here choose their own. Warns."""
    pair = multiple if isinstance(multiple, (tuple, list)) else (multiple, multiple)
    if len(pair) != 2 or not all(type(size) is int and size > 0 for size in pair):
        raise ValueError(f"set_block_size_multiple_of: multiple is {arguments.shown(multiple)}; expected a positive int or two of them.")
    _only_cuda("set_block_size_multiple_of")


def _only_cuda(function: str) -> None:
    parity.differs(function, "hints", "only the CUDA library has this function; it has no effect here.")


def _device_cores() -> int:
    return backends.limits("deep_gemm").num_sms()
