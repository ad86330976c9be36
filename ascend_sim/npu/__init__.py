# SPDX-License-Identifier: MIT
"""torch.npu: the emulated devices under the names that torch_npu uses.

Importing this module registers the device with PyTorch; normally `import torch` does so. Nothing is set up before a device is
first used, so importing is quick and the environment may still be changed until then.
"""

from ascend_sim.npu import _registration

_C = _registration.load_native()        # first: the rest needs it, and it may refuse
_initialized = False                    # read under this name by torch.utils.checkpoint, which saves random states only if it is True

from ascend_sim.npu import amp, mstx, random                                                    # noqa: E402, F401
from ascend_sim.npu._options import (                                                           # noqa: E402, F401
    config, conv, get_deterministic_level, get_sync_debug_mode, get_task_queue_enable, matmul, set_compile_mode,
    set_deterministic_level, set_option, set_sync_debug_mode, set_task_queue_enable,
)
from ascend_sim.npu._unsupported import npurt, stress_detect                                    # noqa: E402, F401
from ascend_sim.npu.amp import (                                                                # noqa: E402, F401
    get_amp_supported_dtype, get_autocast_dtype, is_autocast_enabled, set_autocast_dtype, set_autocast_enabled,
)
from ascend_sim.npu.devices import (                                                            # noqa: E402, F401
    _is_in_bad_fork, _lazy_init, can_device_access_peer, current_device, device, device_count, device_of, get_device_capability,
    get_device_name, get_device_properties, get_soc_version, init, is_available, is_bf16_supported,
    is_initialized, set_device, synchronize, utilization,
)
from ascend_sim.npu.limits import (                                                             # noqa: E402, F401
    get_device_limit, get_stream_limit, reset_stream_limit, set_device_limit, set_stream_limit,
)
from ascend_sim.npu.memory import (                                                             # noqa: E402, F401
    caching_allocator_alloc, caching_allocator_delete, empty_cache, get_per_process_memory_fraction,
    host_empty_cache, ipc_collect, max_memory_allocated, max_memory_cached, max_memory_reserved, mem_get_info, memory_allocated, memory_cached,
    memory_reserved, memory_snapshot, memory_stats, memory_stats_as_nested_dict, memory_summary,
    reset_accumulated_memory_stats, reset_max_memory_allocated, reset_max_memory_cached, reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from ascend_sim.npu.memory_pools import (                                                       # noqa: E402, F401
    MemPool, NPUPluggableAllocator, change_current_allocator, get_allocator_backend, use_mem_pool,
)
from ascend_sim.npu.random import (                                                             # noqa: E402, F401
    default_generator, get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all,
    set_rng_state, set_rng_state_all,
)
from ascend_sim.npu.streams import (                                                            # noqa: E402, F401
    Event, ExternalEvent, ExternalStream, Stream, StreamContext, SyncLaunchStream, current_stream, default_stream, set_stream, stream,
)
from ascend_sim.npu.graphs import (                                                             # noqa: E402, F401
    NPUGraph, graph, graph_pool_handle, graph_task_group_begin, graph_task_group_end, graph_task_update_begin, graph_task_update_end,
    is_current_stream_capturing, make_graphed_callables,
)

# Also importable as torch.npu.<name>.
SUBMODULES = ("amp", "devices", "graphs", "limits", "memory", "mstx", "random", "streams")

_registration.register(__name__)

# Asked for by inductor when it first compiles for npu; importing it earlier would cost a second.
_INDUCTOR = ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen")


def __getattr__(name: str):
    if name.endswith("Tensor"):
        from ascend_sim.npu import tensor_types
        if name in tensor_types.TYPES:
            return tensor_types.TYPES[name]
    if name not in _INDUCTOR:
        raise AttributeError(f"module {__name__!r} (torch.npu) has no attribute {name!r}")
    from ascend_sim.npu import inductor
    return getattr(inductor, name)


from ascend_sim import _autoload                                                                # noqa: E402

_autoload.finish()                      # the stand-ins, if this module was imported before torch
