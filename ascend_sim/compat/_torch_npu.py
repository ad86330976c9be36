# SPDX-License-Identifier: MIT
"""Where does `import torch_npu` find the stand-in? In the folder stand_ins, which becomes the last place that Python searches."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).with_name("stand_ins")


def install() -> str | None:
    """The reason to step aside, or None: torch_npu can be found and imported from now on, in spawned children too. It is loaded when asked for."""
    if "torch_npu" in sys.modules:
        return f"torch_npu is loaded already, from {getattr(sys.modules['torch_npu'], '__file__', 'nowhere')}."
    found = importlib.util.find_spec("torch_npu")
    if found is not None and str(FOLDER) not in str(found.origin):
        return f"a torch_npu is installed: {found.origin}."
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return None
