# SPDX-License-Identifier: MIT
"""`import ascend_sim.compat.torch_npu` is ascend_sim.compat.install("torch_npu")."""

from ascend_sim import compat

compat.install("torch_npu")
