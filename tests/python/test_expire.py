"""Expiration of versions: which stay, what is freed, and that nothing else is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.cli import table
from icecore.repository.history.versions import kept
from icecore.repository.results import Commit
from typer.testing import CliRunner

RNG = np.random.default_rng(4)


def grow(path: Path, commits: int) -> dict[str, np.ndarray]:
    """Overwrite 20 kB of noise in each commit; return version → data."""
    icecore.create(path)
    found = {}
    for number in range(commits):
        data = RNG.integers(0, 256, 20_000, "u1")
        with icecore.open(path).writer(f"commit {number}") as w:
            (w["/x"] if number else w.array("/x", "u1", data.shape, codec="none"))[...] = data
        found[icecore.open(path).snapshot_id] = data
    return found


def end_leases(path: Path, seconds: float = 3700) -> None:
    for mark in (path / "expired").iterdir():
        os.utime(mark, (time.time() - seconds,) * 2)


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path / "chunks").iterdir())


def history(days: list[float]) -> list[Commit]:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    times = [start + timedelta(days=day) for day in sorted(days, reverse=True)]
    return [Commit(str(number), None, "", time) for number, time in enumerate(times)]


def test_rules() -> None:
    """Commits 0 and 1 on one day, 2 on the day before, 3 to 5 five days earlier."""
    commits = history([10.9, 10.1, 9.5, 4.9, 4.5, 4.1])
    assert kept([commits], 2, None) == {"0", "1"}
    assert kept([commits], None, 2) == {"0", "2"}
    assert kept([commits], None, 9) == {"0", "2", "3"}
    assert kept([commits], 2, 3) == {"0", "1", "2", "3"}
    assert kept([commits], 0, None) == set()
    assert kept([commits, []], 99, None) == {*"012345"}
    for bad in ((None, None), (-1, None), (None, 1.5), (True, None)):
        with pytest.raises(icecore.Error) as caught:
            kept([commits], *bad)  # type: ignore[arg-type]
        assert caught.value.kind == "invalid"


def test_old_versions_go_and_the_rest_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "r"
    data = grow(path, 8)
    ids = list(data)
    repo = icecore.open(path)
    repo.tag("good", ids[2])
    repo.branch("side", ids[4])
    changes = repo.diff(ids[2], ids[7]).to_dict()
    held = repo.held(2, None)
    assert [*held.alone][:8] == ids[::-1]
    assert all(20_000 <= held.alone[version] <= 24_000 for version in ids)
    reader = icecore.open(f"{path}@{ids[3]}")
    planned = repo.expire(keep_last=2, dry_run=True)
    assert planned.released == icecore.open(path).held(2, None).expiring == held.expiring
    # each branch keeps two: 7 and 6 of main, 4 and 3 of side
    assert {*planned.released} == {ids[0], ids[1], ids[5]}
    assert 60_000 <= planned.bytes == held.freed <= 72_000
    done = repo.expire(keep_last=2)
    assert (done.released, done.bytes, done.kept) == (planned.released, planned.bytes, 6)
    before = size(path)
    assert icecore.open(path).gc(timedelta(0)).chunks == 0, "readers of the last hour"
    end_leases(path, 3000)
    assert icecore.open(path).gc(timedelta(0)).chunks == 0
    end_leases(path)
    assert icecore.open(path).gc(timedelta(0)).chunks == 3
    assert before - size(path) == pytest.approx(60_000, abs=20)
    for version in (*ids[2:5], *ids[6:]):
        np.testing.assert_array_equal(icecore.open(f"{path}@{version}")["/x"].read(), data[version])
    np.testing.assert_array_equal(reader["/x"].read(), data[ids[3]])
    after = icecore.open(path)
    assert [commit.id for commit in after.log()][:-1] == [ids[7], ids[6], ids[4], ids[3], ids[2]]
    assert after.diff(ids[2], ids[7]).to_dict() == changes
    assert after.verify(deep=True, history=True) == []
    with pytest.raises(icecore.Error) as caught:
        icecore.open(f"{path}@{ids[0]}")
    assert caught.value.kind == "not-found"
    assert after.expire(keep_last=2).released == []


def test_killed_at_any_point_it_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r"
    data = grow(path, 12)
    ids = list(data)
    rng = random.Random(3)
    for keep in (9, 7, 5, 3, 2):
        child = os.fork()
        if not child:
            try:
                repo = icecore.open(path)
                repo.expire(keep_last=keep)
                end_leases(path)
                repo.gc(timedelta(0))
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        repo = icecore.open(path)
        assert repo.verify(history=True) == []
        for version in ids[-keep:]:
            np.testing.assert_array_equal(repo.at(version)["/x"].read(), data[version])
    repo = icecore.open(path)
    repo.expire(keep_last=2)
    end_leases(path)
    repo.gc(timedelta(0))
    assert size(path) == pytest.approx(40_000, abs=20)


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "r"
    ids = list(grow(path, 4))

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(table(), [arguments[0], str(path), *arguments[1:]])
        assert done.exit_code == 0, done.output
        return done.output

    assert "4 versions, kept" not in run("expire", "--keep-last", "30", "--dry-run")
    report = json.loads(run("expire", "--keep-last", "1", "--keep-daily", "1", "--keep-tags", "--json"))
    assert sorted(report["released"]) == sorted(ids[:3])
    facts = json.loads(run("info", "--versions", "--json"))["versions"]
    assert facts["alone"][0]["id"] == ids[3]
    assert facts["alone"][0]["bytes"] >= 20_000
    assert "alone" in run("info", "--versions")
    bare = CliRunner().invoke(table(), ["expire", str(path)])
    assert bare.exit_code != 0
