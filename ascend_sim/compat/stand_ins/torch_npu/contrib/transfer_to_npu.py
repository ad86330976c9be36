# SPDX-License-Identifier: MIT
"""Importing this makes torch.cuda and the device "cuda" mean npu, from then on and for the whole process."""

from ascend_sim import compat

compat.install("cuda")
