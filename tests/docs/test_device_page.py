# SPDX-License-Identifier: MIT
"""Is every test that docs/device.md names one that exists?"""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "device.md").read_text(encoding="utf-8")


def test_tests_that_the_page_names_exist():
    named = set(re.findall(r"`((?:tests/\w+/)?test_\w+\.py)(?:::(\w+))?`", PAGE))
    assert len(named) > 60
    missing = []
    for file, function in named:
        path = TESTS.parent / file if file.startswith("tests/") else TESTS / "npu" / file
        if not path.exists() or (function and not re.search(rf"^def {function}\(", path.read_text(encoding="utf-8"), re.MULTILINE)):
            missing.append((file, function))
    assert missing == []
