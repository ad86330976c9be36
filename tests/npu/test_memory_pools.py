# SPDX-License-Identifier: MIT
"""Pools and allocators that a program brings: what comes from them, what goes back, and when."""

import ctypes
import gc
import shutil
import subprocess

import pytest
import torch

import deep_gemm
from ascend_sim import _C

SOURCE = r"""
#include <cstdint>
#include <cstdlib>
#include <sys/types.h>
extern "C" int32_t aclrtMalloc(void**, size_t, int);
extern "C" int32_t aclrtFree(void*);
static long counts[4];      // calls of alloc and free, bytes now, last device
extern "C" void* from_device(ssize_t bytes, int device, void*) {
    void* p = nullptr;
    if (bytes > (1 << 20) || aclrtMalloc(&p, bytes, 0)) return nullptr;
    ++counts[0]; counts[2] += bytes; counts[3] = device;
    return p;
}
extern "C" void to_device(void* p, ssize_t bytes, int, void*) { ++counts[1]; counts[2] -= bytes; aclrtFree(p); }
extern "C" void* from_host(ssize_t bytes, int device, void*) {
    ++counts[0]; counts[2] += bytes; counts[3] = device;
    return malloc(bytes);
}
extern "C" void to_host(void* p, ssize_t bytes, int, void*) { ++counts[1]; counts[2] -= bytes; free(p); }
extern "C" long count(int which) { return counts[which]; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The compiled library, with its path; aclrtMalloc is found when it is loaded."""
    folder = tmp_path_factory.mktemp("allocator")
    (folder / "allocator.cpp").write_text(SOURCE)
    compiler = next(found for name in ("c++", "g++", "clang++") if (found := shutil.which(name)))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "allocator.so", folder / "allocator.cpp"], check=True)
    torch.npu.NPUPluggableAllocator(folder / "allocator.so", "from_host", "to_host")
    loaded = ctypes.CDLL(str(folder / "allocator.so"))
    loaded.path = folder / "allocator.so"
    return loaded


@pytest.fixture
def device():
    gc.collect()
    with torch.npu.device(6):
        torch.npu.empty_cache()
        yield "npu:6"


def test_a_pool_keeps_its_blocks_for_itself(device):
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool):
        x = torch.ones(1000, device=device)
        y = torch.hypot(x, x)                               # results of operators too
    elsewhere = torch.empty(1000, device=device)
    inside = {entry["address"] for entry in pool.snapshot()}
    assert {x.data_ptr(), y.data_ptr()} <= inside and elsewhere.data_ptr() not in inside
    assert all(entry["total_size"] == 4096 and entry["segment_pool_id"] == pool.id for entry in pool.snapshot())
    address = x.data_ptr()
    del x
    assert torch.empty(1000, device=device).data_ptr() != address           # the pool's, though free
    with torch.npu.use_mem_pool(pool):
        assert torch.empty(1001, device=device).data_ptr() == address       # same block of 512
    torch.npu.empty_cache()
    assert address not in {entry["address"] for entry in pool.snapshot()} and y.sum() > 0


def test_a_pool_that_is_dropped_lives_as_long_as_its_tensors(device):
    before = torch.npu.memory_allocated(device)
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool, device):
        x = torch.ones(512, device=device)
    assert pool.use_count() == 2
    del pool
    assert x.sum() == 512
    del x
    assert torch.npu.memory_allocated(device) == before


def test_pools_nest_and_belong_to_a_device(device):
    outer, inner = torch.npu.MemPool(), torch.npu.MemPool()
    assert outer.id != inner.id
    with torch.npu.use_mem_pool(outer), torch.npu.use_mem_pool(inner):
        x, other = torch.ones(2, device=device), torch.ones(2, device="npu:5")
    assert [len(pool.snapshot()) for pool in (outer, inner)] == [0, 1] and other.sum().item() == x.sum().item() == 2
    with pytest.raises(TypeError, match="pool is a int; expected a torch.npu.MemPool"), torch.npu.use_mem_pool(3):
        pass


