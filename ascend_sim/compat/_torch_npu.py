# SPDX-License-Identifier: MIT
"""Where does `import torch_npu` find the stand-in? In the folder stand_ins, which becomes the last place that Python searches."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).with_name("stand_ins")


def install() -> str | None:
    """The reason to step aside, or None: torch_npu can be found and imported from now on, in spawned children too. It is loaded when asked for."""
    loaded = sys.modules.get("torch_npu")
    if loaded is not None and not _is_ours(getattr(loaded, "__file__", None)):
        return f"torch_npu is loaded already, from {getattr(loaded, '__file__', 'nowhere')}."
    found = importlib.util.find_spec("torch_npu") if loaded is None else None
    if found is not None and not _is_ours(found.origin):
        return f"a torch_npu is installed: {found.origin}."
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return None


def _is_ours(file) -> bool:
    return file is not None and Path(file).is_relative_to(FOLDER)
