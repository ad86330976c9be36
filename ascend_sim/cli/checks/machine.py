# SPDX-License-Identifier: MIT
"""Do CPU, memory, shared memory, limits and disk suffice for an emulated chip?"""

import os
import tempfile
from pathlib import Path

from ascend_sim import chips, config
from ascend_sim.cli import host
from ascend_sim.cli.checks import Context, fault, note, ok
from ascend_sim.cli.text import size
from ascend_sim.jit import disk_cache

GIB = 1 << 30
LITTLE_MEMORY, TOO_LITTLE_MEMORY = 4 * GIB, 1 * GIB
LITTLE_SHARED_MEMORY = GIB // 4
CACHE_NEEDS = 256 << 20                 # a precompiled header takes 90 MB


def cpu(context: Context):
    levels = context.ask("library").value.get("levels")
    cpus, quota = host.usable_cpus(), host.cpu_quota()
    if levels == ["portable"]:
        flags = host.cpu_flags()
        where = "the hypervisor hides it" if "hypervisor" in flags else "the CPU does not have it"
        yield fault("cpu", f"{host.cpu_model()}: no AVX2 ({where})", "Kernels run on the portable level, many times slower; results are right.",
                    "Give the virtual machine the host's own CPU (libvirt: host-passthrough, QEMU: -cpu host), or use a machine from 2015 or later."
                    if "hypervisor" in flags else "Use a machine with AVX2 (2015 or later).")
    elif levels:
        yield ok("cpu", f"{host.cpu_model()}, {cpus} usable, SIMD levels {', '.join(levels)}")
    if quota is not None and quota < cpus:
        yield note("cpu", f"a control group limits this process to {quota:g} CPUs; {cpus} are visible", "One thread is started for each visible CPU, which costs some speed.",
                   f"ASCEND_SIM_THREADS={max(int(quota), 1)} and OMP_NUM_THREADS={max(int(quota), 1)}.")


def memory(context: Context):
    available, hbm = host.available_bytes(), _hbm_bytes()
    if available < LITTLE_MEMORY:
        make = fault if available < TOO_LITTLE_MEMORY else note
        yield make("memory", f"{size(available)} are available", "Tensors on npu lie in host memory: large ones raise OutOfMemoryError, or the system ends the process.",
                   "End other programs, raise the container's limit (docker run --memory), or use smaller shapes; ascend_sim.mode('timing') never touches most data.")
    else:
        yield ok("memory", f"{size(available)} available")
    limit = host.address_space_limit()
    if limit is not None and hbm is not None and limit < hbm + 20 * GIB:
        yield fault("memory", f"ulimit -v is {size(limit)}; a device reserves {size(hbm)} of address space", "The device cannot be set up.",
                    "ulimit -v unlimited, or ASCEND_SIM_HBM_GB=4 for a smaller device.")
    if host.overcommit() == 2:
        figures = host.memory()
        left = figures.get("CommitLimit", 0) - figures.get("Committed_AS", 0)
        make = fault if left < TOO_LITTLE_MEMORY else note
        yield make("memory", f"vm.overcommit_memory is 2, and {size(left)} of commit are left", "Every tensor counts in full from its allocation on, used or not.",
                   "sysctl vm.overcommit_memory=0 (as root), or use smaller shapes.")


def _hbm_bytes() -> int | None:
    try:
        return config.hbm_bytes() or chips.load(config.chip()).hbm_bytes
    except ValueError:
        return None                                 # reported by `variables` or `chip`


def shared_memory(context: Context, folder: Path = Path("/dev/shm")):
    why = "Workers of torch.utils.data.DataLoader and torch.multiprocessing hand tensors over there."
    try:
        free, total, _ = host.space(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        yield fault("shared memory", f"{folder} cannot be used: {error.strerror}", why, "Mount it: mount -t tmpfs -o size=2g tmpfs /dev/shm; in a container: --shm-size=2g.")
    else:
        if free < LITTLE_SHARED_MEMORY:
            yield fault("shared memory", f"{folder} has {size(free)} free of {size(total)}", why, "docker run --shm-size=2g (or --ipc=host); else remount it larger.")
        else:
            yield ok("shared memory", f"{folder} has {size(free)} free")
    try:
        descriptor = os.memfd_create("ascend_sim doctor")
        try:
            os.ftruncate(descriptor, 1 << 20)
        finally:
            os.close(descriptor)
    except OSError as error:
        yield fault("shared memory", f"memfd_create is refused: {error.strerror}", "npu tensors cannot be sent through torch.multiprocessing queues.",
                    "Allow it in the container's seccomp profile; with `ulimit -f`, lift that limit.")


def limits(context: Context):
    files = host.open_files_limit()
    if files is not None and files < 256:
        yield fault("limits", f"ulimit -n is {files}", "PyTorch's workers and compilers run out of open files.", "ulimit -n 4096")


def cache(context: Context):
    folder = config.cache_dir()
    problem, free = writable(folder)
    mend = "Set ASCEND_SIM_CACHE_DIR to a folder that you can write to, on a disk with some GiB free."
    if problem:
        yield fault("cache", f"{folder} cannot be written: {problem}", "Kernels given as text (ascend_sim.jit, TileLang) cannot be compiled.", mend)
        return
    _, _, may_load = host.space(host.existing(folder))
    if not may_load:
        yield fault("cache", f"{folder} lies on a file system mounted noexec", "Compiled kernels cannot be loaded from there.", mend)
    if free < CACHE_NEEDS:
        yield fault("cache", f"{folder}: {size(free)} are free on its disk", "Compiling a kernel fails when the disk is full.", f"ascend-sim cache --clear, or free some space. {mend}")
    elif may_load:
        held = disk_cache.summary()
        yield ok("cache", f"{folder}: {held.kernels} kernels, {size(held.size_bytes)}; {size(free)} free")


def writable(folder: Path) -> tuple[str | None, int]:
    """(why the folder cannot be written or made, or None; bytes free there)"""
    nearest = host.existing(folder)
    try:
        if not nearest.is_dir():
            return f"{nearest} is not a folder", 0
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(b"x" * 4096)
            file.flush()
        return None, host.space(nearest)[0]
    except OSError as error:
        return f"{nearest}: {error.strerror}", 0


CHECKS = (cpu, memory, shared_memory, limits, cache)
