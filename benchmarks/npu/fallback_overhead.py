# SPDX-License-Identifier: MIT
"""What does an operator cost the host on npu beyond what it costs on plain CPU tensors?

    python benchmarks/npu/fallback_overhead.py [--all] [--repeats N]

One thread. Both devices are measured in turn, batch by batch, in one run, so that a busy machine weighs on both alike; the figure of a
device is the median over its batches. The criterion is the median over the first group: at most 3 us. The other groups are listed
because they cost more by their nature: random numbers (a generator to lock), composites (several operators a call).
"""

import argparse
import statistics
import time

import torch

LIMIT_US = 3.0


def operations(device: str) -> dict[str, dict]:
    small, matrix = torch.ones(16, device=device), torch.randn(64, 64).to(device)
    table, rows = torch.randn(128, 16).to(device), torch.tensor([3, 1, 100]).to(device)
    linear, norm = torch.nn.Linear(64, 64).to(device), torch.nn.LayerNorm(64).to(device)
    query = torch.randn(1, 2, 16, 8).to(device)
    parts = [torch.ones(16, device=device) for _ in range(10)]
    return {
        "criterion": {
            "add, 16": lambda: small + small, "mul, 16": lambda: small * small, "sum, 16": lambda: small.sum(),
            "index_select, 3 of 128 x 16": lambda: table.index_select(0, rows), "mm, 64 x 64": lambda: matrix @ matrix,
        },
        "random numbers": {
            "randn, 16": lambda: torch.randn(16, device=device), "rand, 16": lambda: torch.rand(16, device=device),
            "bernoulli, 16": lambda: torch.bernoulli(small), "dropout, 16": lambda: torch.nn.functional.dropout(small),
        },
        "composite": {
            "linear, 64 x 64": lambda: linear(matrix), "layer_norm, 64 x 64": lambda: norm(matrix),
            "softmax, 64 x 64": lambda: matrix.softmax(-1), "scaled_dot_product_attention": lambda:
                torch.nn.functional.scaled_dot_product_attention(query, query, query),
            "foreach_add, 10 tensors": lambda: torch._foreach_add(parts, 1.0), "einsum, 64 x 64": lambda: torch.einsum("ij,kj->ik", matrix, matrix),
        },
        "in place and views": {
            "add_, 16": lambda: small.add_(0), "fill_, 16": lambda: small.fill_(1), "slice": lambda: matrix[1:3],
            "empty, 16": lambda: torch.empty(16, device=device), "clone, 16": lambda: small.clone(), "item": lambda: small[0].item(),
            "cat, 2 x 16": lambda: torch.cat((small, small)),
        },
    }


def batch_us(work, calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - begin) / calls * 1e6


def measure(groups: tuple[str, ...], repeats: int, calls: int = 300) -> dict[str, list[tuple[str, float, float]]]:
    """By group: (operation, us on cpu, us on npu)."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            on_cpu, on_npu = operations("cpu"), operations("npu")
            return {group: [(name, *_pair(on_cpu[group][name], on_npu[group][name], repeats, calls)) for name in on_cpu[group]]
                    for group in groups}
    finally:
        torch.set_num_threads(threads)


def _pair(cpu, npu, repeats: int, calls: int) -> tuple[float, float]:
    for work in (cpu, npu):
        batch_us(work, calls)
    times = [(batch_us(cpu, calls), batch_us(npu, calls)) for _ in range(repeats)]
    return tuple(statistics.median(column) for column in zip(*times, strict=True))


def overhead_us(rows) -> float:
    return statistics.median(npu - cpu for _, cpu, npu in rows)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--all", action="store_true", help="also random numbers, composites, views")
    arguments.add_argument("--repeats", type=int, default=21, help="batches of 300 calls a device and operation")
    chosen = arguments.parse_args()
    groups = tuple(operations("cpu")) if chosen.all else ("criterion",)
    for group, rows in measure(groups, chosen.repeats).items():
        print(f"{group}\n{'':32}{'cpu us':>9}{'npu us':>9}{'more us':>9}")
        for name, cpu, npu in rows:
            print(f"  {name:30}{cpu:9.2f}{npu:9.2f}{npu - cpu:9.2f}")
        limit = f"; limit {LIMIT_US} us" if group == "criterion" else ""
        print(f"  median overhead {overhead_us(rows):.2f} us{limit}\n")


if __name__ == "__main__":
    main()
