# SPDX-License-Identifier: MIT
"""Does the block of D that a core works on obey the chip's sizes, and does another chip get another one? As DG_PRINT_CONFIGS prints it."""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import ascend_sim
import deep_gemm
import pytest
import torch
from ascend_sim import chips
from ascend_sim.backends import settings
from support.cases import QUANTISED, bf16, poisoned
from support.gemm import assert_gemm

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ascend_sim._C") is None, reason="the extension is not built here; make build")

PAIRS = [("bf16", "bf16"), ("fp8", "fp8"), ("fp8", "fp4"), ("fp4", "fp4")]
PROBLEMS = [(4096, 7168, 2048), (1024, 1024, 1024), (128, 2112, 7168), (128, 576, 7168), (1, 4096, 7168), (17, 31, 98), (640, 33, 16384)]
BINS = ["950DT_9581", "950DT_9571", "950DT_950x", "950PR_950z"]     # 32, 28, 8 and 4 cores
KIB = 1024
LINE = re.compile(r"(?P<kernel>\w+)\((?P<problem>.*)\): block (\d+)x(\d+)x(\d+) mad (\d+)x(\d+)x(\d+) stages (\d+)( direct)?")


@dataclass
class Printed:
    kernel: str
    problem: dict[str, str]
    block: tuple[int, int, int]
    mad: tuple[int, int, int]
    stages: int
    direct: bool

    @classmethod
    def of(cls, line: str) -> "Printed":
        found = LINE.fullmatch(line)
        assert found, f"not understood: {line!r}"
        sizes = [int(text) for text in found.groups()[2:9]]
        problem = dict(part.split("=") for part in found["problem"].split(", "))
        return cls(found["kernel"], problem, tuple(sizes[:3]), tuple(sizes[3:6]), sizes[6], found[10] is not None)

    @property
    def tile(self):
        return self.block, self.mad, self.stages, self.direct


@pytest.fixture
def on_chip():
    """Makes this process emulate a chip; the default one comes back."""
    from ascend_sim import _C
    torch.npu.init()
    default = chips.load("950DT_9581")
    before = settings.deep_gemm.num_sms

    def change(chip: chips.Chip) -> None:
        _C.set_chip(chip.name, chip.flat())
        deep_gemm.set_num_sms(int(chip["cores.ai_cores"]))
    yield change
    _C.set_chip(default.name, default.flat())
    settings.deep_gemm.num_sms = before


