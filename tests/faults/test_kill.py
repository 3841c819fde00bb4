"""kill -9 at random moments: the repository is at a commit, whole, and can be written again."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.tables.text.restore import restore

CHILD = str(Path(__file__).with_name("child.py"))
TRIALS = int(os.environ.get("ICECORE_KILLS", "30"))
SEED = int(os.environ.get("ICECORE_SEED", "20260"))


def start(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, CHILD, *(str(word) for word in words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    """A file that takes a good part of a second to pack, and what is in it."""
    path = tmp_path_factory.mktemp("source") / "x.h5"
    rng = np.random.default_rng(3)
    made = {f"a{i}": rng.normal(size=(160, 100, 100)).astype("f4") for i in range(4)}
    with h5py.File(path, "w") as file:
        for name, data in made.items():
            file.create_dataset(name, data=data, chunks=(20, 100, 100))
    return path, made


@pytest.mark.slow
def test_killed_packs_leave_whole_versions(
    source: tuple[Path, dict[str, np.ndarray]], repo_path: str
) -> None:
    path, made = source
    with icecore.create(repo_path).writer(message="first") as writer:
        writer.array("/before", dtype="i8", shape=(1000,), chunks=(100,))[...] = np.arange(1000)
    seconds = time_of("pack", path, repo_path, "/timed")
    rng = random.Random(SEED)
    outcomes = []
    for trial in range(TRIALS):
        tip = icecore.open(repo_path).snapshot_id
        committed = killed(rng.uniform(0, 1.05) * seconds, "pack", path, repo_path, f"/trial{trial}")
        outcomes.append(inspect(repo_path, f"/trial{trial}", tip, committed, made))
    assert outcomes.count("before the commit") >= TRIALS // 3, "the kills came too late to test anything"
    icecore.pack(path, repo_path, group="/after")
    repo = icecore.open(repo_path)
    for name, data in made.items():
        np.testing.assert_array_equal(repo[f"/after/{name}"].read(), data)
    assert repo.verify(deep=True) == []
    repo.gc()
    assert icecore.open(repo_path).verify(deep=True) == []


def killed(after: float, *words: object) -> bool:
    """Start, kill after so many seconds; whether it was done by then."""
    process = start(*words)
    time.sleep(after)
    process.kill()
    process.wait()
    return process.stdout is not None and process.stdout.read() == "done\n"


def time_of(*words: object) -> float:
    process = start(*words)
    began = time.monotonic()
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    seconds = time.monotonic() - began
    process.wait()
    return seconds


def inspect(path: str, group: str, tip: str, committed: bool, made: dict[str, np.ndarray]) -> str:
    """Where the repository stands after a kill; all that may be is before the commit, or after it, whole."""
    repo = icecore.open(path)
    assert repo.verify(deep=True) == []
    np.testing.assert_array_equal(repo["/before"].read(), np.arange(1000))
    if repo.snapshot_id == tip:
        assert not committed
        assert group not in repo
        return "before the commit"
    assert [entry.id for entry in repo.log()][1] == tip
    for name, data in made.items():
        np.testing.assert_array_equal(repo[f"{group}/{name}"].read(), data)
    return "after the commit"


@pytest.mark.slow
def test_killed_packs_of_tables(tmp_path: Path, repo_path: str) -> None:
    """A table is there with all its text, or not at all."""
    path, rng = tmp_path / "t.csv", random.Random(SEED)
    rows = "".join(f"{i},{rng.random():.9f},w{rng.randrange(10**6)}\n" for i in range(20_000))
    path.write_text("n,v,word\n" + rows)
    icecore.create(repo_path)
    seconds = time_of("pack", path, repo_path, "/timed")
    for trial in range(TRIALS // 6):
        tip = icecore.open(repo_path).snapshot_id
        committed = killed(rng.uniform(0, 1.2) * seconds, "pack", path, repo_path, f"/t{trial}")
        repo = icecore.open(repo_path)
        assert repo.verify(deep=True) == []
        assert (f"/t{trial}" in repo) == (repo.snapshot_id != tip)
        if repo.snapshot_id == tip:
            assert not committed
            continue
        restore(repo, f"/t{trial}", tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_killed_collections(repo_path: str) -> None:
    """Nothing that a version needs is ever gone, and the next collection ends the work."""
    rng = random.Random(SEED)
    with icecore.create(repo_path).writer() as writer:
        writer.array("/kept", dtype="f8", shape=(300,), codec="none")[...] = 1
    snapshots = Path(repo_path) / "snapshots"
    seconds, sizes = 0.0, []
    # where the machine got faster since the first one was timed, all may end before they are killed
    for trial in itertools.count():
        if trial >= TRIALS // 5 and (max(sizes) > 2 or trial > 40):
            break
        repo = icecore.open(repo_path)
        repo.branch("b")
        for i in range(8):
            with repo.writer(branch="b") as writer:
                writer.array(f"/lost{i}", dtype="f8", shape=(300,), codec="none")[...] = trial
        repo.delete_branch("b")
        if trial == 0:
            seconds = time_of("collect", repo_path)
        else:
            killed(rng.uniform(0, 1) * seconds, "collect", repo_path)
        sizes.append(len(list(snapshots.iterdir())))
        if sizes[-1] == 2:
            seconds *= 0.8
        assert icecore.open(repo_path).verify(deep=True, history=True) == []
    assert max(sizes) > 2
    icecore.open(repo_path).gc(timedelta(0))
    repo = icecore.open(repo_path)
    assert repo.verify(deep=True, history=True) == []
    assert repo["/kept"].read().tolist() == [1] * 300
    assert len(list(snapshots.iterdir())) == 2
