# SPDX-License-Identifier: MIT
"""What torch.compile generates for npu: inductor's own C++ kernels for the host, on the memory of npu tensors.

Inductor asks torch.npu for the classes below when it first meets the device. A generated kernel is charged simulated time as an operator
that runs on the host is: a launch and the bytes of its arguments.
"""

import sys

import torch
from torch._inductor.codegen.common import DeviceOpOverrides, register_device_op_overrides
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.virtualized import V

from ascend_sim import _C

__all__ = ["CppWrapperCodegen", "PythonWrapperCodegen", "Scheduling", "WrapperFxCodegen", "run"]

Scheduling = CppScheduling
_InductorsWrapper = PythonWrapperCodegen


class PythonWrapperCodegen(_InductorsWrapper):
    """Inductor's, with allocations on the right device and kernels called as those of the CPU."""

    def __init__(self):
        super().__init__()
        self.header.splice("from ascend_sim.npu.inductor import run as _npu_run")

    @staticmethod
    def create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures=None):
        if is_subgraph:
            return _InductorsWrapper.create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures)
        return PythonWrapperCodegen()

    def _generate_kernel_call_helper(self, kernel_name, call_args, *, device=None, triton=True, **others):
        device = device or V.graph.get_current_device_or_throw()
        if device.type != "npu":
            return super()._generate_kernel_call_helper(kernel_name, call_args, device=device, triton=triton, **others)
        self.writeline(f"_npu_run({kernel_name}, {kernel_name!r}, ({', '.join(map(str, call_args))},))")

    def make_allocation(self, name, device, *arguments, **named_arguments):
        line = super().make_allocation(name, device, *arguments, **named_arguments)
        # Inductor writes the type of devices it does not know, and so would allocate on the current one.
        return line.replace("device='npu'", f"device='npu:{device.index or 0}'") if device.type == "npu" else line


class CppWrapperCodegen(_InductorsWrapper):
    """Inductor wants such a class to be there."""

    def __init__(self, *arguments, **named_arguments):
        raise NotImplementedError("torch.compile on npu: config.cpp_wrapper and AOTInductor are not supported; leave cpp_wrapper at False.")

    @staticmethod
    def create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures=None):
        return CppWrapperCodegen()


class _DeviceOps(DeviceOpOverrides):
    """Python text that generated code contains."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return f"def {name}(index):\n    import torch\n    return torch.npu.current_stream(index).npu_stream\n"

    def set_device(self, device_idx: int) -> str:
        return f"torch.npu.set_device({device_idx})"

    def synchronize(self) -> str:
        return "torch.npu.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        return f"torch.npu.device({device_idx})"


register_device_op_overrides("npu", _DeviceOps())


def _is_cpu(self) -> bool:
    """The scheduler asks whether a node's loops are those of the C++ backend: they are on npu, too."""
    device = self.get_device()
    return device is not None and device.type in ("cpu", "npu")


def _backend_of_current_device(device_type: str | None = None) -> str:
    """Inductor takes every device that it does not know for one of Triton's."""
    device_type = device_type or V.graph.get_current_device_or_throw().type
    return _inductors_answer("cpu" if device_type == "npu" else device_type)


BaseSchedulerNode.is_cpu = _is_cpu
_inductors_answer = torch._inductor.utils.get_current_backend
for _module in [m for name, m in sys.modules.items() if name.startswith("torch._inductor")]:
    if getattr(_module, "get_current_backend", None) is _inductors_answer:      # they have imported it by name
        _module.get_current_backend = _backend_of_current_device


def run(kernel, name: str, arguments: tuple) -> None:
    """Calls a generated kernel and charges it: a launch, and every tensor among its arguments read or written once. While a graph is
    captured, replays do so instead."""
    tensors = [a for a in arguments if isinstance(a, torch.Tensor) and a.device.type == "npu"]
    if not tensors:
        kernel(*arguments)
        return
    device = tensors[0].device.index

    def work():
        kernel(*arguments)
        _C.charge(name, device, sum(t.nbytes for t in tensors))

    if not _C.capture_call(name, device, work):
        work()
