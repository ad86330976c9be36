# SPDX-License-Identifier: MIT
"""Backend "hccl": collectives of npu tensors between processes give what the definition says, on two and four ranks."""

import itertools

import pytest
import torch
import torch.distributed as dist

from support.ranks import run_ranks

ANY_TYPE = (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.int16, torch.complex64)


def part(rank: int, shape=(3, 2), dtype=torch.float32) -> torch.Tensor:
    """What `rank` contributes, on the CPU: the same on every process."""
    values = torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(rank))
    return values.to(dtype)


def same(ours: torch.Tensor, expected: torch.Tensor) -> None:
    assert ours.device.type == "npu" and ours.dtype == expected.dtype and ours.shape == expected.shape
    assert torch.equal(ours.cpu().contiguous().flatten().view(torch.uint8), expected.contiguous().flatten().view(torch.uint8))


def check_moving(rank, world):
    for dtype in ANY_TYPE:
        parts = [part(r, dtype=dtype) for r in range(world)]
        mine = parts[rank].npu()

        received = mine.clone()
        dist.broadcast(received, src=1)
        same(received, parts[1])

        listed = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(listed, mine)
        for ours, expected in zip(listed, parts, strict=True):
            same(ours, expected)
        whole = torch.empty((3 * world, 2), dtype=dtype, device="npu")
        dist.all_gather_into_tensor(whole, mine)
        same(whole, torch.cat([p.view(torch.uint8) for p in parts]).view(dtype) if dtype.itemsize == 1 else torch.cat(parts))

        gathered = [torch.empty_like(mine) for _ in range(world)] if rank == 0 else None
        dist.gather(mine, gathered, dst=0)
        for ours, expected in zip(gathered or [], parts):
            same(ours, expected)
        scattered = torch.empty_like(mine)
        dist.scatter(scattered, [p.npu() for p in parts] if rank == 1 else None, src=1)
        same(scattered, parts[rank])

        rows = torch.empty((world, 2), dtype=dtype, device="npu")
        sent = [part(10 * r, (world, 2), dtype) for r in range(world)]
        dist.all_to_all_single(rows, sent[rank].npu())
        for r in range(world):
            same(rows[r], sent[r][rank])
        lists = [torch.empty(r + 1, dtype=dtype, device="npu") for r in range(world)]
        dist.all_to_all(lists, [part(rank, (rank + 1,), dtype).npu() for _ in range(world)])
        for r in range(world):
            same(lists[r], part(r, (r + 1,), dtype))

        if rank == 0:
            dist.send(mine, 1)
        elif rank == 1:
            dist.recv(received, 0)
            same(received, parts[0])
    uneven = torch.empty(sum(range(1, world + 1)), 2, device="npu")        # rank r sends r + 1 rows to everybody
    dist.all_to_all_single(uneven, torch.full(((rank + 1) * world, 2), float(rank), device="npu"), list(range(1, world + 1)),
                           [rank + 1] * world)
    assert uneven[:, 0].tolist() == [float(r) for r in range(world) for _ in range(r + 1)]


REDUCTIONS = {"SUM": torch.sum, "PRODUCT": torch.prod, "MIN": torch.amin, "MAX": torch.amax, "AVG": torch.mean}


def check_reducing(rank, world):
    for name, dtype in itertools.product(REDUCTIONS, (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int16, torch.bool)):
        if name == "AVG" and not dtype.is_floating_point:
            continue
        op = getattr(dist.ReduceOp, name)
        parts = torch.stack([part(r, dtype=dtype) for r in range(world)])
        if dtype == torch.bool:
            expected = parts.any(0) if name in ("SUM", "MAX") else parts.all(0)
        else:
            expected = REDUCTIONS[name](parts.double(), dim=0).to(dtype)       # small whole numbers: exact in every type
        ours = parts[rank].npu()
        dist.all_reduce(ours, op)
        same(ours, expected)
        ours = parts[rank].npu()
        dist.reduce(ours, 1, op)
        if rank == 1:
            same(ours, expected)
        row = torch.stack([expected] * world)       # every rank contributes `world` equal pieces
        piece = torch.empty_like(ours)
        dist.reduce_scatter_tensor(piece, torch.stack([parts[rank]] * world).npu(), op)
        same(piece, row[rank])
        dist.reduce_scatter(piece.zero_(), [parts[rank].npu()] * world, op)
        same(piece, row[rank])
    strided = part(rank, (4, 3)).npu().t()
    dist.all_reduce(strided)                        # dense, not contiguous
    same(strided, sum(part(r, (4, 3)) for r in range(world)).t())


