# SPDX-License-Identifier: MIT
"""Is docs/parity.md made from the tables of differences as they are, and does every report of one name a kind of the table?"""

import importlib.util
import re
from pathlib import Path

from deep_gemm._differences import DIFFERENCES

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_parity_page", ROOT / "scripts" / "make_parity_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python scripts/make_parity_page.py"


def test_every_reported_kind_is_in_the_table_and_every_row_is_reported():
    sources = "".join(path.read_text(encoding="utf-8") for folder in ("deep_gemm", "ascend_sim/backends") for path in (ROOT / folder).rglob("*.py"))
    reported = set(re.findall(r'door\.differs\("([^"]+)"', sources)) | set(re.findall(r'self\.differs\("([^"]+)"', sources))
    reported |= set(re.findall(r'parity\.differs\([^,]+, "([^"]+)"', sources))
    assert reported == set(DIFFERENCES)
