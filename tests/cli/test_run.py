# SPDX-License-Identifier: MIT
"""Does `ascend-sim run` start the script exactly as Python would, with the settings that were asked for, or refuse them all at once?"""

import os
import signal
import sys

import pytest
from ascend_sim import cli, config
from ascend_sim.cli import launching, run


@pytest.fixture
def started(monkeypatch):
    """What would take this process's place: (command, environment)."""
    calls = []
    monkeypatch.setattr(run.os, "execve", lambda path, command, environment: calls.append((command, environment)))
    monkeypatch.setattr(launching, "why_import_torch_brings_no_npu", lambda environment: None)
    return calls


def test_options_become_variables_and_the_rest_is_the_scripts(started):
    cli.main(["run", "--mode", "timing", "--backend", "cuda:sm90", "--chip", "950PR_9579", "--strict", "--check", "memory", "x.py", "--mode", "1", "-m", "--", "y"])
    (command, environment), = started
    assert command == [sys.executable, "x.py", "--mode", "1", "-m", "--", "y"]
    chosen = {name: environment[name] for name in config.VARIABLES if name in environment}
    assert chosen == {"ASCEND_SIM_MODE": "timing", "ASCEND_SIM_BACKEND": "cuda:sm90", "ASCEND_SIM_CHIP": "950PR_9579", "ASCEND_SIM_STRICT": "1",
                      "ASCEND_SIM_CHECK": "memory", "ASCEND_SIM_SHIMS": "all"}


@pytest.mark.parametrize("arguments, command", [
    (["-m", "pytest", "-q", "--mode", "x"], ["-m", "pytest", "-q", "--mode", "x"]),
    (["-c", "print(1)", "--mode"], ["-c", "print(1)", "--mode"]),
    (["--", "x.py", "--", "a"], ["x.py", "--", "a"]),
    (["-", "a"], ["-", "a"]),
    (["--", "-odd.py"], ["./-odd.py"]),
    (["a folder/x.py", ""], ["a folder/x.py", ""]),
])
def test_what_is_run(started, arguments, command):
    cli.main(["run", *arguments])
    assert started[0][0] == [sys.executable, *command]


@pytest.mark.parametrize("variable, option, expected", [
    (None, [], "all"), ("toolkit", [], "toolkit"), ("toolkit", ["--shims", "all"], "all"),
    (None, ["--shims", "none"], "none"), (None, ["--shims", "davinci,toolkit"], "davinci,toolkit"),
])
def test_which_shims(started, monkeypatch, variable, option, expected):
    if variable:
        monkeypatch.setenv("ASCEND_SIM_SHIMS", variable)
    cli.main(["run", *option, "x.py"])
    assert started[0][1]["ASCEND_SIM_SHIMS"] == expected


def test_everything_that_is_wrong_is_refused_together_before_anything_starts(started, capsys, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_THREADS", "many")
    assert cli.main(["run", "--mode", "fast", "--check", "bounds", "--shims", "npu", "x.py"]) == 2
    said = capsys.readouterr().err
    for part in ("ASCEND_SIM_THREADS='many'", "ASCEND_SIM_MODE='fast'", "full, functional, timing", "there is no check 'bounds'; ", "none, or a list of memory, division, races", "unknown: 'npu'"):
        assert part.removesuffix("; ") in said
    assert not started


@pytest.mark.parametrize("option, message", [(["--chip", "950XX"], "chip '950XX' is not known; known: 950DT_950x"), (["--backend", "cudnn"], "backend 'cudnn' is not known; known: ascend"),
                                             ([], "there is no script to run"), (["-m"], "-m needs the name of a module")])
def test_unknown_names_and_missing_scripts_are_refused(started, capsys, option, message):
    assert cli.main(["run", *option] + (["x.py"] if option[1:] else [])) == 2
    assert message in capsys.readouterr().err and not started


def test_it_says_when_shims_cannot_be_loaded(monkeypatch, capsys):
    monkeypatch.setattr(run.os, "execve", lambda *arguments: None)
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    cli.main(["run", "x.py"])
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0: shims are loaded only once" in capsys.readouterr().err
    cli.main(["run", "--shims", "none", "x.py"])
    assert capsys.readouterr().err == ""


SCRIPT = """
import sys
print(sys.argv, sys.path[0], __name__, __file__, sys.stdin.read(), __spec__, sys.flags.safe_path)
if sys.argv[1:] == ["raise"]:
    def inner(): raise ValueError("no")
    inner()
if sys.argv[1:] == ["kill"]:
    import os
    sys.stdout.flush()
    os.kill(os.getpid(), 15)
sys.exit(3)
"""


@pytest.mark.parametrize("arguments", [["a b", ""], ["raise"], ["kill"]], ids=str)
def test_a_script_cannot_tell_the_difference(python, tmp_path, arguments):
    (tmp_path / "script.py").write_text(SCRIPT)
    plain = python("script.py", *arguments, input="typed")
    ours = python("-P", "-m", "ascend_sim", "run", "--shims", "none", "script.py", *arguments, input="typed")
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.returncode == {"raise": 1, "kill": -signal.SIGTERM}.get(arguments[0], 3)


@pytest.mark.parametrize("content", [None, "def f(:\n"], ids=["no such file", "syntax error"])
def test_scripts_that_cannot_run_say_what_python_says(python, tmp_path, content):
    if content:
        (tmp_path / "script.py").write_text(content)
    plain, ours = python("script.py"), python("-P", "-m", "ascend_sim", "run", "--shims", "none", "script.py")
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr) and ours.returncode and ours.stderr


def test_spawned_children_have_the_shims_and_the_script(python, tmp_path):
    (tmp_path / "script.py").write_text("""
import multiprocessing, os
def child(): print(os.environ["ASCEND_SIM_SHIMS"], __name__, flush=True)
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start(); process.join()
    raise SystemExit(process.exitcode)
""")
    done = python("-P", "-m", "ascend_sim", "run", "--shims", "toolkit", "script.py")
    assert done.returncode == 0 and done.stdout == "toolkit __mp_main__\n"


def test_the_stand_ins_are_there_whatever_is_imported_first(command, tmp_path):
    if launching.why_import_torch_brings_no_npu(dict(os.environ)):
        pytest.skip("ascend-sim is not installed here, so `import torch` does not find it")
    (tmp_path / "script.py").write_text("""
import torch_npu, torch, os
print(torch_npu.npu is torch.npu, torch.cuda.is_available(), os.path.exists("/dev/davinci_manager"), os.environ["BISHENG_HOME"])
""")
    done = command("run", "script.py", environment={"ASCEND_SIM_CACHE_DIR": str(tmp_path / "cache")})
    assert done.stdout.startswith(f"True True True {tmp_path}"), done.stderr


def test_a_real_torch_npu_is_not_hidden(started, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", "/mine")
    cli.main(["run", "x.py"])
    cli.main(["run", "--shims", "cuda", "x.py"])
    (tmp_path / "torch_npu.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    cli.main(["run", "x.py"])
    assert [environment["PYTHONPATH"] for _, environment in started] == [f"/mine:{launching.STAND_INS}", "/mine", "/mine"]
