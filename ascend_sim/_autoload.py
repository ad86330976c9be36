# SPDX-License-Identifier: MIT
"""How `import torch` alone makes the device npu available: the entry point of group torch.backends.

An exception here would make `import torch` fail, so there is none: whatever goes wrong becomes one warning, and torch works on
without npu. ASCEND_SIM_AUTOLOAD=0 turns it off; `import ascend_sim.npu` then still makes the device available.
"""

import contextlib
import warnings


def autoload() -> None:
    """Registers npu unless that is switched off, done already, or another package owns PyTorch's slot for such devices."""
    try:
        from ascend_sim import config
        if not config.autoload():
            return
        import torch
        if torch._C._get_privateuse1_backend_name() != "privateuseone":
            return
        import ascend_sim.npu  # noqa: F401  registers at its end
        if "toolkit" in config.shims():
            import ascend_sim.tilelang  # noqa: F401  TileLang finds its compiler and runtime from here on
    except Exception as error:
        with contextlib.suppress(Warning):      # under -W error the warning itself is an exception
            warnings.warn(f"ascend_sim: the device npu is not available: {error} "
                          "(ASCEND_SIM_AUTOLOAD=0 stops the attempt)", RuntimeWarning, stacklevel=2)
