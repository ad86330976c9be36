# SPDX-License-Identifier: MIT
"""`import ascend_sim.compat.toolkit` is ascend_sim.compat.install("toolkit")."""

from ascend_sim import compat

compat.install("toolkit")
