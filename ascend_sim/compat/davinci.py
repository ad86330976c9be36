# SPDX-License-Identifier: MIT
"""`import ascend_sim.compat.davinci` is ascend_sim.compat.install("davinci")."""

from ascend_sim import compat

compat.install("davinci")
