# SPDX-License-Identifier: MIT
"""Does kernel text become a kernel that runs? Compilation, arguments, messages; the text is compiled once and then kept."""

import logging
import re
import subprocess
from pathlib import Path

import ascend_sim
import numpy as np
import pytest
import torch
from ascend_sim import jit
from ascend_sim.jit import disk_cache, driver, host_compiler

MAKEFILE = Path(__file__).parents[2] / "csrc" / "Makefile"

KERNELS = """
extern "C" __global__ __vector__ void scale(__gm__ float* x, __gm__ float* y, int per_block, float factor) {
    auto* in = reinterpret_cast<__ubuf__ float*>(ascend::isa::ub_base());
    auto* out = in + per_block;
    const int begin = block_idx * per_block;
    asc_copy_gm2ub_align(in, x + begin, 1, per_block * 4, 0, 0, false, asc_load_l2_cache_mode{0}, 0, 0);
    asc_sync_notify(PIPE_MTE2, PIPE_S, 0);
    asc_sync_wait(PIPE_MTE2, PIPE_S, 0);
    for (int i = 0; i < per_block; ++i) out[i] = in[i] * factor;
    asc_sync_notify(PIPE_S, PIPE_MTE3, 0);
    asc_sync_wait(PIPE_S, PIPE_MTE3, 0);
    asc_copy_ub2gm_align(y + begin, out, 1, per_block * 4, asc_store_l2_cache_mode{0}, 0, 0);
}

struct Pair { int16_t x; double y; };
extern "C" __global__ __vector__ void arguments(__gm__ double* out, int8_t a, uint16_t b, bool c, int64_t d, uint64_t e, float f,
                                                half g, bfloat16_t h, float8_e4m3_t i, double j, Pair k, __gm__ void* l,
                                                float8_e5m2_t m) {
    double values[] = {double(a), double(b), double(c), double(d), double(e >> 60), f, float(g), float(h), float(i), j,
                       double(k.x), k.y, double(l == nullptr), float(m)};
    for (int at = 0; at < 14; ++at) out[at] = values[at];
}

extern "C" __global__ __mix__(1, 2) void which(__gm__ int32_t* seen) {
    if ASC_IS_AIC seen[3 * block_idx] = 1;
    if ASC_IS_AIV seen[3 * block_idx + 1 + asc_get_sub_block_id()] = 1;
}
"""


@pytest.fixture(scope="module")
def kernels():
    return jit.compile_all(KERNELS)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path))
    return tmp_path / "jit"


# ---- launching ----------------------------------------------------------------------------------------------------------

def test_a_kernel_given_as_text_computes(kernels):
    x = torch.randn(4 * 512).npu()
    y = torch.full((4 * 512,), torch.nan).npu()
    with ascend_sim.profile() as p:
        kernels["scale"][4](x, y, 512, 2.5)
    assert torch.equal(y.cpu(), x.cpu() * 2.5)
    record, = p.records
    assert record.name == "scale" and record.simulated_us > 0 and record.gm_read_bytes == record.gm_written_bytes == x.nbytes


def test_two_texts_may_have_a_kernel_of_the_same_name():
    kernels = [jit.compile(f'extern "C" __global__ __vector__ void same(__gm__ float* x{more}) {{ x[0] = {value}; }}')
               for more, value in (("", 1), (", float y", "y"), (", int8_t y", "2 * y"))]
    x = torch.zeros(1).npu()
    seen = []
    for kernel, arguments in zip(kernels, ((), (2.5,), (3,)), strict=True):
        kernel[1](x, *arguments)
        seen.append(x.item())
    assert seen == [1, 2.5, 6]


def test_each_core_of_a_mixed_kernel_runs_it(kernels):
    seen = torch.zeros(9, dtype=torch.int32).npu()
    kernels["which"][3](seen)
    assert seen.tolist() == [1] * 9


def test_tensors_say_which_device(kernels):
    x = torch.arange(64.)
    y = torch.empty(64, device="npu:1")
    stream = torch.npu.Stream(device=1)
    kernels["scale"][1](x.to("npu:1"), y, 64, -1.0, stream=stream)
    assert torch.equal(y.cpu(), -x)
    with pytest.raises(ValueError, match="tensors are on npu:0, npu:1; expected one device"):
        kernels["scale"][1](x.npu(), y, 64, 1.0)


