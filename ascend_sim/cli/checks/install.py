# SPDX-License-Identifier: MIT
"""Are Python, PyTorch, our package and its two native libraries there, whole, and made for one another?"""

import importlib.metadata
import platform
import sys

import ascend_sim
from ascend_sim.cli import probes
from ascend_sim.cli.checks import Context, fault, note, ok
from ascend_sim.jit import built, host_compiler

TORCH = "2.13."                         # pyproject.toml: dependencies
GET_TORCH = "pip install 'torch==2.13.*'; for CPU alone as pytorch.org says (Get started, Compute platform CPU)."
IS_CHECKOUT = not (probes.ROOT / "ascend_sim" / "include").is_dir()
REBUILD = (f"Build again, in {probes.ROOT}, with the environment you use now active: make build (or make -C csrc lib torch PYTHON={sys.executable})." if IS_CHECKOUT
           else "pip install --force-reinstall --no-deps ascend-sim (add --no-cache-dir if you build it from source).")


def python(context: Context):
    what = f"{platform.python_version()}, {platform.system()} {platform.machine()}, {platform.libc_ver()[0] or 'unknown libc'}"
    if sys.platform != "linux" or platform.machine() not in host_compiler.LEVEL_FLAGS or sys.maxsize < 2**32:
        yield fault("python", what, f"Kernels run on 64-bit Linux, {' or '.join(host_compiler.LEVEL_FLAGS)}.", "Use such a machine, or a container or virtual machine of that kind.")
    else:
        yield ok("python", what)


def torch_version(context: Context):
    version = _version("torch")
    if version is None:
        yield fault("torch", f"not installed in this environment ({sys.prefix})", "The device is a PyTorch device; nothing works without.",
                    f"Activate the environment that has it, or: {GET_TORCH}")
    elif not version.startswith(TORCH):
        yield fault("torch", f"version {version}; needed: {TORCH}*",
                    "PyTorch's C++ interface is stable within one minor version only: the extension of ascend-sim does not load, or crashes.", GET_TORCH)
    if version is not None and _version("numpy") is None:
        yield fault("numpy", "not installed", "`import torch` warns, and tensor.numpy() fails.", "pip install 'numpy>=1.26'")


def torch_import(context: Context):
    device = context.ask("device")
    if not device.error:
        yield ok("torch", f"{device.value['version']} in {device.value['path']}, imports with npu in {device.host_s:.1f} s")
        return
    alone = context.ask("torch_alone")
    if alone.error and _version("torch") is not None:
        yield fault("torch", f"`import torch` fails, without ascend-sim, too: {alone.error}", "Nothing works without.",
                    _mend_of_loading(alone.error) or f"Install it anew: {GET_TORCH}")
    elif not alone.error:
        yield ok("torch", f"{alone.value['version']} in {alone.value['path']}, imports in {alone.value['import_s']:.1f} s (without npu)")


def package(context: Context):
    yield ok("package", f"ascend-sim {ascend_sim.__version__} in {probes.ROOT / 'ascend_sim'}{', a checkout' if IS_CHECKOUT else ''}")
    found = [one for one in importlib.metadata.distributions() if (one.metadata["Name"] or "").lower().replace("_", "-") == "ascend-sim"]
    here = [one for one in found if str(one.locate_file("")) == str(probes.ROOT)]
    if not found:
        yield fault("package", "ascend-sim is not installed in this environment; this copy is used because its folder is on the path.",
                    "`import torch` does not find the device npu.", "pip install it (make build in a checkout), or `import ascend_sim.npu` in your program.")
    for one in found:
        if one not in here and not IS_CHECKOUT:
            yield fault("package", f"another copy, {one.version}, is installed in {one.locate_file('')}", "Which of them is used depends on the order of sys.path.",
                        "pip uninstall ascend-sim, repeatedly until none is left, and install one.")
        elif one in here and not IS_CHECKOUT and one.version != ascend_sim.__version__:
            yield fault("package", f"pip knows version {one.version}, the files are {ascend_sim.__version__}", "Files of two versions are mixed.",
                        "pip uninstall ascend-sim; pip install ascend-sim")
    missing = [str(file) for one in here for file in one.files or () if not file.locate().exists() and file.suffix != ".pyc"]
    if missing and not IS_CHECKOUT:
        yield fault("package", f"{len(missing)} of its files are missing, the first: {missing[0]}", "Whatever needs them fails.", REBUILD)


