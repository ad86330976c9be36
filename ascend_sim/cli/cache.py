# SPDX-License-Identifier: MIT
"""Shows what compiled kernels take on disk, and removes them.

Ours: shared objects made from kernels given as text, precompiled headers, folders that stand for a toolkit; bounded at 1 GiB. TileLang's
own folder, which is not bounded, is shown for information and never touched.
"""

import argparse
import contextlib
import json
from pathlib import Path

from ascend_sim import config
from ascend_sim.cli.text import columns, size
from ascend_sim.jit import disk_cache

HELP = "show or clear what compiled kernels take on disk"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove ours; running programs keep what they have loaded")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")


def main(arguments: argparse.Namespace) -> int:
    before = disk_cache.clear() if arguments.clear else None
    now = disk_cache.summary()
    tilelang, tilelang_bytes = _tilelang()
    if arguments.json:
        print(json.dumps({"folder": str(now.folder), "kernels": now.kernels, "others": now.others, "bytes": now.size_bytes, "limit_bytes": disk_cache.LIMIT_BYTES,
                          "removed_bytes": before.size_bytes - now.size_bytes if before else 0, "tilelang_folder": str(tilelang), "tilelang_bytes": tilelang_bytes}, indent=1))
    else:
        if before:
            print(f"removed {before.kernels - now.kernels} kernels and {before.others - now.others} others, {size(before.size_bytes - now.size_bytes)}")
        print(columns([
            ("ours", str(now.folder), f"{now.kernels} kernels, {now.others} others, {size(now.size_bytes)} of at most {size(disk_cache.LIMIT_BYTES)}"),
            ("TileLang's", str(tilelang), "not there" if tilelang_bytes is None else f"{size(tilelang_bytes)}, not bounded; remove it by hand if you like"),
        ], indent=""))
    return 1 if before and now.kernels + now.others else 0


def _tilelang() -> tuple[Path, int | None]:
    folder = Path(config.foreign("TILELANG_CACHE_DIR").strip() or "~/.tilelang/cache").expanduser()
    if not folder.is_dir():
        return folder, None
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += 0 if path.is_dir() else path.lstat().st_size
    return folder, total
