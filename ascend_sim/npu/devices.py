# SPDX-License-Identifier: MIT
"""Which devices there are, which is current, and what they are."""

import operator
from dataclasses import dataclass

import torch

from ascend_sim import _C, arguments, config, npu
from ascend_sim.npu import _registration

SOC_VERSION_950 = 260       # the whole Ascend950 family, as torch_npu numbers it


def index_of(device) -> int:
    """The index meant by None (the current device), an int, "npu", "npu:1" or a torch.device."""
    if device is None:
        return current_device()
    if isinstance(device, str):
        try:
            device = torch.device(device)
        except RuntimeError:            # whose message lists devices that nobody has here
            raise _no_device(device) from None
    if isinstance(device, torch.device):
        if device.type != _registration.NAME:
            raise _no_device(str(device))
        device = device.index if device.index is not None else current_device()
    if type(device) is not int:
        if isinstance(device, bool) or not hasattr(type(device), "__index__") or isinstance(device, torch.Tensor):
            raise _no_device(device)
        device = operator.index(device)
    if device < 0:
        return current_device()
    if device >= device_count():
        raise RuntimeError(f"torch.npu: device index {arguments.shown(device)} does not exist; expected 0 to {device_count() - 1} "
                           "(ASCEND_SIM_DEVICES, ASCEND_RT_VISIBLE_DEVICES).")
    return device


def _no_device(given) -> ValueError:
    return ValueError(f"torch.npu: device {arguments.shown(given)} given; expected an npu device, an index or None.")


def is_available() -> bool:
    """Never raises; device_count() tells what is wrong with the settings if this says False."""
    try:
        return device_count() > 0
    except Exception:
        return False


def device_count() -> int:
    return _C.device_count()


def current_device() -> int:
    _lazy_init()
    return _C.current_device()


def set_device(device) -> None:
    _lazy_init()
    _C.set_device(index_of(device))


def init() -> None:
    _lazy_init()


def is_initialized() -> bool:
    return npu._initialized


def _lazy_init() -> None:
    """PyTorch calls this before it first touches a device."""
    _C.check_not_forked()
    if not npu._initialized:
        _C.device_count()       # raises for settings that make no sense
        npu._initialized = True


def _is_in_bad_fork() -> bool:
    """Whether this process was forked after its parent had used a device; using one then raises."""
    return _C.is_in_bad_fork()


class device:
    """Makes a device current inside a `with` block; None or a negative index leaves the current one."""

    def __init__(self, device):
        self.idx = -1 if device is None else index_of(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = current_device()
            _C.set_device(self.idx)
        return self

    def __exit__(self, *exception):
        if self.idx >= 0:
            _C.set_device(self.prev_idx)
        return False


class device_of(device):
    """Makes the device of a tensor current; a tensor that is not on an npu leaves the current one."""

    def __init__(self, obj):
        arguments.instance("torch.npu.device_of", "obj", obj, (torch.Tensor, torch.UntypedStorage, torch.TypedStorage), "a tensor or a storage")
        super().__init__(obj.get_device() if obj.device.type == _registration.NAME else None)


def synchronize(device=None) -> None:
    """Moves the host's simulated clock to the end of everything on the device; its values are there already."""
    torch.accelerator.synchronize(index_of(device))


@dataclass(frozen=True)
class NPUDeviceProperties:
    """The first five carry values of the emulated chip; the others exist because code written for other devices asks for them."""

    name: str
    total_memory: int           # bytes
    cube_core_num: int
    vector_core_num: int
    L2_cache_size: int          # bytes
    major: int = 0
    minor: int = 0
    is_multi_gpu_board: int = 0
    is_integrated: int = 0
    multi_processor_count: int = 0
    max_threads_per_multi_processor: int = 0
    warp_size: int = 0
    regs_per_multiprocessor: int = 0
    gcnArchName: str = ""
    uuid: str = ""


def get_device_properties(device_name=None) -> NPUDeviceProperties:
    index = index_of(device_name)
    chip = _registration.chip()
    cores = int(chip["cores.ai_cores"])
    return NPUDeviceProperties(
        name=get_device_name(index),
        total_memory=_C.memory_info(index)[1],
        cube_core_num=cores,
        vector_core_num=2 * cores,      # each AI core has one cube core and two vector cores
        L2_cache_size=int(chip["l2.capacity"]),
    )


def get_device_name(device_name=None) -> str:
    index_of(device_name)
    return "Ascend" + _registration.chip().name


def get_device_capability(device=None) -> tuple[int, int] | None:
    """None, as torch_npu: the chips have no such number. TORCH_NPU_DEVICE_CAPABILITY=9.0 makes it (9, 0), for code that insists on one."""
    index_of(device)
    return config.device_capability()


def get_soc_version() -> int:
    return SOC_VERSION_950


def can_device_access_peer(device_id, peer_device_id) -> bool:
    """All emulated devices of a process share one address space."""
    first, second = index_of(device_id), index_of(peer_device_id)
    return first != second


def is_bf16_supported(including_emulation: bool = False) -> bool:
    return True


def utilization(device=None) -> int:
    """0: execution is synchronous, so a device is idle whenever anyone can ask."""
    index_of(device)
    return 0
