# SPDX-License-Identifier: MIT
"""The definition: every operation in plain PyTorch, as short as it can be said. The tests' golden reference; takes cpu, npu and cuda tensors."""
