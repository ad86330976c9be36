# SPDX-License-Identifier: MIT
"""How do the subcommands write sizes and columns, and refuse arguments?"""

import textwrap
from collections.abc import Iterable


class Refused(Exception):
    """Arguments or settings that cannot be honoured. The message becomes one line on stderr, the exit status 2."""


def size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def columns(rows: Iterable[Iterable[str]], indent: str = "  ") -> str:
    """Rows of cells, each column as wide as its widest cell; the last one is not padded."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join((indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip() for row in rows)


def paragraph(label: str, text: str, width: int = 110) -> str:
    """Lines under a label; lines of the text stay lines of their own."""
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, width - len(label), break_long_words=False, break_on_hyphens=False) or [""]]
    return "\n".join((label if index == 0 else " " * len(label)) + line for index, line in enumerate(lines or [""])).rstrip()
