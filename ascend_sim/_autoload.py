# SPDX-License-Identifier: MIT
"""How `import torch` alone makes the device npu available: the entry point of group torch.backends.

An exception here would make `import torch` fail, so there is none: whatever goes wrong becomes one warning, and torch works on
without npu. ASCEND_SIM_AUTOLOAD=0 turns it off; `import ascend_sim.npu` then still makes the device available.
"""

import contextlib
import warnings

_postponed: list[bool] = []


def autoload() -> None:
    """Registers npu unless that is switched off, done already, or another package owns PyTorch's slot for such devices; then the stand-ins."""
    try:
        from ascend_sim import config
        if not config.autoload():
            return
        import torch
        if torch._C._get_privateuse1_backend_name() != "privateuseone":
            return
        import ascend_sim.npu  # noqa: F401  registers at its end
        if torch._C._get_privateuse1_backend_name() == "privateuseone":
            _postponed.append(True)             # ascend_sim.npu itself is being imported, and has imported torch
            return
    except Exception as error:
        _warn(f"the device npu is not available: {error} (ASCEND_SIM_AUTOLOAD=0 stops the attempt)")
    else:
        install_shims()


def finish() -> None:
    """Called at the end of ascend_sim.npu: installs the stand-ins if torch was loaded on the way there."""
    if _postponed:
        _postponed.clear()
        install_shims()


def install_shims() -> None:
    """What ASCEND_SIM_SHIMS names; whatever goes wrong with one becomes a warning."""
    from ascend_sim import config
    try:
        shims = config.shims()
    except ValueError as error:
        _warn(f"no stand-in is installed: {error}")
        return
    for name in shims:
        try:
            from ascend_sim import compat
            with contextlib.suppress(Warning):      # that it steps aside; an exception under -W error
                compat.install(name)
        except Exception as error:
            _warn(f"the stand-in {name!r} of ASCEND_SIM_SHIMS cannot be installed: {type(error).__name__}: {error}")


def _warn(text: str) -> None:
    with contextlib.suppress(Warning):      # under -W error the warning itself is an exception
        warnings.warn(f"ascend_sim: {text}", RuntimeWarning, stacklevel=4)
