# SPDX-License-Identifier: MIT
"""Does clang take the headers that kernels include? Its front end, which PyPI has as libclang, reads them; `make test-clang` compiles and runs."""

import functools
import importlib.util
import subprocess
from pathlib import Path

import pytest
from ascend_sim.jit import driver, host_compiler

cindex = pytest.importorskip("clang.cindex", reason="libclang is not installed")
SOURCES = sorted(Path(__file__).parent.glob("*.cpp"))
CHECKED = {"checked_kernels", "simd_harness"}        # read as ASCEND_SIM_CHECK=memory compiles them


@functools.cache
def options():
    """Of kernels at the portable level: intrinsics of a level are headers of the compiler, which the wheel lacks."""
    own = subprocess.run([*host_compiler.find().command, "-print-file-name=include"], capture_output=True, text=True, check=True).stdout.strip()
    wheel = importlib.util.find_spec("tilelang")
    templates = [f"-isystem{folder}/src" for folder in wheel.submodule_search_locations] if wheel else []
    return [*host_compiler.flags("portable"), *(f"-I{folder}" for folder in host_compiler.include_folders()), *templates, f"-isystem{own}",
            "-Wall", "-Wextra", "-Wno-unused-parameter"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_no_error_and_no_warning_of_a_header(source):
    if source.stem == "wheel_wrappers" and importlib.util.find_spec("tilelang") is None:
        pytest.skip("the tilelang wheel, whose headers it includes, is not installed")
    text = f"{driver._PREFIX_TEXT}#line 1\n{source.read_text()}"
    flags = host_compiler.CHECK_MEMORY_FLAGS["clang"][:2] if source.stem in CHECKED else ()
    read = cindex.Index.create().parse(str(source), [*options(), *flags], unsaved_files=[(str(source), text)])
    said = [(str(found.location.file), found) for found in read.diagnostics if found.severity >= cindex.Diagnostic.Warning]
    assert [f"{file}:{found.location.line}: {found.spelling}" for file, found in said
            if found.severity >= cindex.Diagnostic.Error or file != str(source)] == []


def test_what_clang_lacks_is_seen():
    text = f"{driver._PREFIX_TEXT}typedef int V __attribute__((vector_size(16)));\nV f(V a, V at) {{ return __builtin_shuffle(a, at); }}\n"
    read = cindex.Index.create().parse("lacks.cpp", options(), unsaved_files=[("lacks.cpp", text)])
    assert any("__builtin_shuffle" in said.spelling for said in read.diagnostics)
