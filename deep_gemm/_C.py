# SPDX-License-Identifier: MIT
"""Names that code written for the Ascend library looks up in its native module. There is nothing native here."""

from ascend_sim import arguments
from ascend_sim.backends import settings
from deep_gemm import _not_yet, epilogue  # noqa: F401

__all__ = ["init", "set_dry_run", "get_dry_run", "epilogue"]


def init(version: str, library_root_path: str) -> None:
    """Kept for callers; the library needs no initialisation."""


def set_dry_run(enabled: bool) -> None:
    """True: later calls only check their arguments, nothing is launched and outputs are left untouched (the real library compiles there)."""
    settings.deep_gemm.dry_run = arguments.flag("set_dry_run", "enabled", enabled)


def get_dry_run() -> bool:
    """What set_dry_run was told last; False by default."""
    return settings.deep_gemm.dry_run


def __getattr__(name: str):
    raise AttributeError(_not_yet.message("deep_gemm._C", name) or f"module 'deep_gemm._C' has no attribute {name!r}; it has {', '.join(__all__)}")
