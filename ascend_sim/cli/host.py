# SPDX-License-Identifier: MIT
"""What is this machine, seen from a process on it: CPU, memory, limits? Linux files, read without loading anything of ours."""

import os
import platform
import resource
from pathlib import Path


def cpu_model() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cpu_flags() -> set[str]:
    """As the kernel names them; empty where it does not."""
    for line in _lines("/proc/cpuinfo"):
        if line.startswith(("flags", "Features")):
            return set(line.partition(":")[2].split())
    return set()


def usable_cpus() -> int:
    return len(os.sched_getaffinity(0))


def cpu_quota() -> float | None:
    """CPUs that a control group lets this process use in the long run; None: no limit."""
    quota, _, period = _text("/sys/fs/cgroup/cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.strip().isdigit() else None


def memory() -> dict[str, int]:
    """Bytes of MemTotal, MemAvailable, CommitLimit, Committed_AS and so on, as /proc/meminfo names them."""
    return {name: int(rest.split()[0]) * 1024 for line in _lines("/proc/meminfo") for name, _, rest in [line.partition(":")] if rest.split()[1:] == ["kB"]}


def available_bytes() -> int:
    """What processes may still take: of the machine's memory, or of the control group's if that is less."""
    available = memory().get("MemAvailable", 1 << 62)
    limit, used = _text("/sys/fs/cgroup/memory.max"), _text("/sys/fs/cgroup/memory.current")
    if limit.isdigit() and used.isdigit():
        kinds = dict(line.split() for line in _lines("/sys/fs/cgroup/memory.stat") if len(line.split()) == 2)
        on_demand = sum(int(kinds.get(kind, 0)) for kind in ("active_file", "inactive_file"))
        available = min(available, max(int(limit) - max(int(used) - on_demand, 0), 0))
    return available


def overcommit() -> int:
    """vm.overcommit_memory: 0 and 1 let address space be reserved freely, 2 counts it."""
    text = _text("/proc/sys/vm/overcommit_memory")
    return int(text) if text.isdigit() else 0


def address_space_limit() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def open_files_limit() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def space(folder: Path) -> tuple[int, int, bool]:
    """(free bytes, bytes in all, may programs be loaded from it?) of the file system that holds the folder. OSError if it cannot be asked."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize, not found.f_flag & os.ST_NOEXEC


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _lines(path: str) -> list[str]:
    return _text(path).splitlines()
