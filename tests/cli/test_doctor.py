# SPDX-License-Identifier: MIT
"""Is each fault found when it is planted, with its mend, and is nothing found where there is none?"""

import collections
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from ascend_sim import cli
from ascend_sim.cli import checks, host, probes
from ascend_sim.cli.checks import compilers, install, machine, neighbours, self_test, settings
from ascend_sim.jit import built, host_compiler

LISTING = {"ascend": {"available": True, "reason": "kernels", "options": []}, "torch": {"available": True, "reason": "plain", "options": []},
           "cuda": {"available": True, "reason": "layouts", "options": ["sm90", "sm100"]}}
DEVICE = {"version": "2.13.0", "path": "/torch", "warnings": [], "owner": "npu", "backends": LISTING}
WELL = {"device": DEVICE, "torch_alone": {"version": "2.13.0", "path": "/torch", "import_s": 1.0}, "native": {"path": "/_C.so"},
        "library": {"build": built.of_package(), "levels": ["portable", "avx2"], "level": "avx2"}, "tilelang": {"version": "0.1.15"},
        "self_test": {"shape": [1, 1, 1], "error": 1e-6, "simulated_us": 1.0, "host_s": 0.1}}


class Answers(checks.Context):
    """Probes answered without starting a process; a text is an error."""

    def __init__(self, **answers):
        super().__init__()
        self._answers = {**WELL, **answers}

    def ask(self, question):
        answer = self._answers[question]
        return probes.Outcome(error=answer) if isinstance(answer, str) else probes.Outcome(value=answer, host_s=1.0)


def faults(check, **answers):
    return [finding for finding in check(Answers(**answers)) if finding.state == "fault"]


def the_fault(check, what, mend, **answers):
    """The one fault that is found; each part of `what` and `mend` must be said."""
    finding, = faults(check, **answers)
    for part in [what] if isinstance(what, str) else what:
        assert part in finding.what
    assert mend in finding.mend and finding.why
    return finding


# ---- settings ----------------------------------------------------------------------------------------------------------------------------


def test_every_bad_variable_is_found_and_misspelt_ones_are(monkeypatch):
    for name, text in {"ASCEND_SIM_MODE": "fast", "ASCEND_SIM_CHECK": "bounds", "DG_PRINT_CONFIGS": "perhaps", "ASCEND_SIM_BACKEDN": "torch"}.items():
        monkeypatch.setenv(name, text)
    found = faults(settings.variables)
    assert [finding.mend for finding in found] == [
        "Set ASCEND_SIM_MODE to an accepted value, or remove it: unset ASCEND_SIM_MODE.", "Set ASCEND_SIM_CHECK to an accepted value, or remove it: unset ASCEND_SIM_CHECK.",
        "Set DG_PRINT_CONFIGS to an accepted value, or remove it: unset DG_PRINT_CONFIGS.", "Did you mean ASCEND_SIM_BACKEND? `ascend-sim info` lists them all."]


@pytest.mark.parametrize("check, variable, text, what", [
    (settings.chip, "ASCEND_SIM_CHIP", "950XX", "chip '950XX' is not known"),
    (settings.chip, "ASCEND_SIM_CHIP", "/no/chip.toml", "does not exist"),
    (settings.backend, "ASCEND_SIM_BACKEND", "cudnn", "known: ascend, torch, cuda, cuda:sm90, cuda:sm100"),
    (settings.backend, "ASCEND_SIM_BACKEND", "cuda:sm70", "'cuda:sm70' is not known"),
    (settings.autoload, "ASCEND_SIM_AUTOLOAD", "0", "ASCEND_SIM_AUTOLOAD=0"),
    (settings.autoload, "TORCH_DEVICE_BACKEND_AUTOLOAD", "0", "TORCH_DEVICE_BACKEND_AUTOLOAD=0"),
    (settings.host_isa, "ASCEND_SIM_HOST_ISA", "amx", "this CPU offers portable, avx2"),
])
def test_settings_that_are_accepted_and_do_not_work(monkeypatch, check, variable, text, what):
    assert faults(check) == []
    monkeypatch.setenv(variable, text)
    the_fault(check, what, f"unset {variable}")


