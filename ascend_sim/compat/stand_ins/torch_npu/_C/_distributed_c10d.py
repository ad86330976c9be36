# SPDX-License-Identifier: MIT
"""ProcessGroupHCCL with its Options, under the name of torch_npu's native module."""

from ascend_sim.npu.distributed import process_group_class

ProcessGroupHCCL = process_group_class()
