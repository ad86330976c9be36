# SPDX-License-Identifier: MIT
"""Does `ascend-sim cache` show what is there, and does --clear remove ours and nothing else?"""

import json

import pytest
from ascend_sim import cli


@pytest.fixture
def folders(monkeypatch, tmp_path):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / "theirs"))
    for name, size in (("ours/jit/abc/kernel.so", 1000), ("ours/jit/prefix-1/prefix.h.gch", 2000), ("theirs/0.1.15/kernel.cpp", 300)):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * size)
    return tmp_path


def test_shows_both(folders, capsys):
    assert cli.main(["cache"]) == 0
    said = capsys.readouterr().out
    assert "1 kernels, 1 others, 2.9 KiB of at most 1.0 GiB" in said and "300 bytes, not bounded" in said
    assert cli.main(["cache", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernels"], found["others"], found["bytes"], found["tilelang_bytes"]) == (1, 1, 3000, 300)


def test_clear_removes_ours_only(folders, capsys):
    assert cli.main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.startswith("removed 1 kernels and 1 others, 2.9 KiB\n")
    assert list((folders / "ours" / "jit").iterdir()) == [] and (folders / "theirs/0.1.15/kernel.cpp").exists()


def test_a_cache_that_is_not_there_is_empty(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / "none either"))
    assert cli.main(["cache", "--clear"]) == 0
    said = capsys.readouterr().out
    assert "0 kernels" in said and "not there" in said and not (tmp_path / "none").exists()
