# SPDX-License-Identifier: MIT
"""What the Ascend library's tests begin with: process groups, defaults, seeds."""

import random

import torch

from ascend_sim import arguments
from deep_gemm.utils import dist as _dist
from deep_gemm.utils.dist import dist_print

__all__ = ["init_dist", "init_seed", "dist_print"]


def init_dist(local_rank: int, num_local_ranks: int, seed: int = 0) -> tuple[int, int, object]:
    """As deep_gemm.utils.dist.init_dist; then new floating-point tensors are bf16, and the seed is seed + rank."""
    rank, world_size, group = _dist.init_dist(local_rank, num_local_ranks)
    torch.set_default_dtype(torch.bfloat16)
    init_seed(seed + rank)
    return rank, world_size, group


def init_seed(global_seed: int) -> None:
    """Seeds Python's and PyTorch's generators, those of devices included."""
    global_seed = arguments.whole("init_seed", "global_seed", global_seed, -(2**63), 2**64 - 1)
    random.seed(global_seed)
    torch.manual_seed(global_seed)
