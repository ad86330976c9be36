# SPDX-License-Identifier: MIT
"""The names of torch.npu that clients use, or that are cheap to have, with the parameters that torch_npu gives them."""

import inspect

import pytest
import torch

# name: parameters, "=" after those with a default; None: not a function
NAMES = {
    "is_available": "", "is_initialized": "", "init": "", "_lazy_init": "", "device_count": "", "current_device": "", "set_device": "device",
    "device": "device", "device_of": "obj", "synchronize": "device=", "get_device_name": "device_name=", "get_device_properties": "device_name=",
    "get_device_capability": "device=", "get_soc_version": "", "can_device_access_peer": "device_id peer_device_id", "mem_get_info": "device=",
    **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached", "max_memory_cached",
                     "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_accumulated_memory_stats",
                     "memory_stats", "memory_stats_as_nested_dict", "get_per_process_memory_fraction", "current_stream", "default_stream"), "device="),
    "memory_summary": "device= abbreviated=", "memory_snapshot": "", "empty_cache": "", "host_empty_cache": "", "ipc_collect": "",
    "set_per_process_memory_fraction": "fraction device=", "caching_allocator_alloc": "size device= stream=", "caching_allocator_delete": "mem_ptr",
    "MemPool": "allocator= use_on_oom= no_split=", "use_mem_pool": "pool device=", "NPUPluggableAllocator": "path_to_so_file alloc_fn_name free_fn_name",
    "change_current_allocator": "allocator", "get_allocator_backend": "",
    "Stream": None, "Event": None, "ExternalStream": None, "ExternalEvent": None, "SyncLaunchStream": None, "NPUGraph": None,
    "stream": "stream", "StreamContext": "stream", "set_stream": "stream",
    "manual_seed": "seed", "manual_seed_all": "seed", "seed": "", "seed_all": "", "initial_seed": "", "get_rng_state": "device=",
    "get_rng_state_all": "", "set_rng_state": "new_state device=", "set_rng_state_all": "new_states",
    "graph": "npu_graph pool= stream= auto_dispatch_capture= capture_error_mode=", "graph_pool_handle": "", "is_current_stream_capturing": "",
    "make_graphed_callables": "callables sample_args num_warmup_iters= allow_unused_input= pool=", "graph_task_group_begin": "stream",
    "graph_task_group_end": "stream", "graph_task_update_begin": "stream handle", "graph_task_update_end": "stream",
    "set_device_limit": "device cube_num= vector_num=", "get_device_limit": "device=", "set_stream_limit": "stream cube_num= vector_num=",
    "get_stream_limit": "stream", "reset_stream_limit": "stream", "get_amp_supported_dtype": "", "is_autocast_enabled": "",
    "set_autocast_enabled": "enabled", "get_autocast_dtype": "", "set_autocast_dtype": "dtype", "is_bf16_supported": "including_emulation=",
    "set_compile_mode": "jit_compile=", "set_option": "option", "set_sync_debug_mode": "debug_mode", "get_sync_debug_mode": "",
    "set_task_queue_enable": "level", "get_task_queue_enable": "", "set_deterministic_level": "level", "utilization": "device=",
    "config": None, "matmul": None, "conv": None, "mstx": None, "stress_detect": None, "npurt": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_there_with_their_parameters(name):
    value = getattr(torch.npu, name)
    if NAMES[name] is not None:
        parameters = inspect.signature(value).parameters.values()
        assert " ".join(p.name + "=" * (p.default is not inspect.Parameter.empty) for p in parameters) == NAMES[name]


def test_old_names_and_small_ones_do_what_they_say():
    npu = torch.npu
    npu.init()
    assert npu.is_initialized() and npu.utilization() == 0 and npu.ipc_collect() is None
    assert npu.can_device_access_peer(0, 1) and not npu.can_device_access_peer(1, 1)
    with pytest.raises(RuntimeError, match="8 does not exist"):
        npu.can_device_access_peer(0, 8)
    keep = torch.empty(1000, device="npu:4")
    npu.reset_max_memory_allocated(4)
    npu.reset_max_memory_cached(4)
    assert npu.max_memory_cached(4) == npu.memory_cached(4) >= npu.max_memory_allocated(4) >= keep.nbytes
    stream = npu.SyncLaunchStream(4)
    with npu.StreamContext(stream):
        assert npu.current_stream() == stream and npu.current_device() == 4
    npu.manual_seed(3)
    first = npu.initial_seed()
    npu.seed()
    assert npu.initial_seed() != first == 3
    for owner in (npu.matmul, npu.conv):
        before = owner.allow_hf32
        owner.allow_hf32 = not before
        assert owner.allow_hf32 != before
        owner.allow_hf32 = before
    npu.set_autocast_enabled(True)
    npu.set_autocast_dtype(torch.bfloat16)
    try:
        assert torch.is_autocast_enabled("npu") and npu.get_autocast_dtype() == torch.bfloat16
        assert (torch.ones(2, 2, device="npu") @ torch.ones(2, 2, device="npu")).dtype == torch.bfloat16
    finally:
        npu.set_autocast_enabled(False)
        npu.set_autocast_dtype(torch.float16)


def test_the_capability_is_what_the_environment_says(monkeypatch):
    assert torch.npu.get_device_capability() is None
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "9.0")
    assert torch.npu.get_device_capability("npu:1") == (9, 0)
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "nine")
    with pytest.raises(ValueError, match="TORCH_NPU_DEVICE_CAPABILITY='nine' is not understood; accepted: none, or two whole numbers"):
        torch.npu.get_device_capability()
