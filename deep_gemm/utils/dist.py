# SPDX-License-Identifier: MIT
"""Process groups of tests and benchmarks, under the names of the CUDA library. `dist_print` is only here, not in deep_gemm.utils."""

import torch
import torch.distributed as dist

from ascend_sim import arguments, config
from deep_gemm._differences import report_helper

__all__ = ["init_dist", "uneven_all_gather"]

_local_rank: int | None = None


def init_dist(local_rank: int, num_local_ranks: int) -> tuple[int, int, object]:
    """(rank, world size, group of all ranks) on device npu:local_rank, which becomes the default device.

    MASTER_ADDR, MASTER_PORT: where rank 0 listens; WORLD_SIZE: number of nodes; RANK: of this node.
    Raises: RuntimeError where the backend hccl is not registered (ASCEND_SIM_AUTOLOAD=0, and ascend_sim.npu not imported).
    """
    global _local_rank
    if not dist.is_backend_available("hccl"):
        raise RuntimeError("init_dist: torch.distributed has no backend hccl, since the device npu was not loaded; import ascend_sim.npu first.")
    num_local_ranks = arguments.whole("init_dist", "num_local_ranks", num_local_ranks, 1, 10**6)
    local_rank = arguments.whole("init_dist", "local_rank", local_rank, 0, num_local_ranks - 1)
    address, port, nodes, node = config.rendezvous()
    torch.npu.set_device(local_rank)
    dist.init_process_group("hccl", init_method=f"tcp://{address}:{port}", world_size=nodes * num_local_ranks,
                            rank=node * num_local_ranks + local_rank)
    torch.set_default_device("npu")
    _local_rank = local_rank
    return dist.get_rank(), dist.get_world_size(), dist.new_group(list(range(dist.get_world_size())))


def uneven_all_gather(tensor: torch.Tensor, dim: int = 0, group=None) -> torch.Tensor:
    """The ranks' tensors one behind the other along `dim`, in which alone their sizes may differ."""
    arguments.tensor("uneven_all_gather", "tensor", tensor)
    if tensor.dim() == 0:
        raise ValueError("uneven_all_gather: tensor has no dimensions; expected at least one.")
    dim = arguments.whole("uneven_all_gather", "dim", dim, -tensor.dim(), tensor.dim() - 1)
    report_helper("uneven_all_gather")
    world_size = dist.get_world_size(group)
    size = torch.tensor([tensor.shape[dim]], dtype=torch.int64, device=tensor.device)
    sizes = [torch.empty_like(size) for _ in range(world_size)]
    dist.all_gather(sizes, size, group)
    lengths = [int(length) for length in sizes]
    padded_shape = list(tensor.shape)
    padded_shape[dim] = max(lengths)
    padded = tensor.new_zeros(padded_shape)
    padded.narrow(dim, 0, tensor.shape[dim]).copy_(tensor)
    parts = [torch.empty_like(padded) for _ in range(world_size)]
    dist.all_gather(parts, padded, group)
    return torch.cat([part.narrow(dim, 0, length) for part, length in zip(parts, lengths, strict=True)], dim)


def dist_print(s: str = "", once_in_node: bool = False) -> None:
    """Prints on every rank, its number before the text; with once_in_node on the first rank of each node. All ranks wait for each other."""
    if not once_in_node or not _local_rank:
        rank = dist.get_rank() if dist.is_initialized() else 0
        print(f"[rank {rank}] {s}", flush=True)
    if dist.is_initialized():
        dist.barrier()
