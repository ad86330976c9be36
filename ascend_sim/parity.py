# SPDX-License-Identifier: MIT
"""How a call that works here but not in the real Ascend library is reported: a warning once, or an error when strict."""

import sys
import warnings
from pathlib import Path

from ascend_sim import backends, config
from ascend_sim.errors import AscendParityError, AscendParityWarning

_OURS = tuple(str(Path(__file__).resolve().parent.parent / name) + "/"
              for name in ("ascend_sim", "deep_gemm", "deep_ep", "flash_mla", "deep_select", "tile_kernels"))
_reported: set[tuple[str, str]] = set()


def differs(function: str, kind: str, reason: str, per_function: bool = True) -> None:
    """Reports that the Ascend library would refuse this call. `kind` names the sort of difference: it is reported once a function, or once.

    A backend that imitates another library (NVIDIA's, `cuda`) is not measured by Ascend's: nothing is reported then.
    Raises: AscendParityError under ASCEND_SIM_STRICT=1.
    """
    if getattr(backends.package(backends.current()), "DIALECT", "ascend") != "ascend":
        return
    if config.strict():
        raise AscendParityError(f"{function}: {reason} ASCEND_SIM_STRICT=1 forbids what the Ascend library refuses.")
    key = (function if per_function else "", kind)
    if key not in _reported:
        _reported.add(key)
        warnings.warn(f"{function}: {reason} Computed anyway; ASCEND_SIM_STRICT=1 raises.",
                      AscendParityWarning, stacklevel=_callers_level())


def forget() -> None:
    """Every difference is reported anew. For tests."""
    _reported.clear()


def _callers_level() -> int:
    """The stacklevel of the first frame outside this project, so that the warning shows the user's line."""
    level, frame = 2, sys._getframe(2)      # seen from differs()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level