def test_a_pool_takes_memory_from_the_users_allocator(library, device):
    allocator = torch.npu.NPUPluggableAllocator(library.path, "from_device", "to_device")
    pool = torch.npu.memory.MemPool(allocator.allocator())
    with torch.npu.memory.use_mem_pool(pool):
        a = torch.ones(64, 64, dtype=torch.bfloat16, device=device)
        d = torch.zeros(64, 64, device=device)
        with pytest.raises(torch.OutOfMemoryError, match="returned no memory for 4194304 bytes on npu:6"):
            torch.empty(2**20, device=device)
    assert library.count(0) == 2 and library.count(3) == 6 and library.count(2) == a.nbytes + d.nbytes
    assert _C.allocation_of(a.data_ptr())[0] == 6
    deep_gemm.bf16_gemm_nt(a, a, d)                         # the device's own memory: kernels take it
    assert bool((d == 64).all())
    del a, d
    assert library.count(1) == 0                            # still the pool's
    del pool
    assert library.count(1) == 2 and library.count(2) == 0


def test_host_memory_of_an_allocator_serves_operators_and_kernels_refuse_it(library, device):
    pool = torch.npu.MemPool(torch.npu.NPUPluggableAllocator(library.path, "from_host", "to_host"))
    with torch.npu.use_mem_pool(pool):
        a = torch.arange(4096.0, device=device).view(64, 64)
    assert (a + 1).sum().item() == 4096 * 4095 / 2 + 4096 and a.zero_().sum() == 0
    bf16, d = a.bfloat16(), torch.zeros(64, 64, device=device)
    with torch.npu.use_mem_pool(pool):
        foreign = bf16.clone()
    with pytest.raises(RuntimeError, match="0x"):
        deep_gemm.bf16_gemm_nt(foreign, bf16, d)


def test_what_is_captured_in_a_pool_lives_as_long_as_its_graph(device):
    pool, graph = torch.npu.MemPool(), torch.npu.NPUGraph()
    x = torch.ones(300, device=device)
    with torch.npu.use_mem_pool(pool), torch.npu.graph(graph):
        y = x * 2
    address = y.data_ptr()
    x.fill_(4)
    graph.replay()
    assert y[0] == 8
    del y
    with torch.npu.use_mem_pool(pool):
        assert torch.empty(300, device=device).data_ptr() != address
    del graph
    gc.collect()
    with torch.npu.use_mem_pool(pool):
        both = [torch.empty(300, device=device) for _ in range(2)]
    assert address in [t.data_ptr() for t in both]


def test_wrong_allocators_are_named(library, tmp_path):
    with pytest.raises(FileNotFoundError, match="path_to_so_file is .*nothing.so"):
        torch.npu.NPUPluggableAllocator(tmp_path / "nothing.so", "a", "b")
    with pytest.raises(AttributeError, match="free_fn_name is 'gone'"):
        torch.npu.NPUPluggableAllocator(library.path, "from_host", "gone")
    with pytest.raises(TypeError, match="allocator is a str"):
        torch.npu.MemPool("x")
    allocator = torch.npu.NPUPluggableAllocator(library.path, "from_host", "to_host")
    torch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match="npu:[0-7] has been used"):
        torch.npu.change_current_allocator(allocator)
    assert torch.npu.get_allocator_backend() == "native"


def test_the_allocator_of_a_whole_process_can_be_the_users(library, run_python):
    code = f"""
import ctypes, torch
allocator = torch.npu.NPUPluggableAllocator({str(library.path)!r}, "from_device", "to_device")
torch.npu.change_current_allocator(allocator)
x = torch.ones(100, device="npu:2")
y = (x + 1).sum()
count = ctypes.CDLL({str(library.path)!r}).count
assert torch.npu.get_allocator_backend() == "pluggable" and y.item() == 200 and count(3) == 2 and count(0) >= 3
del x, y
print(count(0) - count(1), count(2))
"""
    assert run_python(code).stdout.split() == ["0", "0"]