def test_a_backend_that_is_not_available(monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_BACKEND", "plug")
    listing = {**LISTING, "plug": {"available": False, "reason": "importing plug failed", "options": []}}
    the_fault(settings.backend, "importing plug failed", "unset ASCEND_SIM_BACKEND", device={**DEVICE, "backends": listing})


# ---- installation ------------------------------------------------------------------------------------------------------------------------


def distribution(folder, name, version, files=()):
    """An installed package, as pip leaves it."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages that comes before the others."""
    monkeypatch.syspath_prepend(tmp_path / "site")
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def test_another_version_of_torch(site):
    distribution(site, "torch", "2.12.1+cpu")
    the_fault(install.torch_version, "version 2.12.1+cpu; needed: 2.13.*", "pip install 'torch==2.13.*'")


def test_no_torch_and_no_numpy(monkeypatch):
    monkeypatch.setattr(install, "_version", lambda name: None)
    the_fault(install.torch_version, "not installed in this environment", "Activate the environment that has it, or: pip install 'torch==2.13.*'")
    monkeypatch.setattr(install, "_version", lambda name: "2.13.0" if name == "torch" else None)
    assert the_fault(install.torch_version, "not installed", "pip install 'numpy>=1.26'").check == "numpy"


def test_the_versions_that_are_asked_for_are_those_of_the_project():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'"torch=={install.TORCH}*"' in project and f"tilelang=={compilers.TILELANG}" in project and f"tile-kernels=={compilers.TILE_KERNELS}" in project


@pytest.mark.parametrize("error, mend", [("ImportError: libtorch_cpu.so: cannot open shared object file", "pip install 'torch==2.13.*'"),
                                         ("ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found", "conda install -c conda-forge libstdcxx-ng"),
                                         ("the process was ended by the signal SIGSEGV", "Install it anew")])
def test_torch_that_cannot_be_imported(error, mend):
    the_fault(install.torch_import, error, mend, device=error, torch_alone=error)


def test_an_extension_for_another_torch():
    error = "ImportError: _C.so: undefined symbol: _ZN3c1010TensorImpl"
    finding = the_fault(install.native, error, install.REBUILD, device=error, native=error)
    assert "(ABI)" in finding.why and faults(install.torch_import, device=error, native=error) == []


def test_an_extension_that_was_not_built_with_the_library(monkeypatch, tmp_path):
    monkeypatch.setattr(install, "IS_CHECKOUT", True)
    monkeypatch.setattr(probes, "ROOT", tmp_path)
    monkeypatch.setattr(host_compiler, "LIBRARY", tmp_path / "libascend_sim.so")
    (tmp_path / "ascend_sim").mkdir()
    for name, time in (("ascend_sim/_C.so", 100), ("libascend_sim.so", 200)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (time, time))
    the_fault(install.native, "_C.so is older than libascend_sim.so", install.REBUILD)
    os.utime(tmp_path / "ascend_sim/_C.so", (300, 300))
    assert faults(install.native) == []


def test_a_device_that_cannot_be_set_up_is_not_blamed_on_the_extension():
    assert the_fault(install.native, "no memory", "mend that first", device="RuntimeError: no memory").check == "device"


def test_a_library_of_another_version_or_of_other_headers():
    assert faults(install.library) == []
    the_fault(install.library, ["was built for version 0.0.9", "the Python files are"], install.REBUILD, library={**WELL["library"], "build": "0.0.9 abc"})
    the_fault(install.library, "was built for version unknown", install.REBUILD, library={**WELL["library"], "build": ""})
    version = built.of_package().split()[0]
    finding = the_fault(install.library, "was built from other headers", install.REBUILD, library={**WELL["library"], "build": f"{version} 0123456789abcdef"})
    assert "TileLang" in finding.why


@pytest.mark.parametrize("error, mend", [("OSError: version `GLIBC_2.99' not found", "C library is older"), ("OSError: invalid ELF header", "another kind of CPU"),
                                         ("OSError: failed to map segment from shared object", "noexec"), ("OSError: whatever", install.REBUILD)])
def test_a_library_that_cannot_be_loaded(error, mend):
    the_fault(install.library, error, mend, library=error)


def test_files_that_are_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(host_compiler, "LIBRARY", tmp_path / "libascend_sim.so")
    the_fault(install.library, "libascend_sim.so is not there", install.REBUILD)
    monkeypatch.setattr(probes, "ROOT", tmp_path)
    the_fault(install.native, "_C.so is not there", install.REBUILD)


def test_a_package_that_is_not_installed_or_not_whole_or_there_twice(monkeypatch, tmp_path, site):
    monkeypatch.setattr(install, "IS_CHECKOUT", False)
    monkeypatch.setattr(sys, "path", [str(site)])
    the_fault(install.package, "is not installed in this environment", "pip install it")
    distribution(site, "ascend-sim", "0.0.1", ["ascend_sim/chips/a.toml"])
    assert "another copy, 0.0.1" in the_fault(install.package, str(site), "until none is left").what
    monkeypatch.setattr(probes, "ROOT", site)
    (site / "ascend_sim/chips/a.toml").unlink()
    mixed, missing = faults(install.package)
    assert "pip knows version 0.0.1" in mixed.what and "1 of its files are missing, the first: ascend_sim/chips/a.toml" in missing.what


def test_a_warning_of_autoload_and_a_slot_that_is_taken(monkeypatch):
    entry = collections.namedtuple("Entry", "name value")
    monkeypatch.setattr(install.importlib.metadata, "entry_points", lambda group: [entry("npu", "ascend_sim._autoload:autoload")])
    assert faults(install.entry_point) == []
    warning, taken = faults(install.entry_point, device={**DEVICE, "owner": "xpu2", "warnings": ["ascend_sim: the device npu is not available: .."]})
    assert "not available" in warning.what and "'xpu2'" in taken.what and taken.mend


# ---- other packages ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return folder


def test_torch_npu_before_torch(monkeypatch):
    monkeypatch.setattr(neighbours.importlib.util, "find_spec", lambda name: None)
    for shims, expected in (("torch_npu", 1), ("all", 1), ("toolkit", 1), ("cuda", 0), ("none", 0), ("wrong", 0)):
        monkeypatch.setenv("ASCEND_SIM_SHIMS", shims)
        found = list(neighbours.torch_npu_first(Answers()))
        assert len(found) == expected and all(one.state == "note" and "before `import torch`" in one.what and "ascend-sim run" in one.mend for one in found)
    monkeypatch.undo()
    monkeypatch.setattr(neighbours.importlib.util, "find_spec", lambda name: sys)
    monkeypatch.setenv("ASCEND_SIM_SHIMS", "torch_npu")
    assert not list(neighbours.torch_npu_first(Answers()))


@pytest.mark.parametrize("code, works", [("import torch_npu", False), ("import torch; import torch_npu", True), ("import ascend_sim.compat.torch_npu, torch_npu", True)])
def test_what_the_doctor_says_about_it_is_true(code, works, monkeypatch):
    """With an entry point, as installed, or without: then the second way needs ascend_sim.npu."""
    monkeypatch.setenv("ASCEND_SIM_SHIMS", "torch_npu")
    if not any(entry.name == "npu" for entry in importlib.metadata.entry_points(group="torch.backends")):
        code = code.replace("import torch;", "import torch, ascend_sim.npu;")
    for path, expected in ((None, works), (neighbours.STAND_INS, True)):
        environment = os.environ | ({"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{path}"} if path else {})
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
        assert (done.returncode == 0) == expected and (expected or "No module named 'torch_npu'" in done.stderr), done.stderr


def test_real_deep_gemm_and_real_torch_npu(site, elsewhere):
    assert faults(neighbours.same_names) == faults(neighbours.torch_npu) == []
    distribution(site, "deep-gemm", "2.5.0", ["deep_gemm/__init__.py"])
    the_fault(neighbours.same_names, "deep_gemm is also installed by deep-gemm", "pip uninstall deep-gemm")
    distribution(site, "torch-npu", "2.13.0", ["torch_npu/__init__.py"])
    the_fault(neighbours.torch_npu, "torch_npu is installed (torch-npu)", "pip uninstall torch-npu")


def test_a_package_of_our_name_that_nobody_installed(site, elsewhere):
    (site / "flash_mla").mkdir()
    (site / "flash_mla" / "__init__.py").write_text("")
    sys.modules.pop("flash_mla", None)
    the_fault(neighbours.same_names, f"`import flash_mla` finds {site / 'flash_mla'}", "Uninstall or move it")


@pytest.mark.parametrize("file, reported", [("torch.py", True), ("deep_gemm/__init__.py", True), ("numpy.cpython-311-x86_64-linux-gnu.so", True),
                                            ("deep_gemm/notes.txt", False), ("torches.py", False)])
def test_stray_files(elsewhere, file, reported):
    path = elsewhere / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    if reported:
        the_fault(neighbours.strays, ["the current folder, has", Path(file).parts[0]], "Rename it")
    else:
        assert faults(neighbours.strays) == []


def test_stray_files_in_pythonpath_and_checkouts(elsewhere, monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "torch.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'lib'}:")
    the_fault(neighbours.strays, "a folder of PYTHONPATH, has torch.py", "remove the folder from PYTHONPATH")
    for name in ("csrc/isa", "ascend_sim"):
        (elsewhere / name).mkdir(parents=True)
    (elsewhere / "ascend_sim" / "__init__.py").write_text("")
    monkeypatch.delenv("PYTHONPATH")
    assert [finding.state for finding in neighbours.strays(Answers())] == ["note"]


def test_real_cann(elsewhere, monkeypatch, tmp_path):
    assert faults(neighbours.vendor) == []
    for file in ("cann/bin/bisheng", "cann/lib64/libascendcl.so"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    monkeypatch.setenv("BISHENG_HOME", str(tmp_path / "cann"))
    the_fault(neighbours.vendor, f"BISHENG_HOME={tmp_path / 'cann'} has the vendor's compiler", "unset BISHENG_HOME")
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path))       # our own stand-in for a toolkit lies in the cache
    assert faults(neighbours.vendor) == []
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/x:{tmp_path / 'cann' / 'lib64'}")
    the_fault(neighbours.vendor, "LD_LIBRARY_PATH has the vendor's libascendcl.so", "Remove the folder")