def test_arguments_of_every_type_arrive(kernels):
    out = torch.empty(14, dtype=torch.float64).npu()
    pair = (-7).to_bytes(2, "little", signed=True) + bytes(6) + torch.tensor([0.1], dtype=torch.float64).view(torch.uint8).numpy().tobytes()
    kernels["arguments"][1](out, -128, 65535, True, -2**62, 2**63, 0.5, 1.0009765625, 1.0078125, 0.1, 1e300, pair, None, 1e9)
    assert out.tolist() == [-128, 65535, 1, -2**62, 8, 0.5, 1.0009765625, 1.0078125, 0.1015625, 1e300, -7, 0.1, 1, torch.inf]


def test_a_kernel_says_what_it_takes(kernels):
    assert repr(kernels["scale"]) == "<kernel scale(f32*, f32*, i32, f32) for vector cores>"
    assert kernels["which"].cores == "mix"


@pytest.mark.parametrize("change, error, message", [
    ({2: None}, TypeError, "argument 3 is None; the parameter is int32: expected a whole number"),
    ({2: 2**31}, ValueError, "argument 3 is 2147483648; the parameter is int32: expected -2147483648 to 2147483647"),
    ({2: 1.0}, TypeError, "argument 3 is 1.0; the parameter is int32: expected a whole number"),
    ({3: "two"}, TypeError, "argument 4 is 'two'; the parameter is f32: expected a number"),
    ({3: "2"}, TypeError, "argument 4 is '2'; the parameter is f32: expected a number"),
    ({2: int}, TypeError, "argument 3 is <class 'int'>; the parameter is int32: expected a whole number"),
    ({1: torch.float64}, TypeError, "argument 2 has dtype float64; the parameter is f32*: expected float32"),
    ({1: "cpu"}, ValueError, "a tensor is on cpu; expected npu"),
    ({0: 1.5}, TypeError, "argument 1 is 1.5; the parameter is f32*: expected an npu tensor, None, or an address"),
    ({3: torch.ones(1)}, ValueError, "a tensor is on cpu"),
])
def test_refuses_arguments_before_anything_runs(kernels, change, error, message):
    x, y = torch.ones(64).npu(), torch.zeros(64).npu()
    arguments = [x, y, 64, 1.0]
    for at, value in change.items():
        arguments[at] = y.to(value) if isinstance(value, torch.dtype) else y.cpu() if value == "cpu" else value
    with pytest.raises(error) as caught:
        kernels["scale"][1](*arguments)
    assert str(caught.value).startswith("scale: ") and message in str(caught.value)
    assert y.cpu().eq(0).all()


def test_refuses_a_wrong_count_and_a_wrong_grid(kernels):
    with pytest.raises(TypeError, match=re.escape("scale: 1 arguments; it has 4 parameters: (f32*, f32*, i32, f32).")):
        kernels["scale"][1](torch.ones(1).npu())
    for blocks, shown in ((0, "0"), (-1, "-1"), (2**31, "2147483648"), (10**400, "a whole number of 1329 bits")):
        with pytest.raises(ValueError, match=re.escape(f"scale: blocks is {shown}; expected a whole number of at least 1, below 2^31.")):
            kernels["scale"][blocks]
    for blocks in (1.0, True, None, "4", (4,), torch.nan):
        with pytest.raises(TypeError, match=re.escape(f"scale: blocks is {blocks!r}; expected a whole number")):
            kernels["scale"][blocks]


@pytest.mark.parametrize("stream, error, message", [
    (0, TypeError, "stream is 0; expected a torch.npu.Stream"), ("default", TypeError, "stream is 'default'; expected"),
    (torch.nan, TypeError, "stream is nan; expected"), (1, ValueError, "stream is one of npu:1, and the tensors are on npu:0"),
])
def test_refuses_a_wrong_stream(kernels, stream, error, message):
    y = torch.zeros(64).npu()
    with pytest.raises(error, match=message):
        kernels["scale"][1](y, y, 64, 1.0, stream=torch.npu.Stream(device=1) if error is ValueError else stream)
    assert y.cpu().eq(0).all()


def test_numbers_of_numpy_are_numbers_and_whole_numbers_have_no_largest(kernels):
    x, y = torch.ones(64).npu(), torch.zeros(64).npu()
    kernels["scale"][np.int64(1)](x, y, np.int32(64), 10**400)
    assert y.cpu().isposinf().all()


# ---- compiling ----------------------------------------------------------------------------------------------------------

def test_a_compile_error_shows_the_line_of_the_text():
    text = KERNELS.replace("* factor;", "* faktor;")
    with pytest.raises(ascend_sim.CompileError) as caught:
        jit.compile_all(text)
    line = text.splitlines().index("    for (int i = 0; i < per_block; ++i) out[i] = in[i] * faktor;") + 1
    message = str(caught.value)
    assert message.startswith("scale, arguments, which does not compile with ")
    assert f"scale.cpp:{line}:" in message and "out[i] = in[i] * faktor;" in message and "did you mean 'factor'" in re.sub("[‘’]", "'", message)


