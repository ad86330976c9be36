# SPDX-License-Identifier: MIT
"""Replacing attributes so that everything can be put back."""

_ABSENT = object()


class Patches:
    def __init__(self):
        self._before: list[tuple[object, str, object]] = []
        self._undo: list = []

    def set(self, owner, name: str, value) -> None:
        """owner.name becomes `value`; if a class only inherited it, undoing removes it again."""
        self._before.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def on_undo(self, action) -> None:
        self._undo.append(action)

    def undo(self) -> None:
        for action in reversed(self._undo):
            action()
        for owner, name, value in reversed(self._before):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._before.clear()
        self._undo.clear()