@pytest.fixture
def printed(monkeypatch, capsys):
    """The configuration of one GEMM, in timing mode."""
    from ascend_sim.backends.ascend import launch
    monkeypatch.setenv("DG_PRINT_CONFIGS", "1")

    def empty(kind: str, mn: int, k: int):
        if kind == "bf16":
            return torch.empty(mn, k, dtype=torch.bfloat16, device="npu")
        data = torch.empty(mn, k, dtype=torch.float8_e4m3fn, device="npu") if kind == "fp8" else torch.empty(mn, k // 2, dtype=torch.int8, device="npu")
        pairs = -(-k // 64)
        return data, torch.empty(pairs, mn, dtype=torch.int16, device="npu").T

    def run(pair, m, n, k, dtype=torch.bfloat16, **keywords) -> Printed:
        monkeypatch.setattr(launch, "_printed", set())
        capsys.readouterr()
        function = deep_gemm.bf16_gemm_nt if pair[0] == "bf16" else deep_gemm.fp8_fp4_gemm_nt
        with ascend_sim.mode("timing"):
            function(empty(pair[0], m, k), empty(pair[1], n, k), torch.empty(m, n, dtype=dtype, device="npu"), **keywords)
        lines = [line for line in capsys.readouterr().out.splitlines() if "gemm_impl" in line]
        assert len(lines) == 1
        return Printed.of(lines[0])
    return run


def legal(shown: Printed, pair, m: int, n: int, k: int, cores: int) -> None:
    """deep_gemm.md 22.1 and 22.2."""
    bits = {"bf16": 16, "fp8": 8, "fp4": 4}[pair[0]]
    (block_m, block_n, block_k), (mad_m, mad_n, mad_k) = shown.block, shown.mad
    largest = 256 if "fp4" in pair else 512
    assert block_m % 16 == block_n % 16 == 0 and block_m <= largest and block_n <= largest
    assert block_m < m + 16 and block_n < n + 16, "wider than the problem"
    assert block_m * block_n * 4 <= 256 * KIB, "L0C"
    assert mad_m * mad_n * 4 <= 128 * KIB, "half of L0C"
    assert block_m % mad_m == block_n % mad_n == 0 and (block_m // mad_m) * (block_n // mad_n) in (1, 2)
    assert 2 * max(block_m, block_n) * mad_k * bits // 8 <= 64 * KIB, "two stages of L0A and L0B"
    assert 2 <= shown.stages <= (8 if bits == 16 else 4)
    scales = 0 if bits == 16 else 2 * (block_m + block_n) * block_k // 32
    assert shown.stages * (block_m + block_n) * block_k * bits // 8 + scales <= 512 * KIB, "L1"
    assert block_k * bits // 8 >= 256 and (pair != ("fp8", "fp4") or block_k <= 512)
    if shown.direct and shown.problem["accumulate"] == "0":
        assert -(-m // block_m) * -(-n // block_n) <= cores or m <= block_m


@pytest.mark.parametrize("pair", PAIRS, ids="x".join)
@pytest.mark.parametrize("chip", BINS)
def test_the_printed_block_fits_the_memories_of_every_chip(on_chip, printed, chip, pair):
    chip = chips.load(chip)
    cores = int(chip["cores.ai_cores"])
    on_chip(chip)
    for m, n, k in PROBLEMS:
        shown = printed(pair, m, n, k)
        assert shown.kernel == {"bf16": "bf16_gemm_impl", "fp8": "fp8_gemm_impl", "fp4": "fp4_gemm_impl"}[pair[0]] or pair == ("fp8", "fp4")
        assert [shown.problem[name] for name in ("m", "n", "k", "cores")] == [str(x) for x in (m, n, k, cores)]
        legal(shown, pair, m, n, k, cores)


@pytest.mark.parametrize("pair", PAIRS, ids="x".join)
def test_a_chip_with_fewer_cores_gets_other_blocks(on_chip, printed, pair):
    tiles = {}
    for chip in BINS:
        on_chip(chips.load(chip))
        tiles[chip] = [printed(pair, *problem).tile for problem in PROBLEMS]
    for chip in BINS[1:]:
        assert tiles[chip] != tiles[BINS[0]], chip
    assert len(set(map(str, tiles.values()))) == len(BINS)


@pytest.mark.parametrize("constant, factor", [("cube.macs.bf16", 1 / 16), ("l2.capacity", 1 / 64), ("clock.frequency", 1 / 8)])
def test_every_figure_of_the_cost_model_that_is_the_chip_s_is_read_from_its_file(on_chip, printed, constant, factor):
    default = chips.load("950DT_9581")
    problems = [(m, n, k) for m in (128, 1024, 4096) for n in (576, 7168) for k in (512, 7168)]
    on_chip(default)
    before = [printed(("bf16", "bf16"), *problem).tile for problem in problems]
    constants = dict(default.constants)
    constants[constant] = constants[constant] | {"value": constants[constant]["value"] * factor}
    on_chip(chips.Chip("changed", constants))
    assert [printed(("bf16", "bf16"), *problem).tile for problem in problems] != before


@pytest.mark.parametrize("chip", BINS)
def test_results_are_right_on_every_chip(on_chip, chip):
    on_chip(chips.load(chip))
    a, b = bf16(300, 200, "npu", 1), bf16(520, 200, "npu", 2)
    d = poisoned(300, 520, "npu")
    deep_gemm.bf16_gemm_nt(a.tensor, b.tensor, d)
    assert_gemm(d, a, b)
    a, b = QUANTISED["fp8"](300, 200, "npu", 1), QUANTISED["fp4"](520, 200, "npu", 2)
    d = poisoned(300, 520, "npu")
    deep_gemm.fp8_fp4_gemm_nt(a.tensor, b.tensor, d)
    assert_gemm(d, a, b)


def test_the_environment_chooses_the_chip():
    code = """
import torch, deep_gemm
a, b, d = (torch.ones(shape, dtype=torch.bfloat16).npu() for shape in ((1000, 64), (1000, 64), (1000, 1000)))
deep_gemm.bf16_gemm_nt(a, b, d)
print(deep_gemm.get_num_sms(), bool((d == 64).all()))
"""
    environment = os.environ | {"ASCEND_SIM_CHIP": "950DT_95A1", "DG_PRINT_CONFIGS": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    configuration, answer = done.stdout.splitlines()
    assert answer == "36 True"
    shown = Printed.of(configuration)
    assert shown.problem["cores"] == "36"
    legal(shown, ("bf16", "bf16"), 1000, 1000, 64, 36)
