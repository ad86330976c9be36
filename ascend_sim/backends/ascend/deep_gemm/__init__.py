# SPDX-License-Identifier: MIT
"""deep_gemm on the emulated chip: one module per operation, each the launch of the kernel of the same stem."""
