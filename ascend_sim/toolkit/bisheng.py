# SPDX-License-Identifier: MIT
"""The compiler that TileLang runs for a kernel: says what is wrong with the text now, and hands the text itself on.

    bisheng [options] --cce-aicore-only kernel.asc -o out      a container for aclrtBinaryLoadFromData
    bisheng [options] --shared kernel.asc -o out.so            a host library: the container, and a stub that forwards its launcher
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from ascend_sim.errors import CompileError
from ascend_sim.jit import host_compiler
from ascend_sim.toolkit import compile as toolkit_compile
from ascend_sim.toolkit.container import Container, to_bytes

ARCHITECTURES = ("dav-3510",)
_STUB = Path(__file__).with_name("host_stub.c")
_WITH_VALUE = ("-mllvm", "-Xclang", "-x", "-target")        # options whose value is the next word
_KEPT = ("-D", "-U", "-include")                            # what changes the meaning of the text; the rest is for the vendor's compiler
_VERSION = "bisheng: stand-in of ascend-sim; kernels are compiled for the emulated chip by the host's C++ compiler"


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--version" in arguments or "-v" in arguments:
        print(_VERSION)
        return 0
    try:
        kind, source, out, include_dirs, options = _parse(arguments)
        container = Container(kind, source.read_text(), include_dirs, options)
        toolkit_compile.build(container)
        if kind == "host":
            _write_stub(to_bytes(container), out)
        else:
            out.write_bytes(to_bytes(container))
    except (CompileError, ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parse(arguments: list[str]):
    sources, include_dirs, options, out, shared = [], [], [], None, False
    words = iter(arguments)
    for word in words:
        if word in ("-o", "-I", *_WITH_VALUE, *_KEPT):
            value = next(words, None)
            if value is None:
                raise ValueError(f"bisheng: {word} needs a value.")
            if word == "-o":
                out = Path(value)
            elif word == "-I":
                include_dirs.append(value)
            elif word in _KEPT:
                options += [word, value]
        elif word.startswith("--npu-arch="):
            architecture = word.partition("=")[2]
            if architecture not in ARCHITECTURES:
                raise ValueError(f"bisheng: architecture {architecture!r}; the emulated chip is {' or '.join(ARCHITECTURES)} "
                                 "(ASCEND_NPU_ARCH, or arch of the target, says otherwise).")
        elif word.startswith("-I"):
            include_dirs.append(word[2:])
        elif word.startswith(_KEPT):
            options.append(word)
        elif word in ("--shared", "-shared"):
            shared = True
        elif not word.startswith("-"):
            sources.append(Path(word))
    if len(sources) != 1 or out is None:
        raise ValueError(f"bisheng: {len(sources)} source files and {'no ' if out is None else ''}output; expected one source and -o FILE.")
    return "host" if shared else "device", sources[0], out, tuple(include_dirs), tuple(options)


def _write_stub(image: bytes, out: Path) -> None:
    compiler = host_compiler.find()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "image.bin").write_bytes(image)
        done = subprocess.run([*compiler.command, "-x", "c", "-shared", "-fPIC", "-O1", f"-Wa,-I{folder}", str(_STUB), "-o", str(out), "-ldl"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise CompileError(f"the launcher's stub does not compile with {compiler}:\n{done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