def library(context: Context):
    path = host_compiler.LIBRARY
    if not path.is_file():
        yield fault("library", f"{path} is not there", "It is the emulated chip; nothing works without.", REBUILD)
        return
    answer = context.ask("library")
    if answer.error:
        yield fault("library", f"{path} cannot be loaded: {answer.error}", "It is the emulated chip; nothing works without.",
                    _mend_of_loading(answer.error) or REBUILD)
        return
    expected, found = built.of_package(), answer.value["build"]
    if expected.split()[0] != found.partition(" ")[0]:
        yield fault("library", f"{path} was built for version {found.partition(' ')[0] or 'unknown, an old one'}; the Python files are {ascend_sim.__version__}",
                    "Calls between them fail or give wrong results.", REBUILD)
    elif expected != found:
        yield fault("library", f"{path} was built from other headers than those in {host_compiler.include_folders()[-1]}",
                    "Kernels given as text (ascend_sim.jit, TileLang) are compiled against the headers and would not fit the library.", REBUILD)
    else:
        yield ok("library", f"{path.name} {found}")
    if not path.with_name("libascendcl.so").is_file():
        yield fault("library", f"{path.with_name('libascendcl.so')} is not there", "TileLang programs cannot be launched.", REBUILD)


def native(context: Context):
    extension = probes.ROOT / "ascend_sim" / "_C.so"
    if not extension.is_file():
        yield fault("extension", f"{extension} is not there", "It connects the chip with PyTorch; nothing works without.", REBUILD)
        return
    if IS_CHECKOUT and host_compiler.LIBRARY.is_file() and extension.stat().st_mtime < host_compiler.LIBRARY.stat().st_mtime:
        yield fault("extension", f"{extension} is older than {host_compiler.LIBRARY.name}", "It may have been compiled from other headers: wrong values, crashes.", REBUILD)
        return
    device = context.ask("device")
    if not device.error:
        yield ok("extension", f"{extension.name} fits this PyTorch")
        return
    if context.ask("torch_alone").error or context.ask("library").error:
        return                                      # cannot load then; reported above
    answer = context.ask("native")
    if not answer.error:
        yield fault("device", f"npu cannot be set up: {device.error}", "Nothing runs on npu.",
                    "If a setting is named above or here, mend that first. Else report it with the output of `ascend-sim info`.")
    elif "another package has registered" in device.error:
        yield fault("extension", device.error, "Nothing runs on npu.", "Use another environment for one of the two packages.")
    else:
        yield fault("extension", f"{extension} cannot be loaded: {answer.error}",
                    "It was built for another PyTorch or another Python: their C++ interfaces (ABI) differ between minor versions, and between builds.", REBUILD)


def entry_point(context: Context):
    entries = list(importlib.metadata.entry_points(group="torch.backends"))
    ours = [entry for entry in entries if entry.value.startswith("ascend_sim.")]
    for entry in entries:
        if entry not in ours:
            yield note("autoload", f"`import torch` also loads the backend {entry.name} ({entry.value})",
                       "PyTorch has room for one device like npu; whoever registers first has it.", "Use another environment for it if npu is not available here.")
    device = context.ask("device")
    if device.error or not ours:
        return
    for warning in device.value["warnings"]:
        yield fault("autoload", warning, "`import torch` does not make npu available.", "Mend what the message says.")
    if device.value["owner"] != "npu":
        yield fault("autoload", f"PyTorch's slot for such a device is taken by {device.value['owner']!r}", "npu cannot be used in the same process.",
                    "Uninstall the other package, or use another environment.")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _mend_of_loading(error: str) -> str | None:
    """For messages of the dynamic loader that say what is missing."""
    if "GLIBCXX_" in error or "CXXABI_" in error:
        return ("The C++ runtime (libstdc++) that is loaded first is older than the one this was built with, often conda's. conda install -c conda-forge libstdcxx-ng, "
                "or put the newer one first in LD_LIBRARY_PATH, or build ascend-sim here.")
    if "GLIBC_" in error:
        return "This system's C library is older than the one it was built for. Build ascend-sim on this system (pip install --no-binary ascend-sim ascend-sim)."
    if "ELF" in error:
        return "The file is damaged or made for another kind of CPU. Install it anew on this machine: pip install --force-reinstall --no-deps."
    if "failed to map segment" in error:
        return "The file system forbids loading programs (mounted noexec), or memory is limited (ulimit -v). Install elsewhere, or lift the limit."
    return None


CHECKS = (python, torch_version, torch_import, package, library, native, entry_point)
