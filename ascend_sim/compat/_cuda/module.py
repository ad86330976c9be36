# SPDX-License-Identifier: MIT
"""torch.cuda under the stand-in: torch.npu's functions under the names of torch.cuda, taking cuda devices.

What a CUDA device has and the emulated one lacks raises NotImplementedError and names itself.
"""

import types
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ascend_sim import npu
from ascend_sim.compat._cuda.devices import redirected, to_npu
from ascend_sim.npu import mstx
from ascend_sim.npu.devices import index_of

# The same under both names.
SAME = (
    "MemPool", "can_device_access_peer", "caching_allocator_alloc", "caching_allocator_delete", "change_current_allocator", "current_device",
    "device_count", "empty_cache", "get_allocator_backend", "get_device_name", "get_per_process_memory_fraction", "get_rng_state_all",
    "get_sync_debug_mode", "graph_pool_handle", "init", "initial_seed", "ipc_collect", "is_available", "is_current_stream_capturing",
    "is_initialized", "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_per_process_memory_fraction", "set_rng_state_all", "set_stream",
    "set_sync_debug_mode", "stream", "StreamContext", "synchronize", "use_mem_pool", "utilization", "_lazy_init", "_is_in_bad_fork",
)
# Of the hardware, its driver or NVIDIA's libraries.
MISSING = ("clock_rate", "current_blas_handle", "current_solver_handle", "device_memory_used", "list_gpu_processes", "memory_usage", "power_draw",
           "temperature", "get_stream_from_external", "caching_allocator_enable", "host_memory_stats", "host_memory_stats_as_nested_dict",
           "reset_accumulated_host_memory_stats", "reset_peak_host_memory_stats", "_sleep", "_compile_kernel")
MISSING_MEMORY = ("_record_memory_history", "_snapshot", "_dump_snapshot", "_save_segment_usage", "_save_memory_usage")
TYPES = ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")
_CONSTANT = ("is_available", "device_count", "get_device_capability", "get_device_name", "get_device_properties", "is_bf16_supported")
_PARTS = ("memory", "random", "streams", "graphs")      # submodules of torch.cuda that torch.cuda takes its names from


class Stream(npu.Stream):
    """torch.npu.Stream, with its handle under the name `cuda_stream`."""

    def __new__(cls, device=None, priority: int = 0, **identity):
        return super().__new__(cls, to_npu(device), priority, **identity)

    @property
    def cuda_stream(self) -> int:
        return self.npu_stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """(least, greatest) priority that is told apart: none is."""
        return 0, 0


class ExternalStream(Stream):
    def __new__(cls, stream_ptr: int, device=None, **named):
        return super().__new__(cls, stream_id=stream_ptr, device_index=index_of(to_npu(device)), device_type=npu.streams._DEVICE_TYPE)


class Event(npu.Event):
    """torch.npu.Event, elapsed_time in simulated milliseconds. `external` is accepted."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False):
        return super().__new__(cls, enable_timing, blocking, interprocess)

    @property
    def cuda_event(self) -> int:
        return self.event_id


class device(npu.device):
    def __init__(self, device):
        super().__init__(to_npu(device))


class graph(npu.graph):
    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode: str = "global", **options):
        super().__init__(cuda_graph, pool=pool, stream=stream, capture_error_mode=capture_error_mode)


@dataclass(frozen=True)
class DeviceProperties:
    """What torch.cuda tells of a device; name and figures of the emulated chip. One multiprocessor is one AI core."""

    name: str
    major: int
    minor: int
    total_memory: int                       # bytes
    multi_processor_count: int
    L2_cache_size: int                      # bytes
    warp_size: int = 32
    max_threads_per_multi_processor: int = 2048
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = ""
    uuid: str = ""


class _DefaultGenerators(Sequence):
    """torch.cuda.default_generators; asking for one is the device's first use, importing is not."""

    def __len__(self) -> int:
        return npu.device_count()

    def __getitem__(self, index):
        return npu.default_generator(index)


def get_device_capability(device=None) -> tuple[int, int]:
    """(9, 0) where the backend cuda:sm90 is in use, else (10, 0): like SM100, Ascend takes scale factors as powers of two."""
    from ascend_sim import backends
    index_of(to_npu(device))
    return (9, 0) if backends.current() == "cuda:sm90" else (10, 0)


