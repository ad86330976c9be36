# SPDX-License-Identifier: MIT
"""A short last tile: rows of A and B that nobody loaded are multiplied, too. Do they harm nobody, and is using them reported?"""

from pathlib import Path

import ascend_sim
import numpy as np
import pytest
import torch
from ascend_sim import jit

SOURCE = Path(__file__).with_name("partial_kernels.cpp")
TILE = 32
DTYPES = {"f16": torch.float16, "e4m3": torch.float8_e4m3fn, "scales": torch.float8_e4m3fn, "s8": torch.int8}     # else bf16
TWICE = ("bf16", "f16", "e4m3")
KERNELS = dict.fromkeys((*TWICE, "s8", "scales", "whole_before", "through_l1"), "cube") | {"through_ub": "mix"}
TRANSPOSED = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "f32": torch.float32}
LAST = "undefined data was multiplied last by asc_mmad"


def dtype_of(name):
    return DTYPES.get(name, torch.bfloat16)


@pytest.fixture(scope="module", params=["none", "memory"])
def kernels(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_SIM_CHECK", request.param)
        names = KERNELS | {"nothing_to_l1": "cube", "from_ub": "mix"} | dict.fromkeys((f"transposed_{name}" for name in TRANSPOSED), "cube")
        return jit.compile_all(SOURCE, names) | {"checked": request.param == "memory"}


def operands(name, seed=5):
    k = 64 // dtype_of(name).itemsize
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(-3, 4, (TILE, k), generator=generator).to(dtype_of(name)) for _ in range(2)]


def run(kernel, a, b, rows_a, rows_b, m, n):
    """What is stored of the 32 x 32 results, and the rest, which nobody may have written."""
    d = torch.full((TILE, TILE), -77, dtype=torch.int32).npu()
    there = [x if kernel.name == "whole_before" else x[:rows].contiguous() for x, rows in ((a, rows_a), (b, rows_b))]
    kernel[1](*(x.view(torch.uint8).npu() for x in there), d.view(torch.float32), rows_a, rows_b, m, n)
    d = d.cpu()
    rest = d.clone()
    rest[:m, :n] = -77
    assert (rest == -77).all()
    return d[:m, :n] if kernel.name == "s8" else d.view(torch.float32)[:m, :n]


def expected(name, a, b):
    product = a.double().numpy() @ b.double().numpy().T
    return product @ b.double().numpy().T if name == "through_l1" else product * (2 if name in TWICE else 1)


def rows_there(name):
    most = 16 if name == "scales" else TILE
    columns = (32,) if name == "through_l1" else (32, 8, 1)     # there the columns are k of the second product
    return [(min(rows, most), n) for rows in (32, 17, 16, 5, 1) for n in columns]


@pytest.mark.parametrize("name", KERNELS)
def test_rows_that_are_there_are_right_beside_rows_that_are_not(kernels, name):
    a, b = operands(name)
    if name == "through_l1":
        b.clamp_(-1, 1)                                         # so that the first product is exact in bf16
    for rows_a, rows_b in rows_there(name):
        got = run(kernels[name], a, b, rows_a, rows_b, rows_a, rows_b)
        assert np.array_equal(got.double().numpy(), expected(name, a, b)[:rows_a, :rows_b]), (rows_a, rows_b)


