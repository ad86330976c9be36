# SPDX-License-Identifier: MIT
"""Where do compiled kernels stay between processes? Folders named by what went into them; the least recently used go first.

Safe between processes without locks: an entry is made under another name and renamed into place, so it is there in full or not
at all; who comes second throws his own copy away. Removal renames first for the same reason.
Safe against a disk that lost something: an entry lists its files and their sizes, and one that does not fit is made anew.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ascend_sim import config

LIMIT_BYTES = 1 << 30                   # a kernel takes about 100 KB, a precompiled header 90 MB
_FILES = ".files"                       # of an entry: its files and their sizes
_UNFINISHED = ".tmp-"
_UNFINISHED_IS_STALE_S = 3600
_in_use: set[Path] = set()              # by this process: never removed, because fault messages look up source lines in them


def key(*parts: object) -> str:
    """A name for everything that determines an entry's content. Parts are str, bytes or tuples of such."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def folder() -> Path:
    return _made(config.cache_dir() / "jit")


def _made(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeError(f"ascend_sim.jit: compiled kernels cannot be kept in {path}: {error.strerror}. "
                           "Set ASCEND_SIM_CACHE_DIR to a folder that you can write to.") from None
    return path


def entry(name: str, make: Callable[[Path], None], within: Path | None = None) -> Path:
    """The folder of that name; if there is none, a new one filled by `make`. Marks it as used now.

    within: a folder beside that of the kernels, whose entries are never removed to make room
    """
    path = _made(within or folder()) / name
    _in_use.add(path)
    if _touch(path):
        if _is_whole(path):
            return path
        discard(path)
        _in_use.add(path)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{name}-", dir=path.parent))
    except OSError as error:
        raise RuntimeError(f"ascend_sim.jit: cannot write to {path.parent}: {error.strerror}. "
                           "Set ASCEND_SIM_CACHE_DIR to a folder that you can write to.") from None
    try:
        make(partial)
        (partial / _FILES).write_text("".join(f"{file.stat().st_size} {file.relative_to(partial)}\n" for file in _files(partial)))
        with contextlib.suppress(OSError):          # somebody else was faster, with the same content
            partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    trim()
    return path


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink() and file.name != _FILES)


def _is_whole(path: Path) -> bool:
    """Whether the files that were there when it was made are there, as long as they were."""
    try:
        listed = [line.split(" ", 1) for line in (path / _FILES).read_text().splitlines()]
        return bool(listed) and all((path / name).stat().st_size == int(size) for size, name in listed)
    except (OSError, ValueError):
        return False


def has(name: str) -> bool:
    return _is_whole(folder() / name)


def discard(path: Path) -> None:
    """Removes an entry that turned out to be unusable."""
    _in_use.discard(path)
    aside = path.with_name(f"{_UNFINISHED}{path.name}-{os.getpid()}-{time.monotonic_ns()}")
    with contextlib.suppress(OSError):
        path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def trim() -> None:
    """Removes what was not used for longest until the rest fits, and what processes that were killed left unfinished."""
    entries = []
    for path in folder().iterdir():
        with contextlib.suppress(OSError):
            used = path.stat().st_mtime
            if path.name.startswith(_UNFINISHED):
                if time.time() - used > _UNFINISHED_IS_STALE_S:
                    shutil.rmtree(path, ignore_errors=True)
                continue
            entries.append((used, sum(file.stat().st_size for file in _files(path)), path))
    excess = sum(size for _, size, _ in entries) - LIMIT_BYTES
    for _, size, path in sorted(entries):
        if excess <= 0:
            return
        if path not in _in_use:
            discard(path)
            excess -= size


class Summary(NamedTuple):
    """What a cache holds. kernels: compiled texts    others: precompiled headers and the folders that stand for a toolkit    size_bytes: of all files"""

    folder: Path
    kernels: int
    others: int
    size_bytes: int


def summary() -> Summary:
    """What is in the cache now."""
    kernels = others = size = 0
    for path in _entries():
        if path.parent.name == "jit" and not path.name.startswith("prefix-"):
            kernels += 1
        else:
            others += 1
        with contextlib.suppress(OSError):
            size += sum(file.stat().st_size for file in _files(path))
    return Summary(config.cache_dir(), kernels, others, size)


def clear() -> Summary:
    """Removes every entry but those that this process uses; processes that run now keep what they have loaded. Returns what was there before."""
    before = summary()
    for path in _entries():
        if path not in _in_use:
            discard(path)
    return before


def _entries() -> list[Path]:
    parents = (config.cache_dir() / "jit", config.cache_dir() / "toolkit")
    return [path for parent in parents if parent.is_dir() for path in parent.iterdir() if path.is_dir() and not path.name.startswith(_UNFINISHED)]


def _touch(path: Path) -> bool:
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:                     # a cache that may be read but not written
        return path.is_dir()
    return True


def remembered(what: str, state: tuple, find_out: Callable[[], str]) -> str:
    """What `find_out` says for this state of some files; asked once, then read from the cache by every process. Asked again if the cache cannot be used."""
    known = _remembered.get(what)
    if known is None or known[0] != state:
        try:
            answer = _kept_answer(key(what, state), find_out)
        except (OSError, RuntimeError):
            answer = find_out()
        known = _remembered[what] = (state, answer)
    return known[1]


def _kept_answer(name: str, find_out: Callable[[], str]) -> str:
    def make(at: Path) -> None:
        answer = find_out()
        (at / "answer").write_text(f"{key(answer)}\n{answer}")
    for _ in range(2):
        place = entry(name, make, config.cache_dir() / "toolkit")
        check, _, answer = (place / "answer").read_bytes().decode(errors="replace").partition("\n")
        if check == key(answer):
            return answer
        discard(place)                  # as long as it was, but something else
    return find_out()


_remembered: dict[str, tuple[tuple, str]] = {}


def state_of_tree(root: Path, suffix: str = "") -> tuple[tuple[str, int, int], ...]:
    """(name, bytes, time of change) of each file below whose name ends so, sorted; names that begin with a dot are left out."""
    found, folders = [], [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            for one in entries:
                if one.name.startswith("."):
                    continue
                if one.is_dir():
                    folders.append(f"{folder}{one.name}/")
                elif one.name.endswith(suffix):
                    info = one.stat()
                    found.append((f"{folder}{one.name}", info.st_size, info.st_mtime_ns))
    return tuple(sorted(found))


def hash_of_tree(root: Path, suffix: str = "") -> str:
    """Of all files below whose name ends so: names and bytes. Read again only when a size or time of change differs."""
    state = state_of_tree(root, suffix)

    def read() -> str:
        digest = hashlib.sha256()
        for name, *_ in state:
            content = (root / name).read_bytes()
            digest.update(f"{name} {len(content)} ".encode())
            digest.update(content)
        return digest.hexdigest()
    return remembered(f"files {suffix} of {root}", state, read)
