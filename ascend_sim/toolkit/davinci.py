# SPDX-License-Identifier: MIT
"""What does a library see that asks whether this is an Ascend machine by looking for the driver's device file?

TileKernels asks os.path.exists, and nothing else. Within this process the answer to that one question becomes yes.
"""

import functools
import os

DEVICE_FILE = "/dev/davinci_manager"


@functools.cache
def answer() -> None:
    """os.path.exists(DEVICE_FILE) is True from now on; every other path, and every other way to ask, is answered as before."""
    exists = os.path.exists

    @functools.wraps(exists)
    def exists_or_emulated(path):
        return path == DEVICE_FILE or exists(path)
    os.path.exists = exists_or_emulated
