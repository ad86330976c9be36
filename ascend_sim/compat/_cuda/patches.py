# SPDX-License-Identifier: MIT
"""Replacing attributes so that everything can be put back."""

import inspect

_ABSENT = object()


class Patches:
    def __init__(self):
        self._before: list[tuple[object, str, object]] = []
        self._undo: list = []

    def set(self, owner, name: str, value) -> None:
        """owner.name becomes `value`; if a class only inherited it, undoing removes it again."""
        self._before.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def replaced(self) -> list[tuple]:
        """(before, now) of every function."""
        return [(before, vars(owner)[name]) for owner, name, before in self._before if inspect.isroutine(before)]

    def on_undo(self, action) -> None:
        self._undo.append(action)

    def undo(self) -> None:
        for owner, name, value in reversed(self._before):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        for action in reversed(self._undo):
            action()
        self._before.clear()
        self._undo.clear()