# ---- machine -----------------------------------------------------------------------------------------------------------------------------


def test_a_cpu_without_avx2(monkeypatch):
    assert faults(machine.cpu) == []
    for flags, what, mend in (({"hypervisor", "sse2"}, "the hypervisor hides it", "host-passthrough"), ({"sse2"}, "the CPU does not have it", "2015")):
        monkeypatch.setattr(host, "cpu_flags", lambda flags=flags: flags)
        the_fault(machine.cpu, ["no AVX2", what], mend, library={**WELL["library"], "levels": ["portable"]})


def test_fewer_cpus_than_are_visible_are_noted(monkeypatch):
    monkeypatch.setattr(host, "cpu_quota", lambda: 0.5)
    assert "ASCEND_SIM_THREADS=1" in [finding for finding in machine.cpu(Answers()) if finding.state == "note"][0].mend


def test_memory_limits(monkeypatch):
    monkeypatch.setattr(host, "available_bytes", lambda: 100 << 20)
    the_fault(machine.memory, "100.0 MiB are available", "docker run --memory")
    monkeypatch.setattr(host, "available_bytes", lambda: 8 << 30)
    assert faults(machine.memory) == []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (16 << 30, 16 << 30))
    the_fault(machine.memory, "ulimit -v is 16.0 GiB; a device reserves 134.1 GiB", "ulimit -v unlimited")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    monkeypatch.setattr(host, "overcommit", lambda: 2)
    monkeypatch.setattr(host, "memory", lambda: {"CommitLimit": 10 << 30, "Committed_AS": 10 << 30})
    the_fault(machine.memory, "vm.overcommit_memory is 2", "sysctl vm.overcommit_memory=0")


