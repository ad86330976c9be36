# SPDX-License-Identifier: MIT
"""Do the README's examples run as they stand?"""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", BLOCKS, ids=[f"block{index}" for index in range(len(BLOCKS))])
def test_the_readmes_python_runs(code):
    if not any(entry.name == "npu" for entry in importlib.metadata.entry_points(group="torch.backends")):
        code = f"import ascend_sim.npu\n{code}"         # in the checkout nothing is installed that `import torch` could find
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "BF16, distance from fp32" in result.stdout


def test_the_readmes_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    missing = [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]
    assert missing == []


def test_titled_notes_that_code_cites_exist():
    """docs/<page>.md, "<Title>" in any source is a heading of that page."""
    cited = set()
    for folder, pattern in (("deep_gemm", "*.py"), ("ascend_sim", "*.py"), ("csrc", "*.h"), ("csrc", "*.cpp"), ("benchmarks", "*.py")):
        for path in (ROOT / folder).rglob(pattern):
            cited.update(re.findall(r'(docs/\w+\.md), (?:note )?"([^"]+)"', path.read_text(encoding="utf-8")))
    missing = [(page, title) for page, title in sorted(cited)
               if not (ROOT / page).exists() or not re.search(rf"^#+ {re.escape(title)}$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)]
    assert missing == []
