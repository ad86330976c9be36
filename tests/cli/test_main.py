# SPDX-License-Identifier: MIT
"""Does the command answer what every command is asked: nothing, nonsense, help, a closed pipe, Ctrl-C?"""

import os
import subprocess
import sys
from pathlib import Path

import ascend_sim
import pytest
from ascend_sim import cli
from ascend_sim.cli import _parser, text

DOCUMENT = Path(__file__).parents[2] / "docs" / "command_line.md"


def test_without_a_command_it_lists_them(capsys):
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in cli.COMMANDS)


@pytest.mark.parametrize("argv, message", [(["inf"], "'doctor', 'bench', 'trace', 'run', 'cache'"), (["info", "--jsn"], "--jsn"), (["cache", "--cl"], "--cl"),
                                           (["run", "--modes", "timing", "x.py"], "usage: ascend-sim run")])
def test_what_it_does_not_know_is_refused_with_status_2(capsys, argv, message):
    with pytest.raises(SystemExit) as ended:
        cli.main(argv)
    assert ended.value.code == 2 and message in capsys.readouterr().err


def test_version_and_help_of_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0 and ascend_sim.__version__ in capsys.readouterr().out
    for name in cli.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0 and len(capsys.readouterr().out) > 200


def test_a_reader_that_goes_away_is_no_error(python):
    reader, writer = os.pipe()
    os.close(reader)
    done = python("-P", "-m", "ascend_sim", "cache", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_is_one_line(python):
    with open("/dev/full", "w") as full:
        done = python("-P", "-m", "ascend_sim", "cache", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "ascend-sim cache: [Errno 28] No space left on device\n")


def test_ctrl_c_ends_it_without_a_traceback(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt
    monkeypatch.setattr(sys.modules["ascend_sim.cli.cache"], "main", interrupted)
    assert cli.main(["cache"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_the_command_is_installed_under_its_name():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert 'ascend-sim = "ascend_sim.cli:main"' in project


def test_the_page_names_every_command_and_option():
    page = DOCUMENT.read_text(encoding="utf-8")
    _, commands, _ = _parser()
    options = {f"ascend-sim {name}" for name in commands} | {option for one in commands.values() for action in one._actions
                                                             for option in action.option_strings if option not in ("-h", "--help")}
    assert [option for option in sorted(options) if option not in page] == []


@pytest.mark.parametrize("count, expected", [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1 << 20, "1.0 MiB"), (3 << 40, "3072.0 GiB")])
def test_sizes_are_readable(count, expected):
    assert text.size(count) == expected
