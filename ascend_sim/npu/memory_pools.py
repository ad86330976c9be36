# SPDX-License-Identifier: MIT
"""Memory kept apart: pools, and allocators that a program brings with it.

    pool = torch.npu.MemPool()                                          or MemPool(allocator)
    with torch.npu.use_mem_pool(pool): x = torch.empty(.., device="npu")

A block that is freed stays with its pool for the next request of its size; torch.npu.empty_cache() and the end of the pool give it back.
Each tensor is a block of its own, rounded up to 512 bytes, where the real device's allocator cuts them from larger segments.
"""

import contextlib
import ctypes
import os

from ascend_sim import _C, arguments
from ascend_sim.npu.devices import index_of


class NPUPluggableAllocator:
    """An allocator of two functions of a shared library:

        void* alloc_fn(ssize_t bytes, int device, aclrtStream stream)        null: torch.OutOfMemoryError
        void free_fn(void* p, ssize_t bytes, int device, aclrtStream stream)

    `device` is current while they run. Memory from aclrtMalloc (libascendcl.so is loaded here) or torch.npu.caching_allocator_alloc is the
    device's and serves everything; other host memory serves PyTorch's operators, while kernels of the chip refuse its addresses.
    Raises: FileNotFoundError, OSError if the library cannot be loaded; AttributeError if it lacks a function.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str):
        from ascend_sim.toolkit import runtime
        function = "torch.npu.NPUPluggableAllocator"
        arguments.instance(function, "path_to_so_file", path_to_so_file, (str, os.PathLike), "the path of a shared library")
        for argument, name in (("alloc_fn_name", alloc_fn_name), ("free_fn_name", free_fn_name)):
            arguments.text(function, argument, name)
        if not os.path.exists(path_to_so_file):
            raise FileNotFoundError(f"torch.npu.NPUPluggableAllocator: path_to_so_file is {str(path_to_so_file)!r}, which does not exist.")
        library = runtime.LIBRARY
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)      # where the user's library finds aclrtMalloc
        runtime.attach()
        try:
            self._library = ctypes.CDLL(os.path.abspath(path_to_so_file))       # a name without a slash would be looked for elsewhere
        except OSError as error:
            raise OSError(f"torch.npu.NPUPluggableAllocator: path_to_so_file is {str(path_to_so_file)!r}, which cannot be loaded: {error}") from None
        addresses = []
        for argument, name in (("alloc_fn_name", alloc_fn_name), ("free_fn_name", free_fn_name)):
            try:
                addresses.append(ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value)
            except AttributeError:
                raise AttributeError(f"torch.npu.NPUPluggableAllocator: {argument} is {name!r}, which {path_to_so_file} does not have.") from None
        self._allocator = _C.PluggableAllocator(*addresses)
        _kept.append(self._library)         # freed tensors may call it after this object is gone

    def allocator(self):
        """What MemPool and change_current_allocator take beside this object."""
        return self._allocator


_kept: list[ctypes.CDLL] = []


class MemPool:
    """Memory that only `use_mem_pool` takes from. allocator: an NPUPluggableAllocator, or what its allocator() returns; None: the HBM.

    use_on_oom and no_split are accepted: blocks are never split, and other allocations never fall back on a pool.
    """

    def __init__(self, allocator=None, use_on_oom: bool = False, no_split: bool = False):
        self._allocator = allocator
        self._pool = _C.MemoryPool(_native("MemPool", allocator))

    @property
    def id(self) -> tuple[int, int]:
        return tuple(self._pool.id)

    @property
    def allocator(self):
        return self._allocator

    def use_count(self) -> int:
        """1 for this object, and one more for each live tensor's block."""
        return 1 + sum(live for *_, live in self._pool.blocks())

    def snapshot(self, include_traces: bool = True) -> list[dict]:
        """A segment for each block, as memory_snapshot has them."""
        return [{"device": device, "address": address, "segment_type": "large", "segment_pool_id": self.id, "total_size": size,
                 "allocated_size": size * live, "active_size": size * live,
                 "blocks": [{"address": address, "size": size, "requested_size": size, "state": "active_allocated" if live else "inactive"}]}
                for address, device, size, live in self._pool.blocks()]


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device=None):
    """What this thread allocates on `device` inside the block comes from `pool`."""
    if not isinstance(pool, MemPool):
        raise TypeError(f"torch.npu.use_mem_pool: pool is a {type(pool).__name__}; expected a torch.npu.MemPool.")
    index = index_of(device)
    _C.begin_pool(index, pool._pool)
    try:
        yield
    finally:
        _C.end_pool(index)


def change_current_allocator(allocator) -> None:
    """Everything that no pool takes comes from `allocator` from now on; once a process, before any device has memory.

    The emulated HBM's limits and statistics then only see what the allocator takes from it. Raises: RuntimeError if it is too late.
    """
    native = _native("change_current_allocator", allocator)
    if native is None:
        raise TypeError("torch.npu.change_current_allocator: allocator is None; expected an NPUPluggableAllocator.")
    _C.change_current_allocator(native)


def get_allocator_backend() -> str:
    """"native", or "pluggable" after change_current_allocator."""
    return "pluggable" if _C.has_own_allocator() else "native"


def _native(function: str, allocator):
    if allocator is None or isinstance(allocator, _C.PluggableAllocator):
        return allocator
    if isinstance(allocator, NPUPluggableAllocator):
        return allocator.allocator()
    raise TypeError(f"torch.npu.{function}: allocator is a {type(allocator).__name__}; expected an NPUPluggableAllocator.")
