"""Commits of eight processes on the file systems that this machine can mount; four are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import icecore
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from test_no_locks import COMMITS, commits_with_killed_writers

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="needs loop devices"),
]
#: file system → command that makes it in a file
MAKERS = {"ext4": "mkfs.ext4 -q -F", "xfs": "mkfs.xfs -q", "btrfs": "mkfs.btrfs -q", "vfat": "mkfs.vfat"}
SIZE = 400 << 20


@pytest.fixture(params=["here", "tmpfs", "overlay", "nfs4", *MAKERS])
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory on a file system of that kind."""
    kind, point = request.param, tmp_path / "mounted"
    point.mkdir()
    if kind == "here":
        yield point
        return
    if os.getuid() != 0:
        pytest.skip("mounting needs root")
    _mount(kind, tmp_path, point)
    yield point
    subprocess.run(["umount", point], check=False)


def _mount(kind: str, home: Path, point: Path) -> None:
    if kind == "tmpfs":
        command = ["mount", "-t", "tmpfs", "tmpfs", str(point)]
    elif kind == "overlay":
        for name in ("lower", "upper", "work"):
            (home / name).mkdir()
        layers = f"lowerdir={home}/lower,upperdir={home}/upper,workdir={home}/work"
        command = ["mount", "-t", "overlay", "overlay", "-o", layers, str(point)]
    elif kind == "nfs4":
        if shutil.which("exportfs") is None:
            pytest.skip("no NFS server on this machine")
        (home / "exported").mkdir()
        _run(["exportfs", "-o", "rw,no_root_squash,insecure,fsid=7", f"127.0.0.1:{home}/exported"])
        command = ["mount", "-t", "nfs4", f"127.0.0.1:{home}/exported", str(point)]
    else:
        maker = MAKERS[kind].split()
        if shutil.which(maker[0]) is None:
            pytest.skip(f"no {maker[0]}")
        image = home / "image"
        with image.open("wb") as file:
            file.truncate(SIZE)
        _run([*maker, str(image)])
        command = ["mount", "-o", "loop", str(image), str(point)]
    _run(command)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} {command[-2]}: {done.stderr.strip().splitlines()[-1:]}")


def test_no_commit_of_eight_processes_is_lost(mounted: Path) -> None:
    place = mounted / "r.icecore"
    icecore.create(place)
    command = [sys.executable, "-c", COMMITS, str(place)]
    running = [subprocess.Popen([*command, str(i), "20"]) for i in range(8)]
    assert [process.wait(timeout=250) for process in running] == [0] * 8
    assert len(icecore.open(place).arrays) == 160
    assert len(icecore.open(place).log()) == 161


def test_killed_writers_leave_no_lock(mounted: Path) -> None:
    icecore.create(mounted / "r.icecore")
    commits_with_killed_writers(mounted / "r.icecore", {**os.environ, "ICECORE_DURABILITY": "full"}, 10)
