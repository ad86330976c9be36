# SPDX-License-Identifier: MIT
"""`import ascend_sim.compat.cuda` is ascend_sim.compat.install("cuda")."""

from ascend_sim import compat

compat.install("cuda")
