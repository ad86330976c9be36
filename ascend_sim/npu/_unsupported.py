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


# Other allocators.
MemPool, NPUPluggableAllocator = _class("MemPool"), _class("NPUPluggableAllocator")
use_mem_pool, change_current_allocator = _function("use_mem_pool"), _function("change_current_allocator")

# Of the hardware itself.
stress_detect, npurt = _function("stress_detect"), _function("npurt")
