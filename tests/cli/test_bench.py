# SPDX-License-Identifier: MIT
"""Does `ascend-sim bench` find its benchmarks, refuse unknown names, and show simulated beside published time?"""

import json
import subprocess
import sys

import ascend_sim
import pytest
from ascend_sim import bench, cli
from ascend_sim.bench import report


def test_every_published_dense_row_has_a_benchmark():
    rows = [row for name in bench.select(["deep_gemm"]) for row in bench.module(name).ROWS]
    assert len(rows) == len(report.published("deep_gemm", "dense")) == 11
    assert all(row.run and row.published_us for row in rows)


def test_names_and_packages_select():
    assert bench.select(["deep_gemm.bf16_gemm"]) == ["deep_gemm.bf16_gemm"]
    assert bench.select(["deep_gemm"]) == [name for name in bench.names() if name.startswith("deep_gemm.")]
    assert bench.select([]) == bench.names() and "deep_gemm.fp8_fp4_gemm" in bench.names()


def test_groups_come_in_the_packages_order():
    rows = bench.rows(bench.select(["deep_gemm"]))
    assert list(dict.fromkeys(row.group for row in rows)) == ["peak", "others", "M=128 or N=576"]


@pytest.mark.parametrize("name", ["gemm", "deep_gemm.bf16", "deep_gemm._gemm_rows"])
def test_unknown_names_are_refused_with_the_known_ones(capsys, name):
    assert cli.main(["bench", name]) == 2
    said = capsys.readouterr().err
    assert f"there is no benchmark {name!r}; known: deep_gemm.bf16_gemm, deep_gemm.fp8_fp4_gemm" in said


def test_list_runs_nothing(capsys, monkeypatch):
    monkeypatch.setattr(report, "run", None)
    assert cli.main(["bench", "--list"]) == 0
    said = capsys.readouterr().out
    assert "deep_gemm.bf16_gemm" in said and "1 rows" in said and "How long does bf16_gemm_nt take on the chip?" in said
    assert cli.main(["bench", "--list", "--json", "deep_gemm.fp8_fp4_gemm"]) == 0
    assert [entry["rows"] for entry in json.loads(capsys.readouterr().out)] == [10]


def test_rows_are_shown_and_written_as_json(capsys, monkeypatch):
    rows = bench.rows(["deep_gemm.fp8_fp4_gemm"])
    monkeypatch.setattr(bench, "rows", lambda chosen: [row for row in rows if row.label == "fp8 128x7168x2048"])
    assert cli.main(["bench", "deep_gemm"]) == 0
    table = capsys.readouterr().out
    assert "fp8 128x7168x2048" in table and "published       10.1 us" in table and "fitted to this row" in table
    assert cli.main(["bench", "--json"]) == 0
    entry, = json.loads(capsys.readouterr().out)
    assert abs(entry["error"]) < 0.15 and entry["simulated_us"] == pytest.approx(10.1 * (1 + entry["error"]))


def test_bad_settings_are_refused_first(monkeypatch, capsys):
    monkeypatch.setenv("ASCEND_SIM_HBM_GB", "much")
    assert cli.main(["bench"]) == 2
    assert "ASCEND_SIM_HBM_GB='much'" in capsys.readouterr().err


@pytest.mark.parametrize("name, arguments, message", [
    ("bf16_gemm", ["4096", "-1", "x"], "n is '-1'; expected a whole number from 1 to 2147483647"),
    ("bf16_gemm", ["0", "1", "1"], "m is '0'; expected a whole number from 1"),
    ("bf16_gemm", ["1", "2"], "2 arguments (1 2); expected none, m n k"),
    ("bf16_gemm", ["1", "2", "1.5"], "k is '1.5'"),
    ("bf16_gemm", ["--fast"], "unrecognized arguments: --fast"),
    ("fp8_fp4_gemm", ["64", "64", "64", "fp8"], "or m n k and the formats of a and b"),
    ("fp8_fp4_gemm", ["64", "64", "64", "fp8", "fp5"], "the format of b is 'fp5'; expected fp8 or fp4"),
    ("fp8_fp4_gemm", ["64", "64", "33", "fp4", "fp4"], "k is 33; expected an even number with fp4"),
    ("bf16_gemm", ["1000000000", "1000000000", "1000"], "out of memory"),
])
def test_a_script_refuses_wrong_arguments_with_a_usage_error(name, arguments, message, monkeypatch, capsys):
    module = bench.module(f"deep_gemm.{name}")
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    before = str(ascend_sim.mode())
    try:
        with pytest.raises(SystemExit) as ended:
            module.main(f"deep_gemm.{name}", module.ROWS, module.own_row, *([module.FORMATS] if "fp4" in name else []))
    finally:
        ascend_sim.mode(before)
    assert ended.value.code == 2 and message in capsys.readouterr().err


def test_a_script_measures_a_shape_of_ones_own():
    result = subprocess.run([sys.executable, "-P", "-m", "ascend_sim.bench.deep_gemm.fp8_fp4_gemm", "64", "64", "64", "fp8", "fp4"], capture_output=True, text=True)
    assert result.returncode == 0 and "fp8xfp4 64x64x64   simulated" in result.stdout, result.stderr
