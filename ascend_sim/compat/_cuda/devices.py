# SPDX-License-Identifier: MIT
"""Everywhere that PyTorch's Python interface takes a device: "cuda", "cuda:1" and torch.device("cuda") become npu on their way in."""

import functools
import re
import sys

import torch
import torch.utils._device

_Device = torch.device
_CUDA = re.compile(r"cuda(:\d+)?")
_CUDA_TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")

# torch.<name>: everything whose schema has a device, and the factories that `with torch.device(..)` knows (tests compare with PyTorch).
FACTORIES = (
    "arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "empty", "empty_like", "empty_permuted", "empty_quantized",
    "empty_strided", "eye", "full", "full_like", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "normal", "ones",
    "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "range", "scalar_tensor",
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor",
    "tensor", "tril_indices", "triu_indices", "zeros", "zeros_like", "from_file",
)
TENSOR_METHODS = ("to", "cuda", "new_tensor", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "new", "pin_memory", "is_pinned")
ACCELERATOR = (
    "synchronize", "set_device_index", "current_stream", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "get_memory_info", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "get_device_capability",
)
_AUTOCAST = ("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype")


def to_npu(value):
    """What names a cuda device names the npu of the same index; anything else is handed through."""
    if type(value) is torch.device:
        return torch.device("npu", value.index) if value.type == "cuda" else value
    if type(value) is str and _CUDA.fullmatch(value):
        return "npu" + value[4:]
    return value


@functools.cache                    # one for each, however often the stand-in is installed: others keep tables of functions
def redirected(function):
    """`function`, with every argument that names a cuda device naming an npu."""
    @functools.wraps(function)
    def with_npu(*arguments, **named):
        for value in arguments:
            if type(value) is _Device or type(value) is str:
                arguments = [to_npu(a) for a in arguments]
                break
        for name, value in named.items():
            if type(value) is _Device or type(value) is str:
                named[name] = to_npu(value)
        return function(*arguments, **named)
    return with_npu


def patch(patches) -> None:
    torch.utils._device._device_constructors()      # a cached set of the functions as they are called in the end
    for owner, names in ((torch, FACTORIES), (torch.fft, ("fftfreq", "rfftfreq")), (torch.nested, ("nested_tensor", "as_nested_tensor")),
                         (torch, _AUTOCAST), (torch.accelerator, ACCELERATOR)):
        for name in names:
            _replace(patches, owner, name)
    for name in TENSOR_METHODS:
        patches.set(torch.Tensor, f"_{name}_without_cuda", getattr(torch.Tensor, name))     # dynamo knows what it finds in the class
        _replace(patches, torch.Tensor, name)
    patches.set(torch.Tensor, "cuda", _cuda_method)
    patches.set(torch.Tensor, "type", _type_method(torch.Tensor.type))
    patches.set(torch.Tensor, "is_cuda", property(lambda self: self.device.type in ("npu", "cuda")))
    patches.set(torch.Tensor, "__cuda_array_interface__", property(_cuda_array_interface))
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        patches.set(storage, "cuda", lambda self, device=None, non_blocking=False: self.npu(to_npu(device), non_blocking))
    patches.set(torch.UntypedStorage, "is_cuda", property(lambda self: self.device.type in ("npu", "cuda")))
    patches.set(torch, "Generator", _generator_class())
    patches.set(torch.utils._device.DeviceContext, "__init__", redirected(torch.utils._device.DeviceContext.__init__))
    patches.set(torch.autocast, "__init__", redirected(torch.autocast.__init__))
    patches.set(torch.GradScaler, "__init__", redirected(torch.GradScaler.__init__))
    patches.set(torch, "set_default_tensor_type", _set_default_tensor_type(torch.set_default_tensor_type))
    for owner in (torch._utils, sys.modules["torch.nn.parallel.data_parallel"]):
        patches.set(owner, "_get_available_device_type", lambda: "npu")
    for name in ("get_autocast_gpu_dtype", "set_autocast_gpu_dtype"):
        patches.set(torch, name, functools.partial(getattr(torch, name.replace("gpu_", "")), "npu"))
    _patch_load(patches)
    _patch_library(patches)
    _patch_profiler(patches)


def _replace(patches, owner, name: str) -> None:
    original = getattr(owner, name)
    replacement = redirected(original)
    patches.set(owner, name, replacement)
    builtin = torch.jit._builtins._find_builtin(original)
    if builtin is not None:                 # torch.jit.script takes it for the same function
        torch.jit._builtins._register_builtin(replacement, builtin)


