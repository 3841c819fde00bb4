"""gc where something can't be deleted: it says what, and the rest is as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore import cli

#: an age that every object has, whatever the clock of its store says
EVERYTHING = timedelta(minutes=-1)


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[list[Path]]:
    """Copies of the root object, of which the system lets none be deleted."""
    repo = tmp_path / "r.icecore"
    icecore.create(repo)
    for number in range(4):
        with icecore.open(repo).writer(str(number)) as writer:
            writer.array(f"/a{number}", "i4", (3,))[...] = np.arange(3)
    found = sorted((repo / "overwritten").iterdir())
    held = []
    try:
        if os.geteuid():
            found[0].parent.chmod(0o555)
        else:  # who may delete everything, but not what a file system is mounted on
            for path in found:
                done = subprocess.run(["mount", "--bind", path, path], capture_output=True, check=False)
                if done.returncode:
                    pytest.skip("no permission to mount")
                held.append(path)
        yield found
    finally:
        for path in held:
            subprocess.run(["umount", "-l", path], check=True)
        found[0].parent.chmod(0o755)


def test_copies_that_cannot_be_deleted(
    tmp_path: Path, copies: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    repo = tmp_path / "r.icecore"
    wished = icecore.open(repo).gc(EVERYTHING, dry_run=True).remains
    assert wished == len(copies) - 1
    report = icecore.open(repo).gc(EVERYTHING)
    assert (report.failed, report.remains) == (wished, 0)
    assert len(report.errors) == wished
    assert all(path.exists() for path in copies)
    assert cli.run(["gc", str(repo), "--older-than", "0s"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("deleted ")
    assert err.startswith("could not delete ")
    assert "overwritten" in err
    assert icecore.open(repo)["/a3"][...].tolist() == [0, 1, 2]
    assert icecore.open(repo).verify(history=True) == []


def test_a_dry_run_needs_no_lock(tmp_path: Path) -> None:
    """It changes nothing: who may only read can ask, and nobody waits for a writer."""
    fcntl = pytest.importorskip("fcntl")
    repo = icecore.create(tmp_path / "r.icecore", storage={"lock_timeout": "0"})
    with (tmp_path / "r.icecore" / ".icecore.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert repo.gc(dry_run=True).dry_run
        with pytest.raises(icecore.Error, match="held by another writer"):
            repo.gc()
