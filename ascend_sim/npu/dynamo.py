# SPDX-License-Identifier: MIT
"""What torch.compile asks about the device. Dynamo takes a second to import, so it learns of npu when somebody imports it."""

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import torch

def install() -> None:
    """Registers npu with dynamo: now if dynamo is there, else as soon as it is imported."""
    for name, register in (("torch._dynamo.device_interface", _register), ("torch._dynamo.backends.registry", _register_backends)):
        when_imported(name, register)


def when_imported(name: str, then) -> None:
    """Calls `then` with one of dynamo's modules: now if it is loaded, else as soon as it is."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _WhenImported(name, then))


class _WhenImported(importlib.abc.MetaPathFinder):
    """Finds one of dynamo's modules where it is, and calls `then` when it has been executed."""

    def __init__(self, name: str, then):
        self._name, self._then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self._then(module)

        spec.loader.exec_module = exec_module
        return spec


def _register_backends(module) -> None:
    for name in ("npu", "npugraphs", "npugraph_ex"):
        module.register_backend(eager_backend, name=name)


def _register(module) -> None:
    # Compiled code is cached on disk and calls inductor.py: another version of that must not find it.
    own = hashlib.sha256(Path(__file__).with_name("inductor.py").read_bytes()).hexdigest()[:16]
    torch.compiler.config.cache_key_tag += f"ascend_sim {own}"
    interface = _interface(module.DeviceInterface)
    module.register_interface_for_device("npu", interface)
    for index in range(torch.npu.device_count() if torch.npu.is_available() else 0):
        module.register_interface_for_device(f"npu:{index}", interface)


def _interface(base: type) -> type:
    npu = torch.npu

    class NpuInterface(base):
        device = npu.device
        Event = npu.Event
        Stream = npu.Stream

        class Worker:
            """Inductor's compile workers must not use the device; there is nothing to ask that needs it."""
            set_device = staticmethod(npu.set_device)
            current_device = staticmethod(npu.current_device)
            get_device_properties = staticmethod(npu.get_device_properties)

        current_device = staticmethod(npu.current_device)
        set_device = staticmethod(npu.set_device)
        device_count = staticmethod(npu.device_count)
        is_available = staticmethod(npu.is_available)
        stream = staticmethod(npu.stream)
        current_stream = staticmethod(npu.current_stream)
        set_stream = staticmethod(npu.set_stream)
        synchronize = staticmethod(npu.synchronize)
        get_device_properties = staticmethod(npu.get_device_properties)
        memory_allocated = staticmethod(npu.memory_allocated)
        is_bf16_supported = staticmethod(npu.is_bf16_supported)

        @staticmethod
        def exchange_device(device: int) -> int:
            before = npu.current_device()
            npu.set_device(device)
            return before

        @staticmethod
        def maybe_exchange_device(device: int) -> int:
            return NpuInterface.exchange_device(device) if device >= 0 else npu.current_device()

        @staticmethod
        def get_raw_stream(device_idx: int) -> int:
            return npu.current_stream(device_idx).npu_stream

        @staticmethod
        def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
            npu.set_stream(npu.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))

        @staticmethod
        def get_compute_capability(device=None) -> str:
            """The chip's name, as torch_npu answers."""
            return npu.get_device_name(device)

    return NpuInterface


def eager_backend(graph_module, example_inputs):
    """Backends "npu", "npugraphs" and "npugraph_ex" of torch.compile, which stand for compilers and graphs of the real device: runs the
    graph as it is."""
    return graph_module.forward
