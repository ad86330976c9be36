# SPDX-License-Identifier: MIT
"""Does `ascend-sim trace` write what was launched, in every process and however it ends, and leave the script's output and status alone?"""

import csv
import json
import os
import signal
import subprocess
import sys

import ascend_sim
import pytest
import torch
from ascend_sim import _C, cli
from ascend_sim.profiler import log

# A child that is killed, a forked one, and an exception: all that they launched until then must be there.
SCRIPT = """
import os, signal, sys
import ascend_sim.npu, deep_gemm, torch
def gemm(m):
    a, b = torch.ones(m, 64, dtype=torch.bfloat16).npu(), torch.ones(16, 64, dtype=torch.bfloat16).npu()
    d = torch.empty(m, 16, dtype=torch.bfloat16, device="npu")
    deep_gemm.bf16_gemm_nt(a, b, d)
    return d
child = os.fork()
if child == 0:
    gemm(16); gemm(32)
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
print(gemm(48).sum().item(), sys.stdin.read(), sys.argv[1:])
raise ValueError("the script's own")
"""


@pytest.fixture(scope="module")
def traced(module_command):
    """(what came out of the process, the folder)"""
    command, folder = module_command
    (folder / "script.py").write_text(SCRIPT)
    return command("trace", "--timeline", "--out", "a/b", "script.py", "--out", "mine", input="typed"), folder / "a" / "b"


def rows_of(folder):
    with open(folder / "launches.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_output_status_and_traceback_are_the_scripts(traced):
    done, _ = traced
    assert done.returncode == 1
    assert done.stdout == f"{48 * 16 * 64.0} typed ['--out', 'mine']\n"
    assert done.stderr.count("Traceback") == 1 and "ValueError: the script's own" in done.stderr and "ascend_sim/cli" not in done.stderr


def test_every_process_left_its_launches(traced):
    _, folder = traced
    gemms = [row for row in rows_of(folder) if row["name"] == "bf16_gemm_impl"]
    by_process = {process: [row for row in gemms if row["process"] == process] for process in dict.fromkeys(row["process"] for row in gemms)}
    assert sorted(len(rows) for rows in by_process.values()) == [1, 2]
    for row in gemms:
        assert float(row["simulated_us"]) > 1 and float(row["macs"]) >= 16 * 16 * 64 and float(row["busy_aic_M"]) > 0 and row["limit"].startswith("aic.")
    assert any(row["is_estimate"] == "True" for row in rows_of(folder))


def test_the_timeline_has_instructions_and_keeps_processes_apart(traced):
    _, folder = traced
    events = json.loads((folder / "timeline.json").read_text())["traceEvents"]
    names = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
    kernels = {name: pid for name, pid in names.items() if name.endswith("npu:0 kernels")}
    assert len(kernels) == 2 and len(set(names.values())) == len(names)
    for pid in kernels.values():
        assert any(event["ph"] == "X" and event["pid"] == pid and event["name"] == "bf16_gemm_impl" for event in events)
        assert any(event["ph"] == "X" and pid < event["pid"] < pid + 1000 and event["name"] == "asc_mmad" for event in events)


def test_the_summary_is_printed_and_written_and_nothing_else_is_left(traced):
    done, folder = traced
    summary = (folder / "summary.txt").read_text()
    assert summary.splitlines()[0] in done.stderr and "in 2 processes" in summary and str(folder / "launches.csv") in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["launches.csv", "summary.txt", "timeline.json"]


@pytest.mark.parametrize("script, status", [("raise SystemExit(7)", 7), ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
                                            ("def f(:", 1), (None, 2)], ids=["exit", "killed", "syntax error", "no such file"])
def test_a_script_that_launches_nothing_keeps_its_status_and_is_told_so(command, tmp_path, script, status):
    if script:
        (tmp_path / "script.py").write_text(script)
    done = command("trace", "script.py")
    assert done.returncode == status and done.stdout == ""
    assert "the script launched nothing on npu" in done.stderr and not (tmp_path / "script.trace").exists()


def test_ctrl_c_reaches_the_script_and_the_results_are_written(tmp_path):
    (tmp_path / "script.py").write_text("import sys, time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt: sys.exit(4)")
    path = os.path.dirname(ascend_sim.__path__[0])
    process = subprocess.Popen([sys.executable, "-P", "-m", "ascend_sim", "trace", "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env={**os.environ, "PYTHONPATH": path})
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4 and "launched nothing" in said and "Traceback" not in said


def test_a_folder_that_cannot_be_written_is_refused_before_the_script_starts(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "script.py").write_text("open('started', 'w')")
    assert cli.main(["trace", "--out", "file/below", "script.py"]) == 2
    assert "file/below cannot be written: Not a directory. Choose another folder with --out." in capsys.readouterr().err
    assert not (tmp_path / "started").exists()


# ---- the log itself ----------------------------------------------------------------------------------------------------------------------


def test_a_log_has_what_a_profile_has_and_keeps_nothing_in_memory(tmp_path):
    handle = _C.profile_begin_log(str(tmp_path), True)
    try:
        with ascend_sim.profile(timeline=True) as profile:
            x = torch.ones(1000, device="npu")
            (x + 1).sum()
        assert _C.profile_json(handle) == "[]"
    finally:
        _C.profile_forget(handle)
    (x + 1).sum()                                           # no longer logged
    path, = tmp_path.glob("*.launches")
    assert [log.profiler.record_of(json.loads(line)) for line in path.read_text().splitlines()] == profile.records
    profile.export_chrome_trace(tmp_path / "whole.json")
    log.write(tmp_path, tmp_path / "launches.csv", tmp_path / "timeline.json")
    assert json.loads((tmp_path / "timeline.json").read_text()) == json.loads((tmp_path / "whole.json").read_text())


def test_cut_lines_are_counted_and_left_out(tmp_path):
    fields = {"name": "k", "detail": "", "chip": "c", "device": 0, "stream": 0, "blocks": 1, "aics": 1, "aivs": 0, "is_estimate": False, "is_timed": True,
              "start_us": 0, "simulated_us": 2, "launch_us": 1, "host_us": 3, "total_cycles": 100, "aic": {"M": {"busy_cycles": 50, "wait_cycles": 0, "instructions": 1}},
              "aiv": {}, "gm_read_bytes": 1000000, "gm_written_bytes": 0, "l2_bytes": 0, "hbm_read_bytes": 0, "hbm_written_bytes": 0, "macs": 1e6, "flops": 0, "records": 1}
    line = json.dumps(fields)
    (tmp_path / "7.launches").write_text(f"{line}\n{line}\n{line[:40]}")
    (tmp_path / "7.events").write_text('{"ph":"X","pid":0,"name":"k"}\n{"ph":"X","pi')
    summary = log.write(tmp_path, tmp_path / "out.csv", tmp_path / "out.json")
    assert (summary.launches, summary.cut, summary.processes) == (2, 1, 1)
    assert [event["name"] for event in json.loads((tmp_path / "out.json").read_text())["traceEvents"]] == ["k"]
    assert summary.table().splitlines()[1].split() == ["k", "2", "4.00", "100.0%", "2.00", "2.00", "2.00", "aic.M", "50%", "2.00", "0.00", "1.0", "0.01"]


def test_a_log_that_cannot_be_written_disturbs_nothing(tmp_path):
    handle = _C.profile_begin_log(str(tmp_path / "gone"), False)
    try:
        assert torch.ones(4, device="npu").sum().item() == 4
    finally:
        _C.profile_forget(handle)
