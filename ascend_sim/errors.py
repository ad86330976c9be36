# SPDX-License-Identifier: MIT
"""Which exceptions and warnings this project raises that Python and PyTorch do not have."""


class LaunchError(RuntimeError):
    """A kernel did what the chip does not allow, or can never finish. The device stays usable; outputs may be written in part."""


class CompileError(RuntimeError):
    """The host compiler refused a kernel given as text. The message is the compiler's, in the lines of that text."""


class AscendParityWarning(UserWarning):
    """The call works here, but the real Ascend library refuses it or lacks it. ASCEND_SIM_STRICT=1 raises instead."""


class AscendParityError(RuntimeError):
    """What AscendParityWarning becomes under ASCEND_SIM_STRICT=1. A RuntimeError, as host checks of the real library are."""


class LayoutError(ValueError):
    """A scale that the asked-for layout cannot hold. The message names the first such, its place and the reason."""
