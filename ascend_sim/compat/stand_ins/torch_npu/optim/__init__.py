# SPDX-License-Identifier: MIT
"""torch_npu.optim: the fused optimizer that transformers asks for."""

import torch


class NpuFusedAdamW(torch.optim.AdamW):
    """torch.optim.AdamW with fused=True, which is the same mathematics."""

    def __init__(self, params, lr: float = 1e-3, betas: tuple = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, fused=True)

    def _init_group(self, group, *lists):
        """Part of a step. Raises: ValueError for parameters that are not on an npu, which the real one cannot take; they may still have been moved until then."""
        elsewhere = next((parameter for parameter in group["params"] if parameter.grad is not None and parameter.device.type != "npu"), None)
        if elsewhere is not None:
            raise ValueError(f"torch_npu.optim.NpuFusedAdamW: params has a parameter of shape {list(elsewhere.shape)} on {elsewhere.device}; expected npu tensors.")
        return super()._init_group(group, *lists)
