# SPDX-License-Identifier: MIT
"""Code compiled for aarch64, run on this host under qemu: the other processor that the product promises to run on.

Needs Debian's g++-aarch64-linux-gnu and qemu-user-static, or their like. Values only: a test's oracle is the same as on the host.
"""

import ctypes
import functools
import os
import shutil
import struct
import subprocess

import numpy as np
import pytest
import torch
from ascend_sim.errors import LaunchError
from ascend_sim.jit import kernel as jit_kernel
from support import host_compiler

LEVEL = "aarch64"
COMPILER, QEMU = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
SYSROOT = "/usr/aarch64-linux-gnu"
PARAM = pytest.param(LEVEL, marks=[pytest.mark.aarch64, pytest.mark.skipif(not (COMPILER and QEMU), reason="needs aarch64-linux-gnu-g++ and qemu-aarch64")])
CORE_TYPES = {"cube": 0, "vector": 1, "mix": 2}
_CALL, _LAUNCH, _TEXT = range(3)


@functools.cache
def library_folder():
    """libascend_sim.so for aarch64, built once per tree."""
    out = host_compiler.build_folder() / "aarch64"
    ccache = ["ccache"] if shutil.which("ccache") else []
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", str(host_compiler.CSRC), "lib", f"OBJ={out / 'obj'}", f"OUT={out}", "ARCH=aarch64",
                    f"CXX={' '.join([*ccache, COMPILER])}"], check=True, env={k: v for k, v in os.environ.items() if k != "MAKEFLAGS"})
    return out / "lib"


def build(name, sources, *options, optimize="-O1"):
    return host_compiler.build(name, sources, LEVEL, "-g1", "-L", str(library_folder()), "-lascend_sim", *options, optimize=optimize)


class Machine:
    """A process under qemu that answers calls."""

    def __init__(self):
        folder = library_folder()
        server = folder / "server"
        source = host_compiler.CSRC.parent / "tests" / "support" / "aarch64_server.cpp"
        subprocess.run([COMPILER, "-std=c++20", "-O1", f"-I{host_compiler.CSRC}", str(source), "-o", str(server), f"-L{folder}", "-lascend_sim", "-ldl", "-pthread"],
                       check=True)
        answers, theirs = os.pipe()
        self._process = subprocess.Popen([QEMU, "-L", SYSROOT, "-E", f"LD_LIBRARY_PATH={folder}", str(server), str(theirs)], stdin=subprocess.PIPE, pass_fds=[theirs])
        os.close(theirs)
        self._answers = os.fdopen(answers, "rb")

    def call(self, library, name, *arguments):
        """arguments: numpy arrays, which the function may write, integers or None, and at most one ctypes.c_float."""
        self._ask(_CALL, library, name, (), arguments)
        failure = self._failure()
        if failure:
            raise RuntimeError(failure)
        result = struct.unpack("<q", self._receive(8))[0]
        for array in arguments:
            if isinstance(array, np.ndarray):
                array.reshape(-1).view(np.uint8)[:] = np.frombuffer(self._receive(array.nbytes), np.uint8)
        return result

    def launch(self, library, entry, name, cores, blocks, arguments):
        """arguments: npu tensors, which the kernel may write, and (alignment, bytes). Raises: LaunchError."""
        given = [x.cpu().contiguous().reshape(-1).view(torch.uint8).numpy() if isinstance(x, torch.Tensor) else x for x in arguments]
        self._ask(_LAUNCH, library, entry, (name, CORE_TYPES[cores], blocks), given)
        failure = self._failure() or self._string()
        for argument, data in zip(arguments, given, strict=True):
            if isinstance(argument, torch.Tensor):
                argument.copy_(torch.frombuffer(bytearray(self._receive(len(data))), dtype=argument.dtype).reshape(argument.shape))
        if failure:
            raise LaunchError(failure)

    def text(self, library, name):
        self._ask(_TEXT, library, name)
        failure = self._failure()
        if failure:
            raise RuntimeError(failure)
        return self._string()

    def _ask(self, kind, library, name, words=(), arguments=None):
        message = struct.pack("<Q", kind)
        for word in (str(library), name, *words):
            message += struct.pack("<Q", len(word.encode())) + word.encode() if isinstance(word, str) else struct.pack("<Q", word)
        if arguments is not None:
            message += struct.pack("<Q", len(arguments)) + b"".join(map(_argument, arguments))
        self._process.stdin.write(message)
        self._process.stdin.flush()

    def _failure(self):
        failed = struct.unpack("<Q", self._receive(8))[0]
        return self._string() if failed else None

    def _string(self):
        return self._receive(struct.unpack("<Q", self._receive(8))[0]).decode()

    def _receive(self, count):
        data = self._answers.read(count)
        if len(data) != count:
            raise RuntimeError(f"the emulated process ended with status {self._process.wait()}")
        return data


def _argument(value):
    if isinstance(value, np.ndarray):
        return struct.pack("<QQ", 1, value.nbytes) + value.tobytes()
    if isinstance(value, ctypes.c_float):
        return struct.pack("<Qf4x", 2, value.value)
    alignment, data = value if isinstance(value, tuple) else (8, struct.pack("<q", value or 0))
    return struct.pack("<QQQ", 0, alignment, len(data)) + data


@functools.cache
def machine():
    return Machine()


class Kernels(dict):
    """Kernels given as text, by name: kernels[name][blocks](arguments), as jit.compile_all gives them."""

    def __init__(self, source, names):
        text = source.read_text() + "".join(
            f'\nextern "C" void entry_{name}(const uint8_t* args) {{ ascend::isa::kernel_entry<&{name}>(args); }}'
            f'\nextern "C" const char* signature_{name}() {{ return ascend::isa::kernel_signature<&{name}>(); }}' for name in names)
        whole = host_compiler.build_folder() / f"aarch64_{source.name}"
        whole.write_text(f'#include "c_api/asc_simd.h"\n#include "isa/kernel_entry.h"\n#line 1 "{source.name}"\n{text}\n')
        library = build(source.stem, [whole], "-w", optimize="-O2")
        super().__init__({name: _Kernel(library, name, cores) for name, cores in names.items()})


class _Kernel:
    def __init__(self, library, name, cores):
        self.library, self.name, self.cores = library, name, cores
        self.signature = machine().text(library, f"signature_{name}").split(",")

    def __getitem__(self, blocks):
        def run(*arguments):
            packed = [argument if isinstance(argument, torch.Tensor) else jit_kernel._pack(self.name, parameter, argument)[::-1]
                      for parameter, argument in zip(self.signature, arguments, strict=True)]
            machine().launch(self.library, f"entry_{self.name}", self.name, self.cores, blocks, [x if isinstance(x, torch.Tensor) else (max(x[0], 4), x[1]) for x in packed])
        return run
