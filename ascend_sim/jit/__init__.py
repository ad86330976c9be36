# SPDX-License-Identifier: MIT
"""Kernels compiled at run time: C++ text that calls the instruction set by its public names, launched on npu tensors.

    scale = ascend_sim.jit.compile(text)            # text has one kernel: extern "C" __global__ __vector__ void scale(...)
    scale[blocks](x, y, 1024, 2.0)                  # tensors for pointers, numbers for the rest

The text is compiled for this host by g++ or clang against the headers of csrc/isa and kept on disk (ASCEND_SIM_CACHE_DIR), so
that the same text costs nothing the next time, in any process.
"""

from ascend_sim.jit.driver import compile, compile_all      # noqa: A004  as re.compile: always named with its module
from ascend_sim.jit.kernel import Kernel

__all__ = ["Kernel", "compile", "compile_all"]