@pytest.mark.parametrize("name", ["bf16", "f16", "e4m3"])
def test_what_the_memories_held_before_influences_nothing(kernels, name):
    torch.manual_seed(1)
    a, b = (torch.randn(TILE, 64 // dtype_of(name).itemsize).to(dtype_of(name)) for _ in range(2))
    results = []
    for before in (torch.ones_like(a.float()), torch.full_like(a.float(), torch.nan), torch.full_like(a.float(), 2.0**-9)):
        before = before.to(dtype_of(name))
        run(kernels[name], before, before, TILE, TILE, TILE, TILE)
        results.append(run(kernels[name], a, b, 5, 9, 5, 9))
    assert results[0].equal(results[1]) and results[0].equal(results[2])


@pytest.mark.parametrize("name", sorted(set(KERNELS) - {"through_ub", "through_l1"}))
@pytest.mark.parametrize("more", [(1, 0), (0, 8)], ids=["row", "columns"])
def test_storing_more_than_is_there_is_an_error(kernels, name, more):
    rows_a, rows_b = (16 if name == "scales" else 5), 8
    with pytest.raises(ascend_sim.LaunchError, match=rf"FIX: asc_copy_l0c2gm: source: L0C address 0x\w+ holds undefined data; {LAST}.* in partial_kernels.cpp:\d+"):
        run(kernels[name], *operands(name), rows_a, rows_b, rows_a + more[0], rows_b + more[1])
    run(kernels[name], *operands(name), rows_a, rows_b, rows_a, rows_b)     # the device goes on


def test_moving_on_what_was_never_multiplied_is_an_error(kernels):
    with pytest.raises(ascend_sim.LaunchError, match="FIX: asc_copy_l0c2l1: source: L0C address 0x0 holds undefined data     "):
        run(kernels["nothing_to_l1"], *operands("bf16"), TILE, TILE, TILE, TILE)


def test_undefined_results_are_followed_through_l1_and_ub(kernels):
    with pytest.raises(ascend_sim.LaunchError, match=rf"FIX: asc_copy_l0c2gm: source: L0C address 0x140 holds undefined data; {LAST}"):
        run(kernels["through_l1"], *operands("bf16"), 5, 32, 6, 32)
    with pytest.raises(ascend_sim.LaunchError, match="M: asc_mmad: left operand: L0A address 0x400 holds undefined data"):
        run(kernels["through_l1"], *operands("bf16"), 32, 16, 32, 16)       # columns that are the second product's k
    if kernels["checked"]:
        with pytest.raises(ascend_sim.LaunchError, match="asc_copy_ub2gm_align: source: UB0 address 0x280 holds undefined data"):
            run(kernels["through_ub"], *operands("bf16"), 5, 32, 6, 32)


def test_rows_of_ub_that_nobody_wrote_are_followed_through_l1(kernels):
    a, b = operands("bf16")
    for rows in (1, 5, 16, 32):
        got = run(kernels["from_ub"], a, b, rows, TILE, rows, TILE)
        assert np.array_equal(got.double().numpy(), expected("from_ub", a, b)[:rows])
    if kernels["checked"]:
        line = 1 + next(i for i, text in enumerate(SOURCE.read_text().splitlines()) if "@ub2l1" in text)
        went = rf"undefined data went to L1 last by asc_copy_ub2l1 \(UB0 address 0x7e0\) in partial_kernels.cpp:{line}"
        with pytest.raises(ascend_sim.LaunchError, match=rf"FIX: asc_copy_l0c2gm: source: L0C address 0x140 holds undefined data; {LAST}.*; {went}"):
            run(kernels["from_ub"], a, b, 5, TILE, 6, TILE)


@pytest.mark.parametrize("name", TRANSPOSED)
def test_k_may_end_among_the_rows_of_a_transposed_operand(kernels, name):
    """Rows of the source behind the end of k need not be there; those before it must."""
    kernel, dtype = kernels[f"transposed_{name}"], TRANSPOSED[name]
    wide = 64 // dtype.itemsize
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randint(-3, 4, (TILE, wide), generator=generator).to(dtype) for _ in range(2))
    nan = torch.full((TILE, wide), torch.nan).to(dtype).view(torch.uint8).npu()

    def product(there, k):
        d = torch.full((wide, wide), torch.nan).npu()
        kernel[1](nan, nan, d, TILE, TILE)                      # what the memories hold before
        kernel[1](*(x[:there].contiguous().view(torch.uint8).npu() for x in (a, b)), d, there, k)
        return d.cpu().double()

    for there, k in [(1, 1), (7, 7), (8, 5), (16, 16), (17, 17), (31, 31), (32, 30)]:
        assert product(there, k).equal(a[:k].double().T @ b[:k].double()), (there, k)
    for there in (1, 7, 8, 16, 31):
        with pytest.raises(ascend_sim.LaunchError, match=r"M: asc_mmad: left operand: L0A address 0x\w+ holds undefined data"):
            product(there, there + 1)
