# SPDX-License-Identifier: MIT
"""deep_gemm by definition: one module per operation."""
