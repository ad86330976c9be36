# SPDX-License-Identifier: MIT
"""Which mode the emulator is in: values and time (full), values only (functional), time only (timing)."""

from ascend_sim import arguments, config

_current: str | None = None     # None: nothing has asked yet, the environment decides


class mode:
    """Sets the mode of the whole process, until the end of the `with` block if used as one.

        ascend_sim.mode("timing")               from now on
        with ascend_sim.mode("functional"): ... inside the block
        ascend_sim.mode()                       only asks: str(ascend_sim.mode()) is the current mode

    Process-wide, not per thread: a backward pass runs in other threads. In timing mode outputs are left unwritten; in functional
    mode there is no simulated time, and asking for it raises.
    Raises: ValueError for another name.
    """

    def __init__(self, name: str | None = None):
        self._before = get()
        if name is not None:
            _set(name)

    def __enter__(self) -> "mode":
        return self

    def __exit__(self, *exception) -> None:
        _set(self._before)

    def __str__(self) -> str:
        return get()

    __repr__ = __str__


def get() -> str:
    return _current or config.mode()


def _set(name: str) -> None:
    global _current
    if not isinstance(name, str) or name not in config.MODES:
        raise ValueError(f"ascend_sim.mode: {arguments.shown(name)} is not a mode; accepted: {', '.join(config.MODES)}.")
    from ascend_sim import _C
    _C.set_mode(name)
    _current = name
