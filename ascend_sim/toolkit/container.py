# SPDX-License-Identifier: MIT
"""What does the stand-in compiler write, and the runtime read? The text of the kernels and how it was to be compiled."""

import json
from dataclasses import asdict, dataclass

MAGIC = b"ascend-sim kernels 1\n"
KINDS = ("device", "host")              # kernels alone; kernels and their launcher, for TileLang's `cython` backend


@dataclass(frozen=True)
class Container:
    """source: as generated    include_dirs: of the headers that it includes    options: further options (-D, -U) for the compiler"""

    kind: str
    source: str
    include_dirs: tuple[str, ...]
    options: tuple[str, ...]


def to_bytes(container: Container) -> bytes:
    return MAGIC + json.dumps(asdict(container)).encode()


def from_bytes(data: bytes) -> Container:
    if not data.startswith(MAGIC):
        what = "a device binary of the vendor's compiler" if data[:4] == b"\x7fELF" else f"{len(data)} bytes beginning {data[:16]!r}"
        raise ValueError(f"this is no kernel compiled for the emulated chip, but {what}. Was it compiled before ascend_sim.tilelang was "
                         "imported, or does BISHENG_HOME name another compiler? Remove it from TileLang's cache (TILELANG_CACHE_DIR) and compile again.")
    fields = json.loads(data[len(MAGIC):])
    return Container(fields["kind"], fields["source"], tuple(fields["include_dirs"]), tuple(fields["options"]))