def _cuda_method(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    """Tensor.cuda: a copy on the npu of that index, or the tensor itself if it is there."""
    device = to_npu(device)
    if not isinstance(device, (str, torch.device)):
        device = torch.device("npu", device) if isinstance(device, int) else torch.device("npu")
    return self.to(device=device, non_blocking=non_blocking, memory_format=memory_format)


def _cuda_array_interface(self):
    raise AttributeError("an npu tensor has no __cuda_array_interface__: its addresses mean nothing to CUDA libraries.")


def _type_method(original):
    @functools.wraps(original)
    def type_(self, dtype=None, non_blocking=False, **named):
        from ascend_sim.npu.tensor_types import TYPES
        if isinstance(dtype, str) and (match := _CUDA_TYPE.fullmatch(dtype)) and match[1] in TYPES:
            dtype = TYPES[match[1]]
        if isinstance(dtype, type) and dtype in TYPES.values():
            return self.to("npu", dtype.dtype, non_blocking=non_blocking)
        return original(self, dtype, non_blocking, **named)
    return type_


def _set_default_tensor_type(original):
    @functools.wraps(original)
    def set_default_tensor_type(t):
        from ascend_sim.npu.tensor_types import TYPES
        if isinstance(t, str) and (match := _CUDA_TYPE.fullmatch(t)):
            t = TYPES.get(match[1], t)
        if t in TYPES.values():
            torch.set_default_dtype(t.dtype)
            torch.set_default_device("npu")
        else:
            original(t)
    return set_default_tensor_type


def _generator_class() -> type:
    original = torch.Generator

    class _Generators(type):
        def __call__(cls, device="cpu"):
            return original(device=to_npu(device))

        def __instancecheck__(cls, value):
            return isinstance(value, original)

    return _Generators("Generator", (), {"__doc__": original.__doc__, "__module__": "torch"})


def _patch_load(patches) -> None:
    """Files that say cuda:0, and map_location: torch.serialization asks for a restorer in order of priority, cuda's own has 20."""
    def restore(storage, location):
        return torch.serialization.default_restore_location(storage, to_npu(location)) if _CUDA.fullmatch(location) else None

    registry = torch.serialization._package_registry
    before = list(registry)
    torch.serialization.register_package(5, lambda storage: None, restore)
    patches.on_undo(lambda: registry.__setitem__(slice(None), before))
    original = torch.load

    @functools.wraps(original)
    def load(f, map_location=None, *arguments, **named):
        if isinstance(map_location, dict):
            map_location = {to_npu(source): to_npu(target) for source, target in map_location.items()} | {
                source: to_npu(target) for source, target in map_location.items()}
        return original(f, to_npu(map_location), *arguments, **named)
    patches.set(torch, "load", load)


def _patch_library(patches) -> None:
    """Operators that are registered for CUDA are registered for npu."""
    def key(name):
        return name.replace("CUDA", "PrivateUse1") if isinstance(name, str) else name

    def types(value):
        if isinstance(value, str):
            return to_npu(value)
        return [to_npu(t) for t in value] if isinstance(value, (list, tuple, set)) else value

    original_impl = torch.library.Library.impl

    @functools.wraps(original_impl)
    def impl(self, op_name, fn, dispatch_key="", **named):
        is_pytorchs_own = getattr(fn, "__module__", "").startswith("torch.")       # which registers for npu as well
        return original_impl(self, op_name, fn, dispatch_key if is_pytorchs_own else key(dispatch_key), **named)
    patches.set(torch.library.Library, "impl", impl)

    original_function = torch.library.impl

    @functools.wraps(original_function)
    def impl_function(qualname, types_, func=None, **named):
        return original_function(qualname, key(types(types_)) if isinstance(types_, str) else types(types_), func, **named)
    patches.set(torch.library, "impl", impl_function)

    original_op = torch.library.custom_op

    @functools.wraps(original_op)
    def custom_op(name, fn=None, /, *, device_types=None, **named):
        return original_op(name, fn, device_types=types(device_types), **named)
    patches.set(torch.library, "custom_op", custom_op)

    from torch._library.custom_ops import CustomOpDef
    for owner in (torch.library, CustomOpDef):
        original_kernel = owner.register_kernel

        def register_kernel(first, device_types, *arguments, _original=original_kernel, **named):
            return _original(first, types(device_types), *arguments, **named)
        patches.set(owner, "register_kernel", functools.wraps(original_kernel)(register_kernel))


def _patch_profiler(patches) -> None:
    """Whoever profiles CUDA profiles NPU."""
    activity = torch.profiler.ProfilerActivity
    original = torch.profiler._KinetoProfile.__init__

    @functools.wraps(original)
    def __init__(self, *, activities=None, **named):
        if activities is not None:
            activities = {activity.NPU if a == activity.CUDA else a for a in activities}
        original(self, activities=activities, **named)
    patches.set(torch.profiler._KinetoProfile, "__init__", __init__)
