# SPDX-License-Identifier: MIT
"""How many cores kernels may have: of a device, of a stream. Kernels divide their work among as many, and take the longer."""

from ascend_sim import _C, arguments
from ascend_sim.npu.devices import get_device_properties, index_of
from ascend_sim.npu.streams import npu_stream

_WHOLE_DEVICE = -1


def set_device_limit(device, cube_num: int = -1, vector_num: int = -1) -> None:
    """Launches on `device` get at most so many cube and vector cores; -1: all.

    An AI core is one cube core and two vector cores, and is given whole, so the smaller of the two counts."""
    index = index_of(device)
    _C.set_core_limit(index, _WHOLE_DEVICE, _ai_cores("set_device_limit", index, cube_num, vector_num))


def get_device_limit(device=None) -> dict[str, int]:
    return _as_dict(_C.core_limit(index_of(device), _WHOLE_DEVICE))


def set_stream_limit(stream, cube_num: int = -1, vector_num: int = -1) -> None:
    """The same for the launches on one stream; the smaller of both limits holds."""
    npu_stream("torch.npu.set_stream_limit", stream)
    _C.set_core_limit(stream.device_index, stream.stream_id, _ai_cores("set_stream_limit", stream.device_index, cube_num, vector_num))


def get_stream_limit(stream) -> dict[str, int]:
    npu_stream("torch.npu.get_stream_limit", stream)
    return _as_dict(_C.core_limit(stream.device_index, stream.stream_id))


def reset_stream_limit(stream) -> None:
    npu_stream("torch.npu.reset_stream_limit", stream)
    _C.set_core_limit(stream.device_index, stream.stream_id, 0)


def _ai_cores(function: str, index: int, cube_num: int, vector_num: int) -> int:
    """0: no limit."""
    properties = get_device_properties(index)
    for name, count, most in (("cube_num", cube_num, properties.cube_core_num), ("vector_num", vector_num, properties.vector_core_num)):
        if not isinstance(count, int) or isinstance(count, bool) or (count != -1 and not 1 <= count <= most):
            error = ValueError if isinstance(count, int) else TypeError
            raise error(f"torch.npu.{function}: {name} is {arguments.shown(count)}; expected 1 to {most}, or -1 for all.")
    cores = min(count for count in (cube_num, (vector_num + 1) // 2 if vector_num != -1 else -1, properties.cube_core_num) if count != -1)
    return cores if cores < properties.cube_core_num else 0


def _as_dict(cores: int) -> dict[str, int]:
    return {"cube_core_num": cores, "vector_core_num": 2 * cores}
