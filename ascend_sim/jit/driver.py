# SPDX-License-Identifier: MIT
"""How does kernel text become something to launch? Entries are appended, the host compiler makes a shared object, it is loaded."""

import ctypes
import logging
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sim.errors import CompileError
from ascend_sim.jit import built, disk_cache, host_compiler, simt_ends

if TYPE_CHECKING:
    from ascend_sim.jit.kernel import Kernel

CORES = ("cube", "vector", "mix")

_log = logging.getLogger(__name__)

# extern "C" __global__ __mix__(1, 2) void name(
_DECLARATION = re.compile(r"__global__\s+(?:__aicore__\s+)?__(?P<cores>cube|vector|mix)__\s*(?:\(\s*1\s*,\s*2\s*\))?\s+void\s+(?P<name>[A-Za-z_]\w*)\s*\(")
_EXAMPLE = 'extern "C" __global__ __vector__ void name(..)'
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_OBJECT = "kernel.so"
_THREADS = "-pthread"                   # defines a macro, and the compiler takes a precompiled header only with the same ones
_PREFIX = "prefix.h"                    # what every kernel includes; precompiled where that is possible
_PREFIX_TEXT = '#include "c_api/asc_simd.h"\n#include "isa/kernel_entry.h"\n'


def compile(source: str | Path, name: str | None = None, cores: str | None = None, *, include_dirs: Iterable[str | Path] = (),  # noqa: A001
            flags: Iterable[str] = (), data_independent: bool = False) -> "Kernel":
    """The kernel `name` of C++ text, ready to launch: kernel[blocks](arguments).

    source: a translation unit with `extern "C" __global__ __vector__ void name(__gm__ float* x, int n) {..}`; c_api/asc_simd.h is included already.
    A Path is read, and faults name the file
    name: may be left out if the text has one kernel    cores: "cube", "vector" (a block is one vector core) or "mix" (a cube and two vector
    cores); read from __cube__, __vector__ or __mix__(1, 2) if left out
    include_dirs: further folders with headers; all their files count as part of the text    flags: further compiler options
    data_independent: no address, branch or instruction depends on what tensors hold, so that timing mode may skip the arithmetic
    Cost: 0.1 to 1 s of the host for new text, under 10 ms for text that was compiled before with the same headers, compiler and options.
    Raises: CompileError with the compiler's messages, in lines of `source`; ValueError for a kernel that the text does not have;
    TypeError and ValueError for other wrong arguments; RuntimeError if there is no suitable compiler or the cache cannot be written.
    """
    text, file_name = _read("jit.compile", source)
    include_dirs, flags = _options("jit.compile", include_dirs, flags, data_independent)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"jit.compile: name is {name!r}; expected a str, or None if the text has one kernel.")
    if cores is not None and cores not in CORES:
        raise ValueError(f"jit.compile: cores is {cores!r}; accepted: {', '.join(CORES)}, or None if the text says it.")
    declared = kernels_in(text)
    if name is None:
        if len(declared) != 1:
            raise ValueError(f"jit.compile: the text declares {len(declared)} kernels ({', '.join(declared) or _EXAMPLE}); "
                             "say which with name=, or take them all with jit.compile_all.")
        name = next(iter(declared))
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"jit.compile: name is {name!r}; expected a C++ identifier.")
    if cores is None and name not in declared:
        raise ValueError(f"jit.compile: no kernel {name!r} is declared with __cube__, __vector__ or __mix__(1, 2); the text has "
                         f"{', '.join(declared) or 'none'}. Correct the name, or say cores='cube', 'vector' or 'mix'.")
    return _build(text, file_name, {name: cores or declared[name]}, include_dirs, flags, data_independent)[name]


