# SPDX-License-Identifier: MIT
"""deep_gemm as NVIDIA's library has it: one module per operation, and its limits."""
