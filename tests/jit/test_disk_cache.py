# SPDX-License-Identifier: MIT
"""Is the cache of compiled kernels whole under concurrent processes, and bounded?"""

import os
import time

import pytest
from ascend_sim.jit import disk_cache


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_in_use", set())


def write(content, seconds=0.0):
    def make(at):
        for i in range(4):
            (at / f"part{i}").write_text(content)
            time.sleep(seconds / 4)
    return make


def names():
    return sorted(path.name for path in disk_cache.folder().iterdir())


def test_an_entry_is_made_once():
    first = disk_cache.entry("a", write("1"))
    assert disk_cache.entry("a", write("2")) == first
    assert (first / "part0").read_text() == "1"


@pytest.mark.parametrize("damage", [lambda path: (path / "part2").write_text(""), lambda path: (path / "part0").unlink(),
                                    lambda path: (path / ".files").write_text(""), lambda path: (path / ".files").write_bytes(b"\xff 0")])
def test_an_entry_that_lost_something_is_made_anew(damage):
    """As files are after a power failure."""
    damage(disk_cache.entry("a", write("1")))
    assert not disk_cache.has("a")
    assert (disk_cache.entry("a", write("2")) / "part2").read_text() == "2"
    assert disk_cache.has("a")


@pytest.mark.parametrize("damage", [b"", b"\x8f\x00\xff" * 9, b"truth", b"0" * 32 + b"\nlie"])
def test_an_answer_that_was_damaged_is_asked_again(damage, tmp_path, monkeypatch):
    asked = []

    def find_out():
        asked.append(1)
        return "truth, the same\nand more"
    for again in range(3):
        monkeypatch.setattr(disk_cache, "_remembered", {})         # as in a new process
        assert disk_cache.remembered("what", (1, 2), find_out) == "truth, the same\nand more"
        if again == 0:
            (kept,) = (tmp_path / "toolkit").glob("*/answer")
            kept.write_bytes(damage)
    assert len(asked) == 2


def test_a_failure_leaves_nothing():
    def fail(at):
        (at / "part0").write_text("half")
        raise KeyError("no")
    with pytest.raises(KeyError):
        disk_cache.entry("a", fail)
    assert names() == []


def test_processes_that_make_the_same_entry_at_once_all_find_it_whole():
    children = []
    for number in range(6):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                path = disk_cache.entry("a", write(str(number), seconds=0.1))
                parts = [file.read_text() for file in path.glob("part*")]
                status = 0 if len(set(parts)) == 1 and len(parts) == 4 else 2
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 6
    assert names() == ["a"]


def test_the_least_recently_used_go_when_it_is_full(monkeypatch):
    monkeypatch.setattr(disk_cache, "LIMIT_BYTES", 4 * 3000)
    for age, name in enumerate("cba"):
        path = disk_cache.entry(name, write("x" * 1000))
        os.utime(path, (time.time() - 100 * (3 - age),) * 2)
    monkeypatch.setattr(disk_cache, "_in_use", set())
    disk_cache.entry("c", write(""))                        # used again: now the youngest
    disk_cache.entry("d", write("x" * 1000))                # 4 * 4000 bytes: one too many
    assert names() == ["a", "c", "d"]


def test_what_this_process_uses_stays(monkeypatch):
    monkeypatch.setattr(disk_cache, "LIMIT_BYTES", 0)
    disk_cache.entry("a", write("x"))
    disk_cache.entry("b", write("x"))
    assert names() == ["a", "b"]


def test_leftovers_of_killed_processes_go_after_an_hour():
    old, new = (disk_cache.folder() / f".tmp-{name}" for name in ("old", "new"))
    old.mkdir()
    new.mkdir()
    os.utime(old, (time.time() - 4000,) * 2)
    disk_cache.trim()
    assert names() == [".tmp-new"]


def test_a_folder_is_hashed_by_its_files(tmp_path):
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "a.h").write_text("1")
    first = disk_cache.hash_of_tree(tmp_path / "h")
    assert disk_cache.hash_of_tree(tmp_path / "h") == first
    (tmp_path / "h" / "a.h").rename(tmp_path / "h" / "b.h")
    assert disk_cache.hash_of_tree(tmp_path / "h") != first


def test_what_is_there_is_counted_and_cleared_but_not_what_this_process_uses(monkeypatch, tmp_path):
    disk_cache.entry("a", write("12345"))
    disk_cache.entry("prefix-b", write("1"))
    disk_cache.entry("c", write("1"), within=tmp_path / "toolkit")
    assert disk_cache.summary() == (tmp_path, 1, 2, 4 * 5 + 4 + 4)
    disk_cache._in_use.clear()
    disk_cache.entry("a", write("12345"))
    assert disk_cache.clear() == (tmp_path, 1, 2, 28)
    assert disk_cache.summary() == (tmp_path, 1, 0, 20)
    assert disk_cache.summary().folder == tmp_path


def test_what_was_found_out_is_remembered_for_the_same_state(monkeypatch, tmp_path):
    asked = []

    def find_out():
        asked.append(1)
        return f"answer {len(asked)}"
    assert disk_cache.remembered("what", (1,), find_out) == "answer 1"
    monkeypatch.setattr(disk_cache, "_remembered", {})          # another process
    assert disk_cache.remembered("what", (1,), find_out) == "answer 1"
    assert disk_cache.remembered("what", (2,), find_out) == "answer 2"
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "file" / "below"))
    (tmp_path / "file").write_text("")                          # a cache that cannot be made
    assert disk_cache.remembered("what", (3,), find_out) == "answer 3"


def test_files_of_a_tree_are_named_with_their_folders(tmp_path):
    (tmp_path / "h" / "deep").mkdir(parents=True)
    for name in ("b.h", "deep/a.h", "deep/a.cpp", ".hidden.h"):
        (tmp_path / "h" / name).write_text("1")
    assert [name for name, *_ in disk_cache.state_of_tree(tmp_path / "h", ".h")] == ["b.h", "deep/a.h"]