def compile_all(source: str | Path, kernels: Mapping[str, str] | None = None, *, include_dirs: Iterable[str | Path] = (), flags: Iterable[str] = (),
                data_independent: bool = False) -> "dict[str, Kernel]":
    """Every kernel of the text, by name, from one compilation.

    kernels: {name: cores} for what the text declares by macros; None finds those written out    other arguments: as of compile()
    """
    text, file_name = _read("jit.compile_all", source)
    include_dirs, flags = _options("jit.compile_all", include_dirs, flags, data_independent)
    if kernels is not None:
        _check_kernels(kernels)
    declared = kernels_in(text) if kernels is None else kernels
    if not declared:
        raise ValueError(f"jit.compile_all: the text declares no kernel; expected e.g. {_EXAMPLE}.")
    return _build(text, file_name, declared, include_dirs, flags, data_independent)


def _read(function: str, source: str | Path) -> tuple[str, str | None]:
    """The text, and what to call its file if it has a name."""
    if not isinstance(source, str | Path):
        raise TypeError(f"{function}: source is {source!r}; expected C++ text (a str), or the Path of a file.")
    try:
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        text.encode()
    except UnicodeError as error:
        raise ValueError(f"{function}: source{f' {source}' if isinstance(source, Path) else ''} is not text in UTF-8: {error}.") from None
    return text, f"{source.stem}.cpp" if isinstance(source, Path) else None


def _options(function: str, include_dirs, flags, data_independent) -> tuple[list[Path], list[str]]:
    folders = [Path(folder) for folder in _listed(function, "include_dirs", include_dirs, str | Path, "folders")]
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{function}: include_dirs has {str(folder)!r}, which is not a folder.")
    words = _listed(function, "flags", flags, str, "compiler options")
    if not isinstance(data_independent, bool):
        raise TypeError(f"{function}: data_independent is {data_independent!r}; expected True or False.")
    return folders, words


def _listed(function: str, name: str, value, kind, what: str) -> list:
    """A str is refused: it would be taken letter by letter."""
    items = None if isinstance(value, str | bytes | Path | Mapping) or not isinstance(value, Iterable) else list(value)
    if items is None or not all(isinstance(item, kind) for item in items):
        raise TypeError(f"{function}: {name} is {value!r}; expected a list of {what}, each {'a str' if kind is str else 'a str or Path'}.")
    return items


def _check_kernels(kernels) -> None:
    if not isinstance(kernels, Mapping) or not all(isinstance(name, str) for name in kernels):
        raise TypeError(f"jit.compile_all: kernels is {kernels!r}; expected a dict of name to cores, or None for those that the text declares.")
    for name, cores in kernels.items():
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"jit.compile_all: kernels has the name {name!r}; expected a C++ identifier.")
        if cores not in CORES:
            raise ValueError(f"jit.compile_all: kernels has {name!r} for cores {cores!r}; accepted: {', '.join(CORES)}.")


def kernels_in(source: str) -> dict[str, str]:
    """Name and cores of each kernel that the text declares, in its order."""
    return {match["name"]: match["cores"] for match in _DECLARATION.finditer(source)}


def _build(source: str, file_name: str | None, kernels: Mapping[str, str], include_dirs: Iterable[str | Path], flags: Iterable[str],
           data_independent: bool) -> "dict[str, Kernel]":
    from ascend_sim.jit.kernel import Kernel        # imports torch, which build_library does without
    for attempt in (1, 2):
        path = build_library(source, file_name, kernels, include_dirs=include_dirs, flags=flags)
        try:
            library = ctypes.CDLL(str(path))
            break
        except OSError:
            disk_cache.discard(path.parent)         # damaged, or removed by another process just now
            if attempt == 2:
                raise
    return {name: Kernel(library, name, cores, data_independent=data_independent) for name, cores in kernels.items()}