def get_device_properties(device=None) -> DeviceProperties:
    of_npu = npu.get_device_properties(to_npu(device))
    major, minor = get_device_capability(device)
    return DeviceProperties(name=of_npu.name, major=major, minor=minor, total_memory=of_npu.total_memory,
                            multi_processor_count=of_npu.cube_core_num, L2_cache_size=of_npu.L2_cache_size)


def get_arch_list() -> list[str]:
    major, minor = get_device_capability()
    return [f"sm_{major}{minor}"]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return True


def current_stream(device=None) -> Stream:
    return _as_cuda(npu.current_stream(to_npu(device)))


def default_stream(device=None) -> Stream:
    return _as_cuda(npu.default_stream(to_npu(device)))


def get_rng_state(device="cuda") -> torch.Tensor:
    return npu.get_rng_state(to_npu(device))


def set_rng_state(new_state: torch.Tensor, device="cuda") -> None:
    npu.set_rng_state(new_state, to_npu(device))


def _as_cuda(stream: npu.Stream) -> Stream:
    return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=npu.streams._DEVICE_TYPE)


def _lazy_call(callable, **named) -> None:
    callable()


def cudart():
    """The part of the CUDA runtime that scripts call to bracket a profile; the rest is not there."""
    return types.SimpleNamespace(cudaProfilerStart=lambda: 0, cudaProfilerStop=lambda: 0,
                                 cudaMemGetInfo=lambda device: npu.mem_get_info(to_npu(device)), cudaGetErrorString=lambda code: f"error {code}")


def patch(patches) -> None:
    cuda = torch.cuda
    new = {name: redirected(getattr(npu, name)) if isinstance(getattr(npu, name), types.FunctionType) else getattr(npu, name) for name in SAME}
    new |= {name: _missing(f"torch.cuda.{name}") for name in MISSING}
    new |= {f"{name}Tensor": npu_type for name in TYPES for npu_type in (getattr(npu, f"{name}Tensor"),)}
    new |= {
        "Stream": Stream, "ExternalStream": ExternalStream, "Event": Event, "device": device, "device_of": npu.device_of, "graph": graph,
        "CUDAGraph": npu.NPUGraph, "CUDAPluggableAllocator": npu.NPUPluggableAllocator, "default_generators": _DefaultGenerators(),
        "get_device_capability": get_device_capability, "get_device_properties": get_device_properties, "get_arch_list": get_arch_list,
        "current_stream": current_stream, "default_stream": default_stream, "get_rng_state": get_rng_state, "set_rng_state": set_rng_state,
        "_lazy_call": _lazy_call, "cudart": cudart, "is_tf32_supported": lambda: False,
        "is_bf16_supported": is_bf16_supported, "get_gencode_flags": lambda: "",
        "_exchange_device": _exchange_device, "_maybe_exchange_device": _maybe_exchange_device,
    }
    for name in _CONSTANT:
        new[name]._dynamo_marked_constant = True        # as torch.compiler.assume_constant_result does, without importing dynamo
    for name, value in new.items():
        patches.set(cuda, name, value)
        for part in _PARTS:
            module = getattr(cuda, part)
            if name in vars(module):
                patches.set(module, name, value)
    for name in MISSING_MEMORY:
        patches.set(cuda.memory, name, _missing(f"torch.cuda.memory.{name}"))
    patches.set(cuda.nccl, "version", _missing("torch.cuda.nccl.version"))
    for name, value in {"range_push": _range_push, "range_pop": _range_pop, "range_start": mstx.range_start, "range_end": mstx.range_end,
                        "mark": mstx.mark}.items():
        patches.set(cuda.nvtx, name, value)


def _exchange_device(index: int) -> int:
    before = npu.current_device()
    if index >= 0:
        npu.set_device(index)
    return before


def _maybe_exchange_device(index: int) -> int:
    return _exchange_device(index)


_ranges: list[int] = []         # of range_push


def _range_push(msg: str) -> int:
    _ranges.append(mstx.range_start(msg))
    return len(_ranges) - 1


def _range_pop() -> int:
    if not _ranges:
        raise RuntimeError("torch.cuda.nvtx.range_pop: no range is open.")
    mstx.range_end(_ranges.pop())
    return len(_ranges)


def _missing(name: str):
    def missing(*arguments, **named):
        raise NotImplementedError(f"{name}: there is no such thing on an emulated npu, which \"cuda\" means here (docs/compat.md).")
    missing.__name__ = missing.__qualname__ = name.rpartition(".")[2]
    missing.__doc__ = f"Raises NotImplementedError naming {name}."
    return missing
