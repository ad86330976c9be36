# SPDX-License-Identifier: MIT
"""How does libascendcl.so get at the kernels in a container, and at PyTorch's current device and captures? By functions it is handed here."""

import ctypes
import functools
import logging

from ascend_sim.jit import disk_cache, host_compiler
from ascend_sim.toolkit import compile as toolkit_compile
from ascend_sim.toolkit.container import from_bytes

_log = logging.getLogger(__name__)

LIBRARY = host_compiler.LIBRARY.with_name("libascendcl.so")
_CORE_TYPES = {"cube": 0, "vector": 1, "mix": 2}
_LOAD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_loaded: list[ctypes.CDLL] = []         # code of kernels is never unloaded: profiles and fault messages look it up


@functools.cache
def attach() -> ctypes.CDLL:
    """Loads libascendcl.so and attaches it to this process's device. Whoever looks for a library of that name finds this one."""
    from ascend_sim import _C
    library = ctypes.CDLL(str(LIBRARY))
    library.ascend_sim_acl_add_kernel.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    library.ascend_sim_acl_set_host_library.argtypes = [ctypes.c_void_p] * 3
    library.ascend_sim_acl_set_error.argtypes = [ctypes.c_char_p]
    extension = ctypes.CDLL(_C.__file__)
    current_device, launch = (ctypes.cast(function, ctypes.c_void_p) for function in (extension.ascend_sim_current_device, extension.ascend_sim_launch_here))
    library.load = _LOAD(functools.partial(_load, library))         # as long as the library
    library.ascend_sim_acl_attach(current_device, launch, library.load)
    return library


def _load(library: ctypes.CDLL, data: int, size: int, binary: int) -> int:
    try:
        container = from_bytes(ctypes.string_at(data, size))
        code, kernels = _open(container)
        if container.kind == "host":
            library.ascend_sim_acl_set_host_library(binary, _address(code, "call"), _address(code, "get_last_error"))
        for name, cores in kernels.items():
            library.ascend_sim_acl_add_kernel(binary, name.encode(), _CORE_TYPES[cores], _address(code, f"ascend_sim_entry_{name}"), 0)
        return 0
    except BaseException as error:      # an exception cannot pass through the caller, which is C
        _log.debug("a container could not be loaded", exc_info=True)
        library.ascend_sim_acl_set_error(f"{error}".encode())
        return 1


def _open(container) -> tuple[ctypes.CDLL, dict[str, str]]:
    for attempt in (1, 2):
        path, kernels = toolkit_compile.build(container)
        try:
            code = ctypes.CDLL(str(path))
        except OSError:
            disk_cache.discard(path.parent)     # damaged, or removed by another process just now
            if attempt == 2:
                raise
        else:
            _loaded.append(code)
            return code, kernels
    raise AssertionError("the second attempt returns or raises")


def _address(code: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(code, name), ctypes.c_void_p).value