def build_library(source: str, file_name: str | None, kernels: Iterable[str], *, include_dirs: Iterable[str | Path] = (), flags: Iterable[str] = (),
                  prefix: str = "", hashed: Callable[[Path], Path] = lambda folder: folder, libraries: Iterable[str] = ()) -> Path:
    """The shared object of the text, made now or found in the cache. It has ascend_sim_entry_<kernel> and ascend_sim_signature_<kernel>.

    prefix: what many texts include first, includes that may be repeated; precompiled    hashed: the part of an include folder that texts can see
    libraries: of this package, to link besides ascend_sim    other arguments, errors: as of compile()
    """
    built.check()
    compiler = host_compiler.find()
    level = host_compiler.level()
    folders = [Path(path).resolve() for path in include_dirs]
    headers = [*folders, *host_compiler.include_folders()]
    options = (*host_compiler.flags(level), *host_compiler.DEBUG_FLAGS[compiler.family], *host_compiler.GUARD_FLAGS[compiler.family],
               *host_compiler.check_flags(compiler), *flags)
    # The text first: its line numbers stay its own.
    text = f'{simt_ends.mark(source)}\n#line 1 "entries of {", ".join(kernels)}"\n' + "".join(
        f'extern "C" [[gnu::visibility("default")]] void ascend_sim_entry_{name}(const uint8_t* args) {{ ascend::isa::kernel_entry<&{name}>(args); }}\n'
        f'extern "C" [[gnu::visibility("default")]] const char* ascend_sim_signature_{name}() {{ return ascend::isa::kernel_signature<&{name}>(); }}\n'
        for name in kernels)
    content = tuple(disk_cache.hash_of_tree(hashed(folder)) for folder in folders)
    common = (compiler.identity, options, tuple(disk_cache.hash_of_tree(folder, ".h") for folder in host_compiler.include_folders()), _PREFIX_TEXT + prefix,
              content if prefix else ())
    libraries = ("ascend_sim", *libraries)
    file_name = file_name or f"{next(iter(kernels))}.cpp"
    key = disk_cache.key("object", common, file_name, text, content, libraries, host_compiler.LINK_FLAGS)
    includes = [f"-I{folder}" for folder in headers]

    def make(at: Path) -> None:
        (at / file_name).write_text(text)
        first = _precompiled(compiler, options, common, includes if prefix else includes[len(folders):]) / _PREFIX
        # The object names its source as ./name.cpp, wherever it was compiled.
        command = [*compiler.command, *options, f"-ffile-prefix-map={at}=.", "-include", str(first), *includes, "-shared", _THREADS,
                   "-Winvalid-pch", "-Wl,-z,defs", *host_compiler.LINK_FLAGS, "-o", _OBJECT, file_name, f"-L{host_compiler.LIBRARY.parent}", *(f"-l{library}" for library in libraries)]
        _run(command, at, list(kernels), compiler, level)

    return disk_cache.entry(key, make) / _OBJECT


def _write_prefix(at: Path, common: tuple) -> None:
    (at / _PREFIX).write_text(common[3])


def _precompiled(compiler, options: tuple[str, ...], common: tuple, includes: list[str]) -> Path:
    """The folder with the precompiled header for these options. It takes twice the time of a small kernel and saves the most of one, so the second kernel makes it."""
    # clang remembers where the headers lie, but not that this one was compiled in a folder of another name if it comes from standard input.
    clang = compiler.family == "clang"
    name = f"prefix-{disk_cache.key('prefix', _THREADS, common, includes if clang else ())}"
    plain = disk_cache.entry(f"{name}-plain", lambda at: _write_prefix(at, common))
    if not disk_cache.has(name) and not (plain / "wanted").exists():
        (plain / "wanted").touch()
        return plain

    def make(at: Path) -> None:
        _write_prefix(at, common)
        header, special = ("-", ("-Xclang", "-fno-pch-timestamp")) if clang else (_PREFIX, ())
        _run([*compiler.command, *options, _THREADS, *includes, *special, "-x", "c++-header", header, "-o", f"{_PREFIX}.gch"], at, [_PREFIX], compiler, "",
             common[3])
    return disk_cache.entry(name, make)


def _run(command: list[str], folder: Path, what: list[str], compiler, level: str, standard_input: str = "") -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", input=standard_input)
    if done.returncode:
        _log.debug("%s", " ".join(command))
        messages = done.stderr.strip() or f"the compiler ended with status {done.returncode}"
        lines = messages.splitlines()
        if len(lines) > 60:
            lines[60:] = [f".. and {len(lines) - 60} more lines"]
        raise CompileError(f"{', '.join(what)} does not compile with {compiler} for {level}:\n" + "\n".join(lines))
    if done.stderr:
        _log.info("%s: %s", ", ".join(what), done.stderr.strip())
