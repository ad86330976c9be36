# SPDX-License-Identifier: MIT
"""Writes docs/parity.md: what works here although the real Ascend library refuses or lacks it. Run it after changing a table of differences.

    python scripts/make_parity_page.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "parity.md"
PACKAGES = ("deep_gemm",)           # each has a module _differences

HEAD = """<!-- Made by scripts/make_parity_page.py from <package>/_differences.py; do not edit. -->
# Parity

Every call that works here although the real Ascend library refuses it or lacks it. The first of each kind gives an `AscendParityWarning` that names the function and the reason, once a function (helpers: once
altogether). `ASCEND_SIM_STRICT=1` makes it an `AscendParityError`, before anything is written: a program that runs so uses nothing but what the Ascend library has. The backend `cuda` imitates NVIDIA's library and
reports nothing.
"""


def page() -> str:
    parts = [HEAD]
    for package in PACKAGES:
        differences = __import__(f"{package}._differences", fromlist=["DIFFERENCES"]).DIFFERENCES
        parts.append(f"## {package}\n\n| kind | functions | CUDA | Ascend | here |\n|---|---|---|---|---|")
        parts.extend(f"| {kind} | {row.functions} | {row.cuda} | {row.ascend} | {row.here} |" for kind, row in differences.items())
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page(), encoding="utf-8")
