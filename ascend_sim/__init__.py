# SPDX-License-Identifier: MIT
"""An emulated Ascend 950: what a program may say to the emulator itself.

    ascend_sim.mode("timing")        full, functional or timing; also usable as a context manager
    ascend_sim.profile()             records of every launch inside the `with` block
    ascend_sim.jit.compile(text)     a kernel of one's own, from C++ text that calls the instruction set
    ascend_sim.compat                stand-ins for torch_npu, the device cuda and the like, if asked for
    ascend_sim.backends              which implementation deep_gemm and its siblings use
    ascend_sim.layouts               scale factors among the layouts of Ascend and of NVIDIA's SM90 and SM100
    ascend_sim.formats               the chip's number formats in numpy

Importing this package imports nothing heavy; each name is loaded when first asked for.
"""

import importlib

__version__ = "0.1.0"

# public name -> module that has it; None: the module itself
_LAZY = {
    "backends": ("ascend_sim.backends", None),
    "compat": ("ascend_sim.compat", None),
    "config": ("ascend_sim.config", None),
    "formats": ("ascend_sim.formats", None),
    "jit": ("ascend_sim.jit", None),
    "layouts": ("ascend_sim.layouts", None),
    "mode": ("ascend_sim.modes", "mode"),
    "profile": ("ascend_sim.profiler", "profile"),
    "AscendParityError": ("ascend_sim.errors", "AscendParityError"),
    "AscendParityWarning": ("ascend_sim.errors", "AscendParityWarning"),
    "CompileError": ("ascend_sim.errors", "CompileError"),
    "LaunchError": ("ascend_sim.errors", "LaunchError"),
    "LayoutError": ("ascend_sim.errors", "LayoutError"),
}

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(f"module 'ascend_sim' has no attribute {name!r}; it has {', '.join(__all__)}")
    module_name, attribute = _LAZY[name]
    module = importlib.import_module(module_name)
    found = module if attribute is None else getattr(module, attribute)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})
