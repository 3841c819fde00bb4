"""Several processes commit to one local repository at once: nothing is lost, true conflicts are said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np

CHILD = str(Path(__file__).with_name("child.py"))


def start(*arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, CHILD, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert line(process) == "ready"
    return process


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_no_commit_is_lost(repo_path: str) -> None:
    icecore.create(repo_path)
    names, count = ["a", "b", "c", "d"], 6
    writers = [start("commits", repo_path, name, str(count)) for name in names]
    for process in writers:
        go(process)
    assert [line(process) for process in writers] == ["done"] * len(names)
    for process in writers:
        process.communicate()
    repo = icecore.open(repo_path)
    assert sorted(repo.arrays) == sorted(f"/{name}/{i}" for name in names for i in range(count))
    for path, array in repo.arrays.items():
        np.testing.assert_array_equal(array.read(), np.arange(200) + int(path.rsplit("/", 1)[1]))
    messages = [entry.message for entry in repo.log()]
    assert sorted(messages[:-1]) == sorted(f"{name} {i}" for name in names for i in range(count))
    assert repo.verify(deep=True) == []


def test_the_same_node_twice_is_a_conflict(repo_path: str) -> None:
    icecore.create(repo_path)
    one, two = start("same-node", repo_path, "1"), start("same-node", repo_path, "2")
    for process in (one, two):
        go(process)
        assert line(process) == "written"
    go(one)
    assert line(one) == "committed"
    go(two)
    answer = line(two)
    assert answer.startswith("conflict: ")
    assert "/same" in answer
    for process in (one, two):
        process.communicate()
    repo = icecore.open(repo_path)
    np.testing.assert_array_equal(repo["/same"].read(), np.full(500, 1))
    assert repo.verify(deep=True) == []


def test_a_reader_keeps_its_version(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as writer:
        writer.array("/x", dtype="i4", shape=(100,), chunks=(10,))[...] = 1
    reader = icecore.open(repo_path)
    with icecore.open(repo_path).writer() as writer:
        writer["/x"][...] = 2
    assert (reader["/x"].read() == 1).all()
    assert (icecore.open(repo_path)["/x"].read() == 2).all()
    assert reader.snapshot_id != icecore.open(repo_path).snapshot_id


def test_an_exception_commits_nothing(repo_path: str) -> None:
    repo = icecore.create(repo_path)
    try:
        with repo.writer() as writer:
            writer.array("/x", dtype="i4", shape=(100,))[...] = 1
            raise RuntimeError("the simulation failed")
    except RuntimeError:
        pass
    now = icecore.open(repo_path)
    assert now.snapshot_id == repo.snapshot_id
    assert "/x" not in now
