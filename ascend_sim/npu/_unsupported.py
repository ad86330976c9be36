# SPDX-License-Identifier: MIT
"""Names of torch.npu that code may import, for what is not emulated: using one raises NotImplementedError and says which."""


def _raise(name: str):
    raise NotImplementedError(f"torch.npu.{name} is not emulated.")


def _function(name: str):
    def unsupported(*arguments, **named_arguments):
        _raise(name)
    unsupported.__name__ = unsupported.__qualname__ = name
    unsupported.__doc__ = f"Not emulated: raises NotImplementedError naming torch.npu.{name}."
    return unsupported


def _class(name: str):
    def __init__(self, *arguments, **named_arguments):
        _raise(name)
    return type(name, (), {"__init__": __init__, "__doc__": f"Not emulated: raises NotImplementedError naming torch.npu.{name}."})


# Graph capture.
NPUGraph, graph = _class("NPUGraph"), _class("graph")
graph_pool_handle, make_graphed_callables = _function("graph_pool_handle"), _function("make_graphed_callables")
graph_task_group_begin, graph_task_group_end = _function("graph_task_group_begin"), _function("graph_task_group_end")
graph_task_update_begin, graph_task_update_end = _function("graph_task_update_begin"), _function("graph_task_update_end")

# Other allocators, other processes.
MemPool, NPUPluggableAllocator, ExternalEvent = _class("MemPool"), _class("NPUPluggableAllocator"), _class("ExternalEvent")
use_mem_pool, change_current_allocator = _function("use_mem_pool"), _function("change_current_allocator")