def check_the_rest(rank, world):
    handle = dist.all_reduce(ours := torch.ones(5, device="npu"), async_op=True)
    assert handle.wait() and ours.tolist() == [world] * 5
    future = dist.all_reduce(ours := torch.ones(2, device="npu"), async_op=True).get_future()
    assert future.wait()[0].tolist() == [world] * 2
    objects = [None] * world
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(world)]
    dist.barrier()
    evens = dist.new_group([r for r in range(world) if r % 2 == 0])
    if rank % 2 == 0:
        dist.all_reduce(ours := torch.ones(1, device="npu"), group=evens)
        assert ours.item() == (world + 1) // 2
    dist.all_reduce(on_cpu := torch.ones(1))         # Gloo beside it
    assert on_cpu.item() == world
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((2,), float(rank), device="npu"), (rank + 1) % world),
                                    dist.P2POp(dist.irecv, ours := torch.empty(2, device="npu"), (rank - 1) % world)])
    for work in works:
        work.wait()
    assert ours.tolist() == [float((rank - 1) % world)] * 2

    # Captured once, done at each replay.
    x, graph = torch.ones(3, device="npu"), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2
        dist.all_reduce(y)
        pieces = torch.empty(3 * world, device="npu")
        dist.all_gather_into_tensor(pieces, y + rank)
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * value * world] * 3
        assert pieces.tolist() == [2 * value * world + r for r in range(world) for _ in range(3)]

    # Errors come before anything is sent, on every rank alike.
    gap = torch.ones(4, 4, device="npu")[:, :2]
    for error, call in ((RuntimeError, lambda: dist.all_reduce(gap)),
                        (TypeError, lambda: dist.all_reduce(torch.ones(2, device="npu").to(torch.float8_e5m2))),
                        (ValueError, lambda: dist.all_gather_into_tensor(torch.empty(3, device="npu"), torch.empty(2, device="npu")))):
        with pytest.raises(error, match="hccl"):
            call()

    # Time: ring all_reduce of 40 MB; the current stream only waits when told to.
    big = torch.ones(10_000_000, device="npu")
    begin, issued, end = (torch.npu.Event(enable_timing=True) for _ in range(3))
    begin.record()
    work = dist.all_reduce(big, async_op=True)
    issued.record()
    work.wait()
    end.record()
    assert begin.elapsed_time(issued) == 0
    assert begin.elapsed_time(end) == pytest.approx(1.589e-3 + 2 * big.nbytes * (world - 1) / world / 0.4e9)


def check_training(rank, world):
    """DDP, FSDP and tensor parallelism on different halves of a batch give the weights of one process on the whole."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor, Shard, distribute_tensor

    x, y = torch.randn(4 * world, 6), torch.randn(4 * world, 2)
    for tensor in (x, y):
        dist.broadcast(tensor, 0)

    def trained(wrap, inputs, targets, device):
        torch.manual_seed(3)
        model = wrap(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(device))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        for _ in range(2):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs.to(device)), targets.to(device)).backward()
            optimizer.step()
        return [(p.full_tensor() if isinstance(p, DTensor) else p).detach().cpu() for p in model.parameters()]

    mine = slice(4 * rank, 4 * rank + 4)
    alone = trained(lambda m: m, x, y, "cpu")
    for wrap in (torch.nn.parallel.DistributedDataParallel, fully_shard):
        together = trained(wrap, x[mine], y[mine], "npu")
        for ours, theirs in zip(together, alone, strict=True):
            torch.testing.assert_close(ours, theirs)

    mesh = dist.init_device_mesh("npu", (world,))
    a, b = torch.arange(4.0 * world).view(2 * world, 2).npu(), torch.ones(2, 3, device="npu")
    product = distribute_tensor(a, mesh, [Shard(0)]) @ distribute_tensor(b, mesh, [Shard(1)])
    assert torch.equal(product.full_tensor(), a @ b)


def check_collectives(rank, world):
    for check in (check_moving, check_reducing, check_the_rest):
        check(rank, world)


def check_everything(rank, world):
    check_collectives(rank, world)
    check_training(rank, world)


def test_two_ranks_communicate_and_train():
    run_ranks(check_everything, 2)


def test_four_ranks_communicate():
    run_ranks(check_collectives, 4)
