# SPDX-License-Identifier: MIT
"""How do launches that never end come to an end in a test, while the launches around them have all the time that a loaded machine takes?"""

import contextlib
from collections.abc import Iterator

from ascend_sim import _C


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    _C.set_launch_timeout(seconds)
    try:
        yield
    finally:
        _C.set_launch_timeout(300.0)
