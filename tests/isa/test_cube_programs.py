# SPDX-License-Identifier: MIT
"""Does the cube compute the same whatever form the host keeps its operands in?

Random sequences of loads, fills, multiplications and drains, over few places so that they run into each other, once on a level that packs operands and
puts products off and once on one that does neither. Values are small integers: every sum is exact, so that bits agree or something read the wrong data."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from ascend_sim import LaunchError
from support.cube import host_levels

pytestmark = pytest.mark.skipif("amx" not in host_levels(), reason="no level of this host packs operands")

NDNZ, L0A, L0B, L0A_T, L0B_T, FILL_L1, FILL_L0A, FILL_L0B, MMAD, MMAD_S8, DRAIN, L0A_S8, L0B_S8 = range(13)
ROWS, COLUMNS, SLOT = 256, 512, 32 << 10  # gm; bytes between places in L1
OUT = 64 * 64
INTEGERS = 65536  # where in L0C integers are added up: as fp32 they would be subnormals, which a matrix unit may flush


@pytest.fixture(scope="module")
def walk():
    from ascend_sim import jit
    return jit.compile_all((Path(__file__).parent / "cube_programs.cpp").read_text())["walk"][1]


def program(seed):
    """Legal steps. Places: L1 has four, L0A and L0B two that overlap, L0C three, the last across the other two."""
    rng = random.Random(seed)
    pick = lambda *values: rng.choice(values)  # noqa: E731
    rows, k = pick(16, 32, 48, 64), pick(16, 32, 48, 64, 128)  # columns of C in multiples of 8: a granule is defined as a whole
    blocks, units = rows // 16, k // 16

    def l1():
        return pick(0, 1, 2, 3) * SLOT + pick(0, 0, 0, 0, 512)

    def l0():
        return pick(0, 0, 0, 8192, 8192, 2048)

    def l0c():
        return pick(0, 0, 16384, 16384, 8192)

    def load():
        origin = pick(0, 16, 64) + pick(0, 16, 100) * COLUMNS
        return [NDNZ, l1(), origin, COLUMNS, pick(rows, rows, rows, rows - 3), pick(k, k, k, k - 8), pick(1, 1, 1, 1, 2), pick(rows, rows, rows, rows * 2)]

    def fractals(op):
        m, first = pick((blocks, 0), (blocks, 0), (blocks, 0), (1, 0), (1, blocks - 1))
        step, start = pick((units, 0), (units, 0), (units, 0), (1, 0), (max(units // 2, 1), units // 2))
        return [op, l0(), l1(), first, start, m, step, pick(*[blocks] * 6, blocks * 2, 0)]     # 0: every column of fractals is the first

    makers = {
        load: 5, lambda: fractals(L0A): 4, lambda: fractals(L0B): 4, lambda: fractals(L0A_T): 1, lambda: fractals(L0B_T): 1,
        lambda: fractals(L0A_S8): 3, lambda: fractals(L0B_S8): 3,
        lambda: [FILL_L1, l1(), pick(1, 16, 64)]: 1, lambda: [FILL_L0A, l0(), pick(1, 4)]: 1, lambda: [FILL_L0B, l0(), pick(1, 4)]: 1,
        lambda: [MMAD, l0c(), l0(), l0(), pick(rows, rows, rows - 5), pick(k, k, 16, 32, k - 3), pick(rows, rows, rows - 8), pick(0, 0, 1)]: 12,
        lambda: [MMAD_S8, INTEGERS, l0(), l0(), rows, pick(32, 64, k * 2), rows, pick(0, 1)]: 3,
        lambda: [DRAIN, pick(0, 16384, 8192, INTEGERS), rows, rows, 0]: 2}
    defined = Defined()
    steps = [[NDNZ, slot * SLOT, slot * 16 * COLUMNS, COLUMNS, rows, k, 1, rows] for slot in range(4)]
    steps += [[L0A, 0, 0, 0, 0, blocks, units, blocks], [L0B, 0, SLOT, 0, 0, blocks, units, blocks]]
    for step in steps:
        assert defined.accept(step)
    for maker in rng.choices(list(makers), list(makers.values()), k=rng.randint(20, 80)):
        for _ in range(10):
            step = maker()
            if defined.accept(step):
                steps.append(step)
                break
    steps += [step for place in (0, 16384, 8192, INTEGERS) if defined.accept(step := [DRAIN, place, rows, rows, 0])]
    table, drains = np.zeros((len(steps), 8), np.int64), 0
    for row, step in zip(table, steps, strict=True):
        row[: len(step)] = step
        if step[0] == DRAIN:
            row[4] = drains * OUT
            drains += 1
    return table, drains


def run(walk, level, table, drains):
    """All that was drained, and how far the program came: a step that breaks a rule ends it, with a message."""
    from ascend_sim import _C
    gm = torch.from_numpy(np.random.default_rng(0).integers(-3, 4, (ROWS, COLUMNS))).bfloat16().npu()
    out = torch.full((drains * OUT,), -7.0, device="npu")
    chosen = _C.host_isa()
    _C.set_host_isa(level)
    try:
        walk(gm, out, torch.from_numpy(table.reshape(-1)).npu(), torch.tensor([len(table)]).npu())
        message = ""
    except LaunchError as error:
        message = str(error)
    finally:
        _C.set_host_isa(chosen)
    return message, out.cpu().view(torch.int32).numpy()


class Defined:
    """Which granules of 32 bytes hold data: an account of the rules, to leave out steps that would break them."""

    def __init__(self):
        self.l1, self.l0c = np.zeros(16384, bool), np.zeros(8192, bool)
        self.l0 = {"a": np.zeros(2048, bool), "b": np.zeros(2048, bool)}

    def accept(self, p):
        op, x = p[0], [int(v) for v in p[1:]]
        if op == NDNZ:
            for unit in range(-(-x[4] // 16)):
                self.l1[x[0] // 32 + unit * x[6] + np.arange(x[3]) * x[5]] = True
        elif op in (L0A, L0B, L0A_T, L0B_T, L0A_S8, L0B_S8):
            l0 = self.l0["a" if op in (L0A, L0A_T, L0A_S8) else "b"]
            for k in range(x[5]):
                for m in range(x[4]):
                    source = x[1] // 32 + ((x[3] + k) * x[6] + x[2] + m) * 16
                    data = self.l1[source: source + 16]
                    target = x[0] // 32 + (m * x[5] + k if op in (L0A_T, L0B_T) else k * x[4] + m) * 16
                    l0[target: target + 16] = data.all() if op in (L0A_T, L0B_T) else data
        elif op == FILL_L1:
            self.l1[x[0] // 32: x[0] // 32 + x[1]] = True
        elif op in (FILL_L0A, FILL_L0B):
            self.l0["a" if op == FILL_L0A else "b"][x[0] // 32: x[0] // 32 + x[1] * 16] = True
        elif op in (MMAD, MMAD_S8):
            c, a, b, m, k, n, init = x
            units = -(-k // (16 if op == MMAD else 32))
            for l0, base, rows in ((self.l0["a"], a, m), (self.l0["b"], b, n)):
                fractals = l0[base // 32:][: units * -(-rows // 16) * 16].reshape(units, -1)
                if not fractals[:, :rows].all():
                    return False
            if not init and not self.l0c[self.results(c, m, n)].all():
                return False
            self.l0c[self.results(c, m, n)] = True
        elif op == DRAIN:
            return bool(self.l0c[self.results(x[0], x[1], x[2])].all())
        return True

    @staticmethod
    def results(base, m, n):
        blocks = -(-m // 16)
        return np.unique([base // 32 + (column // 16 * blocks * 16 + row) * 2 + column % 16 // 8 for row in range(m) for column in range(n)])


@pytest.mark.parametrize("seeds", [range(i, i + 25) for i in range(0, 200, 25)], ids=str)
def test_packing_and_putting_off_change_nothing(walk, seeds):
    for seed in seeds:
        table, drains = program(seed)
        plain, packed = run(walk, "portable", table, drains), run(walk, "amx", table, drains)
        assert (plain[0], packed[0]) == ("", ""), seed
        np.testing.assert_array_equal(plain[1], packed[1], err_msg=f"program {seed}")


def test_a_broken_rule_is_named_the_same(walk):
    rng = random.Random(1)
    for seed in range(40):
        table, drains = program(seed)
        gap = rng.randrange(len(table))
        broken = np.delete(table, gap, 0)  # a load or a first product is missing, as often as not
        plain, packed = run(walk, "portable", broken, drains), run(walk, "amx", broken, drains)
        assert plain[0] == packed[0]
        np.testing.assert_array_equal(plain[1], packed[1], err_msg=f"program {seed} without step {gap}")
