# SPDX-License-Identifier: MIT
"""How much emulated HBM is in use. Figures are bytes; memory is counted in blocks of 512, as the device's allocator rounds."""

import torch

from ascend_sim import _C, arguments
from ascend_sim.npu.devices import index_of


def mem_get_info(device=None) -> tuple[int, int]:
    """(free, total) of the emulated memory, whatever the host has."""
    return _C.memory_info(index_of(device))


def memory_allocated(device=None) -> int:
    return torch.accelerator.memory_allocated(index_of(device))


def max_memory_allocated(device=None) -> int:
    return torch.accelerator.max_memory_allocated(index_of(device))


def memory_reserved(device=None) -> int:
    return torch.accelerator.memory_reserved(index_of(device))


def max_memory_reserved(device=None) -> int:
    return torch.accelerator.max_memory_reserved(index_of(device))


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved      # their old names


def memory_stats(device=None) -> dict:
    return torch.accelerator.memory_stats(index_of(device))


def memory_stats_as_nested_dict(device=None) -> dict:
    nested: dict = {}
    for key, value in memory_stats(device).items():
        *path, last = key.split(".")
        level = nested
        for part in path:
            level = level.setdefault(part, {})
        level[last] = value
    return nested


def reset_peak_memory_stats(device=None) -> None:
    torch.accelerator.reset_peak_memory_stats(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None) -> None:
    torch.accelerator.reset_accumulated_memory_stats(index_of(device))


def empty_cache() -> None:
    """Gives freed memory back to the host."""
    torch.accelerator.empty_cache()


def host_empty_cache() -> None:
    torch.accelerator.empty_host_cache()


def ipc_collect() -> None:
    """Memory of other processes is let go of with its last tensor, so there is nothing to collect."""


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """This process gets torch.OutOfMemoryError beyond `fraction` (0 to 1) of the device's memory."""
    fraction = arguments.number("torch.npu.set_per_process_memory_fraction", "fraction", fraction, 0, 1)
    index = index_of(device)
    _C.set_memory_limit(index, int(_C.memory_info(index)[1] * fraction))


def get_per_process_memory_fraction(device=None) -> float:
    index = index_of(device)
    return _C.memory_limit(index) / _C.memory_info(index)[1]


def memory_snapshot() -> list[dict]:
    """One entry a device in use, with its blocks in address order."""
    from ascend_sim.npu.devices import device_count
    snapshot = []
    for index in range(device_count()):
        blocks = _C.memory_blocks(index) if memory_reserved(index) else []
        if blocks:
            snapshot.append({
                "device": index, "address": blocks[0][0], "segment_type": "large",
                "total_size": sum(size for _, size, _, _ in blocks),
                "allocated_size": sum(size for _, size, _, live in blocks if live),
                "blocks": [{"address": address, "size": size, "requested_size": requested,
                            "state": "active_allocated" if live else "inactive"}
                           for address, size, requested, live in blocks],
            })
    return snapshot


def memory_summary(device=None, abbreviated: bool = False) -> str:
    index = index_of(device)
    stats = memory_stats(index)
    free, total = mem_get_info(index)
    rows = [("", "current", "peak")]
    for label, key in (("allocated", "allocated_bytes"), ("reserved", "reserved_bytes")):
        rows.append((label, *(f"{stats.get(f'{key}.all.{when}', 0) / 2**20:.1f} MiB" for when in ("current", "peak"))))
    rows.append(("blocks", *(str(stats.get(f"allocation.all.{when}", 0)) for when in ("current", "peak"))))
    lines = [f"npu:{index}, {total / 2**30:.1f} GiB of emulated HBM, {free / 2**30:.1f} GiB free"]
    return "\n".join(lines + [f"{name:<12}{now:>16}{peak:>16}" for name, now, peak in rows])


def caching_allocator_alloc(size: int, device=None, stream=None) -> int:
    """The address of `size` bytes of HBM, to be given back with caching_allocator_delete."""
    size = arguments.whole("torch.npu.caching_allocator_alloc", "size", size, 0, 2**63 - 1)
    address = _C.allocate(index_of(device), size)
    _given_out[address] = _given_out.get(address, 0) + 1        # every request of 0 bytes gets the same
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Raises: ValueError for an address that caching_allocator_alloc has not given out, or that was given back already."""
    address = arguments.whole("torch.npu.caching_allocator_delete", "mem_ptr", mem_ptr)
    if address not in _given_out:
        raise ValueError(f"torch.npu.caching_allocator_delete: mem_ptr is {arguments.shown(address)}; expected an address from caching_allocator_alloc "
                         "that was not given back yet.")
    _given_out[address] -= 1
    if not _given_out[address]:
        del _given_out[address]
    _C.free(address)


_given_out: dict[int, int] = {}         # by caching_allocator_alloc: address -> how often


# Also under this module's name, as in torch_npu.
from ascend_sim.npu.memory_pools import (  # noqa: E402, F401
    MemPool, NPUPluggableAllocator, change_current_allocator, get_allocator_backend, use_mem_pool,
)
