# SPDX-License-Identifier: MIT
"""torch_npu.multiprocessing: npu tensors travel through queues of torch.multiprocessing as they are."""