def test_a_function_that_nobody_has_is_found_when_compiling():
    text = 'void nowhere();\nextern "C" __global__ __cube__ void f() { nowhere(); }'
    with pytest.raises(ascend_sim.CompileError, match="undefined reference to .nowhere"):
        jit.compile(text)


def test_names_and_cores_come_from_the_text():
    assert driver.kernels_in(KERNELS) == {"scale": "vector", "arguments": "vector", "which": "mix"}
    with pytest.raises(ValueError, match="declares 3 kernels .scale, arguments, which.; say which with name="):
        jit.compile(KERNELS)
    with pytest.raises(ValueError, match="no kernel 'scales' is declared .*; the text has scale, arguments, which"):
        jit.compile(KERNELS, "scales")
    with pytest.raises(ValueError, match="cores is 'gpu'; accepted: cube, vector, mix"):
        jit.compile(KERNELS, "scale", "gpu")
    with pytest.raises(ValueError, match="declares no kernel; expected e.g. extern"):
        jit.compile_all("int x;")


@pytest.mark.parametrize("function", [jit.compile, jit.compile_all])
@pytest.mark.parametrize("arguments, error, message", [
    ({"source": None}, TypeError, "source is None; expected C++ text (a str), or the Path of a file"),
    ({"source": b"int x;"}, TypeError, "source is b'int x;'; expected"),
    ({"source": "\ud800"}, ValueError, "source is not text in UTF-8"),
    ({"flags": "-O3"}, TypeError, "flags is '-O3'; expected a list of compiler options, each a str"),
    ({"flags": None}, TypeError, "flags is None; expected a list"),
    ({"flags": [3]}, TypeError, "flags is [3]; expected a list"),
    ({"include_dirs": "/usr/include"}, TypeError, "include_dirs is '/usr/include'; expected a list of folders, each a str or Path"),
    ({"include_dirs": Path("/usr")}, TypeError, "expected a list of folders"),
    ({"include_dirs": [None]}, TypeError, "include_dirs is [None]; expected a list of folders"),
    ({"include_dirs": ["/nowhere/at/all"]}, ValueError, "include_dirs has '/nowhere/at/all', which is not a folder"),
    ({"data_independent": None}, TypeError, "data_independent is None; expected True or False"),
    ({"data_independent": 1}, TypeError, "data_independent is 1; expected True or False"),
])
def test_wrong_arguments_are_refused_by_name(function, arguments, error, message):
    with pytest.raises(error) as caught:
        function(**{"source": KERNELS} | arguments)
    assert str(caught.value).startswith(f"jit.{function.__name__}: ") and message in str(caught.value)


