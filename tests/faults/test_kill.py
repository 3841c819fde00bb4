"""kill -9 at random moments of a pack: the repository is at a commit, whole, and can be written again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

CHILD = str(Path(__file__).with_name("child.py"))
TRIALS = int(os.environ.get("ICECORE_KILLS", "30"))
SEED = int(os.environ.get("ICECORE_SEED", "20260"))


def start(source: Path, repo: str, group: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, CHILD, "pack", str(source), repo, group], stdout=subprocess.PIPE, text=True
    )
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
    seconds = time_of_a_pack(path, repo_path)
    rng = random.Random(SEED)
    outcomes = []
    for trial in range(TRIALS):
        tip = icecore.open(repo_path).snapshot_id
        process = start(path, repo_path, f"/trial{trial}")
        time.sleep(rng.uniform(0, 1.05) * seconds)
        process.kill()
        process.wait()
        committed = process.stdout is not None and process.stdout.read() == "done\n"
        outcomes.append(inspect(repo_path, f"/trial{trial}", tip, committed, made))
    assert outcomes.count("before the commit") >= TRIALS // 3, "the kills came too late to test anything"
    icecore.pack(path, repo_path, group="/after")
    repo = icecore.open(repo_path)
    for name, data in made.items():
        np.testing.assert_array_equal(repo[f"/after/{name}"].read(), data)
    assert repo.verify(deep=True) == []
    repo.gc()
    assert icecore.open(repo_path).verify(deep=True) == []


def time_of_a_pack(path: Path, repo: str) -> float:
    process = start(path, repo, "/timed")
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
    assert [entry["id"] for entry in repo.log()][1] == tip
    for name, data in made.items():
        np.testing.assert_array_equal(repo[f"{group}/{name}"].read(), data)
    return "after the commit"
