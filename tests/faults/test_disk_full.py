"""A full disk, or a limit on the size of files: an error, and the repository stays at its last commit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import icecore
import numpy as np
import pytest

CHILD = str(Path(__file__).with_name("child.py"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB; only root may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no permission to mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(repo: str, group: str, limit: int) -> str:
    command = [sys.executable, CHILD, "fill", repo, group, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def first_commit(path: str) -> str:
    with icecore.create(path).writer() as writer:
        writer.array("/before", dtype="i8", shape=(1000,), chunks=(100,))[...] = np.arange(1000)
    return icecore.open(path).snapshot_id


def check(path: str, tip: str) -> None:
    repo = icecore.open(path)
    assert repo.snapshot_id == tip
    np.testing.assert_array_equal(repo["/before"].read(), np.arange(1000))
    assert repo.verify(deep=True) == []


def test_a_full_disk(small_disk: Path) -> None:
    path = str(small_disk / "r.icecore")
    tip = first_commit(path)
    answer = fill(path, "/g", 0)
    assert answer.startswith("io: "), answer
    check(path, tip)
    # what the failed pack left behind can be cleared away, and there is room again
    icecore.open(path).gc()
    with icecore.open(path).writer() as writer:
        writer.array("/later", dtype="i8", shape=(1000,))[...] = np.arange(1000)
    repo = icecore.open(path)
    np.testing.assert_array_equal(repo["/later"].read(), np.arange(1000))
    assert repo.verify(deep=True) == []


def test_a_disk_too_full_to_make_a_repository(small_disk: Path) -> None:
    np.save(small_disk / "x.npy", np.arange(1000))
    with (small_disk / "fill").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 12)):
            pass
    with pytest.raises(icecore.Error, match="free some space"):
        icecore.pack(small_disk / "x.npy", small_disk / "r.icecore")
    (small_disk / "fill").unlink()
    icecore.pack(small_disk / "x.npy", small_disk / "r.icecore")
    assert icecore.open(small_disk / "r.icecore").verify(deep=True) == []


@pytest.mark.parametrize("limit", [100_000, 2000, 100])
def test_a_limit_on_the_size_of_files(repo_path: str, limit: int) -> None:
    tip = first_commit(repo_path)
    answer = fill(repo_path, "/g", limit)
    assert answer.startswith("io: "), answer
    assert "ulimit -f" in answer, "to free space would not help"
    check(repo_path, tip)


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(icecore.Error) as caught:
        icecore.create(tmp_path / "file" / "x.icecore")
    assert caught.value.kind in ("io", "permission", "exists", "invalid", "not-found")