def test_shared_memory(monkeypatch, tmp_path):
    assert faults(machine.shared_memory) == []
    absent = list(machine.shared_memory(Answers(), tmp_path / "none"))
    assert "cannot be used: No such file or directory" in absent[0].what and "--shm-size" in absent[0].mend
    monkeypatch.setattr(host, "space", lambda folder: (64 << 20, 64 << 20, True))
    the_fault(machine.shared_memory, "64.0 MiB free of 64.0 MiB", "docker run --shm-size=2g")
    monkeypatch.setattr(host, "space", lambda folder: (1 << 40, 1 << 40, True))

    def refused(name):
        raise PermissionError(1, "Operation not permitted")
    monkeypatch.setattr(machine.os, "memfd_create", refused)
    the_fault(machine.shared_memory, "memfd_create is refused: Operation not permitted", "seccomp")


def test_few_open_files(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    the_fault(machine.limits, "ulimit -n is 64", "ulimit -n 4096")


def test_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "new" / "cache"))
    assert faults(machine.cache) == [] and not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    the_fault(machine.cache, "cannot be written: ", "Set ASCEND_SIM_CACHE_DIR to a folder that you can write to")
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", "/proc/nothing")
    the_fault(machine.cache, "cannot be written: /proc", "Set ASCEND_SIM_CACHE_DIR")
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(host, "space", lambda folder: (1 << 20, 1 << 40, True))
    the_fault(machine.cache, "1.0 MiB are free", "ascend-sim cache --clear")
    monkeypatch.setattr(host, "space", lambda folder: (1 << 40, 1 << 40, False))
    the_fault(machine.cache, "mounted noexec", "Set ASCEND_SIM_CACHE_DIR")


# ---- compilers ---------------------------------------------------------------------------------------------------------------------------


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


OLD = 'case "$*" in *--version*) echo old;; *) echo "#define __GNUC__ 9"; echo "#define __GNUC_MINOR__ 4"; echo "#define __GNUC_PATCHLEVEL__ 0";; esac'
NO_HEADERS = OLD.replace("9", "12") + '\ncase "$*" in *-fsyntax-only*) echo "fatal error: concepts: No such file" >&2; exit 1;; esac'


