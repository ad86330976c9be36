# SPDX-License-Identifier: MIT
"""What does a library see that asks whether this is an Ascend machine by looking for the driver's device file?

DeepSelect and TileKernels ask os.path.exists. Within this process the answer to that question becomes yes, also where it is asked through
pathlib or as os.path.lexists; opening or listing the file fails as before.
"""

import os
import pathlib

DEVICE_FILE = "/dev/davinci_manager"


def install() -> str | None:
    """The reason to step aside, or None: the file counts as existing from now on, and every other path is answered as before."""
    if os.path.lexists(DEVICE_FILE):
        return f"{DEVICE_FILE} is there."
    for owner, name in ((os.path, "exists"), (os.path, "lexists"), (pathlib.Path, "exists")):
        _answer(owner, name)
    return None


def _answer(owner, name: str) -> None:
    original = getattr(owner, name)

    def exists(path, *arguments, **named):
        return _is_device_file(path) or original(path, *arguments, **named)
    exists.__name__, exists.__qualname__, exists.__doc__, exists.__module__ = (
        original.__name__, original.__qualname__, original.__doc__, original.__module__)
    setattr(owner, name, exists)


def _is_device_file(path) -> bool:
    return isinstance(path, (str, os.PathLike)) and os.fspath(path) == DEVICE_FILE
