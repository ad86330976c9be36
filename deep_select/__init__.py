# SPDX-License-Identifier: MIT
"""Not written yet; README.md, "Status", says what is. Programs that fall back when the package is missing do so here, too."""

raise ModuleNotFoundError(
    "deep_select is not written yet in this version of ascend-sim; deep_gemm is the package that works so far "
    "(README.md, \"Status\").", name="deep_select"
)
