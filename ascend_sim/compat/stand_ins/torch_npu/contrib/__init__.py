# SPDX-License-Identifier: MIT
"""torch_npu.contrib: transfer_to_npu alone."""
