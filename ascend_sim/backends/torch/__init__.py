# SPDX-License-Identifier: MIT
"""The definition: every operation in plain PyTorch, as short as it can be said. The tests' golden reference; takes cpu, npu and cuda tensors."""


def availability() -> tuple[bool, str]:
    """Always there."""
    return True, "the definition in plain PyTorch; tensors on cpu, npu or cuda"
