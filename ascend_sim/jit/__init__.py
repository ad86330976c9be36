# SPDX-License-Identifier: MIT
"""Kernels compiled at run time: C++ text that calls the instruction set by its public names, launched on npu tensors.

    scale = ascend_sim.jit.compile(text)            # text has one kernel: extern "C" __global__ __vector__ void scale(...)
    scale[blocks](x, y, 1024, 2.0)                  # tensors for pointers, numbers for the rest

The text is compiled for this host by g++ or clang against the headers of csrc/isa and kept on disk (ASCEND_SIM_CACHE_DIR), so
that the same text costs nothing the next time, in any process.
"""

from ascend_sim.jit.driver import compile, compile_all      # noqa: A004  as re.compile: always named with its module

__all__ = ["Kernel", "compile", "compile_all"]


def __getattr__(name: str):
    if name == "Kernel":                # imports torch, which a compiler process does not need
        from ascend_sim.jit.kernel import Kernel
        return Kernel
    raise AttributeError(f"module 'ascend_sim.jit' has no attribute {name!r}; it has {', '.join(__all__)}")
