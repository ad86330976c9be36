# SPDX-License-Identifier: MIT
"""What a kernel does while it does it: every record it performs, and the bytes of on-chip memories (csrc/chip/observe_c_api.cpp)."""

import contextlib
import ctypes as c
import threading
from collections.abc import Callable, Iterator

from support.chip import KINDS, LIBRARY, PATHS, Record

_KIND_NAMES = {number: name for name, number in KINDS.items()}
_PATH_NAMES = {number: name for name, number in PATHS.items()}
_CALLBACK = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_int, c.c_int, c.c_char_p, c.POINTER(Record))


class Step:
    """One instruction just performed. `record` is a copy; memory() is only good inside the callback."""

    def __init__(self, core, ai_core, kind, block, instruction, record):
        self._core, self.ai_core, self.kind, self.block = core, ai_core, _KIND_NAMES[kind], block
        self.instruction, self.path = instruction.decode(), _PATH_NAMES[record.contents.path]
        self.record = Record.from_buffer_copy(record.contents)

    def memory(self, name: str, offset: int, bytes_: int):
        """Bytes of L1, L0A, L0B, L0C, .. or UB of this core, to read and to write."""
        address = _library().ascend_sim_memory_of(self._core, name.encode(), offset, bytes_)
        assert address, f"{name} has no bytes {offset} to {offset + bytes_}"
        return (c.c_uint8 * bytes_).from_address(address)


def _library():
    library = c.CDLL(str(LIBRARY))
    library.ascend_sim_memory_of.restype = c.c_void_p
    library.ascend_sim_memory_of.argtypes = [c.c_void_p, c.c_char_p, c.c_uint32, c.c_uint32]
    return library


@contextlib.contextmanager
def observed(see: Callable[[Step], None]) -> Iterator[None]:
    """Calls `see` after each instruction of every kernel launched in the `with` block, one at a time."""
    one_at_a_time, errors = threading.Lock(), []

    @_CALLBACK
    def callback(*args):
        try:
            with one_at_a_time:
                see(Step(*args))
        except BaseException as error:      # ctypes would print it and go on
            errors.append(error)
    library = _library()
    library.ascend_sim_observe(callback)
    try:
        yield
    finally:
        library.ascend_sim_observe(None)
    if errors:
        raise errors[0]