@pytest.mark.parametrize("arguments, error, message", [
    ({"cores": "foo"}, ValueError, "jit.compile: cores is 'foo'; accepted: cube, vector, mix"), ({"cores": ["mix"]}, ValueError, "cores is ['mix']; accepted"),
    ({"cores": ""}, ValueError, "cores is ''; accepted"), ({"name": 3}, TypeError, "jit.compile: name is 3; expected a str"),
    ({"name": "a b"}, ValueError, "name is 'a b'; expected a C++ identifier"), ({"name": ""}, ValueError, "name is ''; expected a C++ identifier"),
    ({"kernels": ["f"]}, TypeError, "jit.compile_all: kernels is ['f']; expected a dict"), ({"kernels": {1: "mix"}}, TypeError, "kernels is {1: 'mix'}; expected a dict"),
    ({"kernels": {"f": "gpu"}}, ValueError, "kernels has 'f' for cores 'gpu'; accepted: cube, vector, mix"),
    ({"kernels": {"f-": "mix"}}, ValueError, "kernels has the name 'f-'; expected a C++ identifier"),
])
def test_wrong_names_and_cores_are_refused_by_name(arguments, error, message):
    with pytest.raises(error) as caught:
        (jit.compile_all if "kernels" in arguments else jit.compile)("int x;", **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_options_are_those_of_the_library_s_own_kernels(level):
    makefile = MAKEFILE.read_text().replace("\\\n", " ")
    common = re.search(r"^CXXFLAGS_ALL := (.*)$", makefile, re.MULTILINE)[1].replace("$(OPT)", "-O2 -g1").split()
    flags = re.search(rf"^FLAGS_{level}\s*:= (.*)$", makefile, re.MULTILINE)[1].split()
    said = [flag for flag in common if not flag.startswith(("-W", "-I", "-M", "$"))]
    assert list(host_compiler.COMMON_FLAGS) == said
    assert list(host_compiler.LEVEL_FLAGS["x86_64"][level]) == flags


# ---- the compiler -------------------------------------------------------------------------------------------------------

def fake_compiler(folder, name, macros):
    program = folder / name
    program.write_text(f"#!/bin/sh\ncase $1 in --version) echo fake;; *) printf '{macros}';; esac\n")
    program.chmod(0o755)
    return program


def test_says_how_to_get_a_compiler_where_there_is_none(monkeypatch, tmp_path):
    monkeypatch.delenv("ASCEND_SIM_CXX", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"g\+\+: not found; clang\+\+: not found; c\+\+: not found. Install one .*apt install g\+\+"):
        host_compiler.find()


def test_says_when_the_compiler_is_too_old_and_takes_the_next(monkeypatch, tmp_path):
    monkeypatch.delenv("ASCEND_SIM_CXX", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    fake_compiler(tmp_path, "g++", r"#define __GNUC__ 9\n#define __GNUC_MINOR__ 4\n#define __GNUC_PATCHLEVEL__ 0\n")
    good = fake_compiler(tmp_path, "clang++", r"#define __clang_major__ 18\n#define __clang_minor__ 1\n#define __GNUC__ 4\n")
    found = host_compiler.find()
    assert (found.command, found.family, found.version) == ((str(good),), "clang", "18.1")
    monkeypatch.setenv("ASCEND_SIM_CXX", "g++ -pipe")
    with pytest.raises(RuntimeError, match=r"needs g\+\+ 12 or newer, or clang\+\+ 16 or newer. ASCEND_SIM_CXX or CXX says 'g\+\+ -pipe'. g\+\+: is gcc 9.4.0, too old"):
        host_compiler.find()


# ---- what is kept -------------------------------------------------------------------------------------------------------

TINY = 'extern "C" __global__ __vector__ void tiny(__gm__ int32_t* x) { x[0] = VALUE; }'


def run(text, **options):
    x = torch.zeros(1, dtype=torch.int32).npu()
    jit.compile(text, **options)[1](x)
    return x.item()


def test_the_same_text_is_compiled_once_and_another_anew(empty_cache, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO, driver.__name__)
    compiled = []
    real = driver._run
    monkeypatch.setattr(driver, "_run", lambda *args: (compiled.append(args[2]), real(*args)))
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "value.h").write_text("#define VALUE 41\n")
    text = f'#include "value.h"\n{TINY}'
    assert run(text, include_dirs=[headers]) == run(text, include_dirs=[headers]) == 41
    assert compiled == [["tiny"]]
    (headers / "value.h").write_text("#define VALUE 420\n")     # a header counts as part of the text
    assert run(text, include_dirs=[headers]) == 420
    assert compiled == [["tiny"], ["prefix.h"], ["tiny"]]       # the second kernel precompiles what all include
    assert "not used" not in caplog.text                        # and the compiler takes it (-Winvalid-pch)
    assert len(list(empty_cache.glob("*/kernel.so"))) == 2


def test_a_damaged_object_is_made_anew(empty_cache, monkeypatch):
    monkeypatch.setattr(disk_cache, "key", lambda *parts: "damaged")
    disk_cache.entry("damaged", lambda at: (at / "kernel.so").write_text("no ELF file"))
    assert run(TINY.replace("VALUE", "5")) == 5
    assert (empty_cache / "damaged" / "kernel.so").read_bytes()[:4] == b"\x7fELF"


def test_says_where_it_cannot_write(monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", "/proc/ascend")
    with pytest.raises(RuntimeError, match="cannot be kept in /proc/ascend/jit: .*ASCEND_SIM_CACHE_DIR"):
        run(TINY.replace("VALUE", "6"))


def test_what_every_kernel_includes_stays_small(tmp_path):
    """The compiler instantiates what inline functions of a header name, in each kernel anew, precompiled or not: one <string> costs as much as a small kernel."""
    (tmp_path / "prefix.h").write_text(driver._PREFIX_TEXT + '#include "simt_api/asc_simt.h"\n#include "simt_api/cooperative_groups.h"\n')
    compiler = host_compiler.find()
    listed = subprocess.run([*compiler.command, *host_compiler.flags(host_compiler.level()), *(f"-I{folder}" for folder in host_compiler.include_folders()), "-M",
                             "-x", "c++", str(tmp_path / "prefix.h")], capture_output=True, text=True, check=True).stdout
    seen = {Path(name).name for name in listed.replace("\\\n", " ").split()}
    assert "simt_math.h" in seen
    assert not seen & {"string", "basic_string.h", "vector", "memory", "functional", "mutex", "atomic", "iostream", "specfun.h", "core.h", "trace.h"}
