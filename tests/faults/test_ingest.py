"""A simulation appends while it is killed and while it is read: versions are whole, rows are not lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from child import step_of
from icecore.writing.array_writer import ArrayWriter

CHILD = str(Path(__file__).with_name("child.py"))
TRIALS = int(os.environ.get("ICECORE_KILLS", "12"))
SEED = int(os.environ.get("ICECORE_SEED", "20260"))


@pytest.fixture
def repo(repo_path: str) -> str:
    """Two empty arrays that grow together; a shard of the first takes ten steps."""
    with icecore.create(repo_path).writer() as writer:
        writer.array("/a", "f4", (0, 50, 60), chunks=(5, 25, 30), shards=(10, 50, 60), codec="lz4")
        writer.array("/b", "i8", (0,), chunks=(16,), shards=(64,))
    return repo_path


def start(repo: str, steps: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, CHILD, "ingest", repo, str(steps)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def check(repo: icecore.Repo) -> int:
    """All of a version is there and right; return its steps."""
    a, b = repo["/a"].read(), repo["/b"].read()
    assert len(a) == len(b)
    np.testing.assert_array_equal(b, np.arange(len(b)))
    for step, row in enumerate(a):
        np.testing.assert_array_equal(row, step_of(step))
    return len(b)


@pytest.mark.slow
def test_killed_at_any_point_only_the_uncommitted_is_lost(repo: str) -> None:
    rng = random.Random(SEED)
    certain = 0
    for _ in range(TRIALS):
        process = start(repo, 100_000)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.wait()
        assert process.stdout is not None
        said = [int(line) for line in process.stdout.read().splitlines()]
        certain = max([certain, *said])
        steps = check(icecore.open(repo))
        # what was said to be committed is; one more commit may have come through unsaid
        assert 0 <= steps - certain <= 7
        certain = steps
    last = icecore.open(repo)
    assert last.verify(deep=True) == []
    assert certain > 0, "the kills came too early to test anything"
    for commit in last.log()[:-2:5]:
        check(last.at(commit.id))
    # it goes on from there, over what the killed ones left behind
    process = start(repo, 50)
    process.communicate(timeout=60)
    assert check(icecore.open(repo)) == certain + 50


def test_a_reader_sees_whole_commits_only(repo: str) -> None:
    process = start(repo, 400)
    seen = set()
    while process.poll() is None:
        version = icecore.open(repo)
        steps = check(version)
        assert steps % 7 == 0 or steps == 400
        seen.add(steps)
    assert process.stdout is not None
    assert check(icecore.open(repo)) == 400
    assert len(seen) > 2, "the reader was too slow to test anything"


@pytest.mark.parametrize("rows", [1, 11])
@pytest.mark.parametrize("method", ["write", "_resize", "_update"])
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("options", [{}, {"commit_every": 3}])
def test_an_append_that_ctrl_c_broke_off_leaves_no_gap(
    repo: str,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    method: str,
    is_done: bool,
    options: dict[str, int],
) -> None:
    """A simulation that is stopped commits what it has: whole rows, in their order."""
    original = getattr(ArrayWriter, method)
    for broken in range(8):
        calls = 0

        def breaking(self: ArrayWriter, *given: Any, at: int = broken, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at + 1 and not is_done:
                raise KeyboardInterrupt
            result = original(self, *given, **named)
            if calls == at + 1:
                raise KeyboardInterrupt
            return result

        path = f"/x{broken}"
        sure: list[int] = []
        with icecore.open(repo).writer(**options) as writer:
            array = writer.array(path, "f8", (0, 5), chunks=(2, 5), shards=(4, 5), codec="none")
            monkeypatch.setattr(ArrayWriter, method, breaking)
            for number in range(0, 20 * rows, rows):
                try:
                    array.append(np.arange(number, number + rows)[:, None] + np.zeros(5))
                    sure += range(number, number + rows)
                except KeyboardInterrupt:
                    pass
            monkeypatch.setattr(ArrayWriter, method, original)
        found = icecore.open(repo)[path][...]
        assert (found == found[:, :1]).all()
        got = found[:, 0].astype(int).tolist()
        assert got == sorted(set(got))
        assert set(sure) <= set(got)


@pytest.mark.parametrize("kind", ["merged", "shortened"])
def test_an_array_that_was_being_made_anew_is_not_committed_in_part(
    repo: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Its short chunks are merged by a commit, or a small array gets short shards by the last one."""
    original, is_on = ArrayWriter.write, False

    def breaking(self: ArrayWriter, start: Any, rows: np.ndarray, **named: Any) -> None:
        if is_on and len(rows) > 1:  # older rows than the one that is appended
            raise KeyboardInterrupt
        original(self, start, rows, **named)

    monkeypatch.setattr(ArrayWriter, "write", breaking)
    writer = icecore.open(repo).writer()
    array = writer.array("/x", "f8", (0, 1000 if kind == "merged" else 100))
    count, stored = 0, 0

    def append() -> None:
        nonlocal count
        array.append(np.full(array.shape[1], count))
        count += 1

    def commits(appends: int) -> None:
        nonlocal stored
        for _ in range(appends):
            append()
            writer.commit()
            stored = count

    def ended() -> None:
        with writer:
            append()

    # the first rows get a chunk of their own at the second commit
    commits(2 if kind == "merged" else 1)
    is_on = True
    with pytest.raises(KeyboardInterrupt):
        commits(98) if kind == "merged" else ended()
    assert stored < count <= 100
    with pytest.raises(KeyboardInterrupt):
        writer.commit()  # what was broken off is set right first, which is broken off as well
    row = np.zeros(array.shape[1])
    assert icecore.open(repo)["/x"].shape == (stored, len(row))
    is_on = False
    writer.commit()
    assert array.shape == (count, len(row))
    np.testing.assert_array_equal(icecore.open(repo)["/x"].read(), np.arange(count)[:, None] + row)