@pytest.mark.parametrize("command, what, mend", [("no-such-g++", "no-such-g++: not found", "ASCEND_SIM_CXX"), (OLD, "is gcc 9.4.0, too old", "apt install g++"),
                                                 (NO_HEADERS, "concepts: No such file", "libstdc++")])
def test_compilers(monkeypatch, tmp_path, command, what, mend):
    monkeypatch.setenv("ASCEND_SIM_CXX", program(tmp_path, "cxx", command) if " " in command else command)
    the_fault(compilers.compiler, what, mend)


def test_no_compiler_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    the_fault(compilers.compiler, "g++: not found; clang++: not found; c++: not found", "apt install g++")
    monkeypatch.setattr(compilers, "_version", lambda name: "0.1.15")
    the_fault(compilers.tilelang, "no g++ on PATH", "apt install g++")


def test_tilelang_and_tile_kernels(monkeypatch, site):
    distribution(site, "tilelang", "0.1.16")
    the_fault(compilers.tilelang, "version 0.1.16; needed: 0.1.15", "pip install tilelang==0.1.15")
    distribution(site, "tile-kernels", "1.0.0")
    the_fault(compilers.tile_kernels, "version 1.0.0", "tile-kernels==2.1.0")
    monkeypatch.setattr(compilers, "_version", lambda name: {"tilelang": "0.1.15"}.get(name))
    the_fault(compilers.tilelang, "`import tilelang` fails: ImportError: libz3", "--force-reinstall tilelang==0.1.15", tilelang="ImportError: libz3")
    assert "--ignore-requires-python" in compilers.INSTALL_TILE_KERNELS
    if sys.version_info < (3, 12):
        finding, = compilers.tile_kernels(Answers())
        assert finding.state == "note" and compilers.INSTALL_TILE_KERNELS in finding.mend
    monkeypatch.setattr(compilers, "_version", lambda name: None)
    finding, = compilers.tilelang(Answers())
    assert finding.state == "note" and "ascend-sim[tilelang]" in finding.mend


# ---- self test, and the whole ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [1e-3, float("nan")])
def test_wrong_values(error):
    assert faults(self_test.gemm) == []
    the_fault(self_test.gemm, "differs from fp32", "ASCEND_SIM_HOST_ISA", self_test={**WELL["self_test"], "error": error})


def test_a_kernel_that_fails():
    the_fault(self_test.gemm, "a GEMM on npu failed: LaunchError", "Mend the faults above", self_test="LaunchError: stuck")


def test_a_check_that_fails_itself_is_a_finding_and_the_others_go_on(monkeypatch, capsys):
    monkeypatch.setattr(checks, "Context", lambda runs_kernels: Answers())

    def broken(context):
        raise OSError("no /proc here")
        yield
    monkeypatch.setattr(settings, "CHECKS", (broken,))
    assert cli.main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] >= 1 and found["findings"][0]["what"] == "this check could not be made: OSError: no /proc here"
    assert found["findings"][-1]["check"] == "self test"


def test_a_probe_that_crashes_hangs_or_prints_is_an_outcome(monkeypatch):
    monkeypatch.setattr(probes, "_START", "import os\nprint('noise')\nos.kill(os.getpid(), 9)  # {root} {question}")
    assert probes.run("library").error.startswith("the process was ended by the signal SIGKILL")
    monkeypatch.setattr(probes, "_START", "import sys\nsys.exit('said why')  # {root} {question}")
    assert probes.run("library").error == "the process ended with status 1: said why"
    monkeypatch.setattr(probes, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(probes, "_START", "import time\ntime.sleep(60)  # {root} {question}")
    assert probes.run("library").error == "no answer within 0.2 s"


def test_torch_and_tilelang_are_tried_without_what_autoload_brings(monkeypatch):
    monkeypatch.setattr(probes, "_START", "import json, os\nprint(json.dumps(dict(value=os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD'))))  # {root} {question}")
    assert {question: probes.run(question).value for question in probes._QUESTIONS} == {
        "torch_alone": "0", "native": "0", "tilelang": "0", "library": None, "device": None, "self_test": None}


def test_what_works_here_is_said_to_work(capsys, monkeypatch):
    monkeypatch.chdir(os.sep)
    monkeypatch.setattr(compilers, "_version", lambda name: None)       # importing tilelang takes seconds
    cli.main(["doctor"])
    said = capsys.readouterr().out
    for line in ("ok     variables", "ok     chip", "ok     backend", "ok     library", "ok     extension", "ok     compiler", "ok     self test      bf16 GEMM 256 x 512 x 1024 in"):
        assert line in said, said
