# SPDX-License-Identifier: MIT
"""Which groups do the rows of deep_gemm fall into? "M=128 or N=576" is limited by memory or by too few tiles, not by the cube."""

GROUPS = ("peak", "others", "M=128 or N=576")
