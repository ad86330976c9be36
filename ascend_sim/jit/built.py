# SPDX-License-Identifier: MIT
"""Does libascend_sim.so belong to this package and to these headers? It carries the version and a hash of the headers it was built from."""

import ctypes
import functools
import hashlib
from pathlib import Path

import ascend_sim
from ascend_sim.jit import disk_cache, host_compiler

_FOLDERS = ("chip", "formats", "host", "isa", "toolkit")      # of csrc, besides include; as in csrc/Makefile and setup.py


def of_package() -> str:
    """What a library built from this package and its headers says. Twin of csrc/Makefile's BUILD_OF."""
    folders = host_compiler.include_folders()
    if len(folders) > 1:                                        # else installed: all in one
        include, source = folders
        folders = (include, *(source / name for name in _FOLDERS))
    states = tuple((str(folder), disk_cache.state_of_tree(folder, ".h")) for folder in folders)

    def read() -> str:
        hashes = sorted(hashlib.sha256(Path(folder, name).read_bytes()).hexdigest() for folder, files in states for name, *_ in files)
        return hashlib.sha256("".join(f"{one}\n" for one in hashes).encode()).hexdigest()[:16]
    return f"{ascend_sim.__version__} {disk_cache.remembered('headers of the library', states, read)}"


def of_library() -> str:
    """What the library says; empty if it is older than that question. OSError if it cannot be loaded."""
    library = ctypes.CDLL(str(host_compiler.LIBRARY))
    try:
        library.ascend_sim_build.restype = ctypes.c_char_p
    except AttributeError:
        return ""
    return library.ascend_sim_build().decode()


def mismatch() -> str | None:
    """How library and package differ, as a sentence with its mend; None if they belong together."""
    package, library = of_package(), of_library()
    if package == library:
        return None
    mend = "build again (make, or make -C csrc lib torch)" if len(host_compiler.include_folders()) > 1 else \
        "install again (pip install --force-reinstall --no-deps ascend-sim)"
    if package.split()[0] != library.partition(" ")[0]:
        return f"{host_compiler.LIBRARY} was built for version {library.partition(' ')[0] or 'unknown'}, this package is {package.split()[0]}: {mend}."
    return f"{host_compiler.LIBRARY} was not built from the headers in {host_compiler.include_folders()[-1]}, which have changed since: {mend}."


@functools.cache
def check() -> None:
    """Once per process. RuntimeError if kernels compiled against these headers would not fit the library."""
    found = mismatch()
    if found:
        raise RuntimeError(f"ascend_sim.jit: {found}")
