"""Commits survive a crash of the machine: everything is on disk before it is named and acknowledged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import icecore
import pytest
from crash_kit import CHILD, NEEDS, WRITERS, Recording, check_all, environment, record

pytestmark = pytest.mark.skipif(not NEEDS, reason="needs LD_PRELOAD and a C compiler")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("power"), CHILD)


@pytest.mark.parametrize("seed", range(4))
def test_every_acknowledged_commit_is_whole_after_a_crash(
    recorded: Recording, tmp_path: Path, seed: int
) -> None:
    assert check_all(recorded, tmp_path, 60, seed) == 60


def test_commits_of_two_writers_are_whole_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    recording = record(tmp_path / "run", WRITERS)
    assert check_all(recording, tmp_path, 60, 0) == 60


def test_content_is_on_disk_before_the_root_object_names_it(recorded: Recording) -> None:
    place = recorded.place
    synced: set[str] = set()
    written: set[str] = set()
    published = folder = 0
    for what, a, b, _ in recorded.events:
        if what == "sync":
            synced.add(a)
            folder += a == place and published > 0
        elif what == "write":
            synced.discard(a)
        elif what in ("rename", "link") and b.startswith(place + "/"):
            if a in synced:
                synced.add(b)
            if b == f"{place}/repo":
                published += 1
                assert a in synced
                assert not written - synced
                folder = 0
            elif "/seals/" not in b and ".icecore.lock" not in b:  # an empty seal counts as absent
                written.add(b)
        elif what == "unlink":
            written.discard(a)
        elif what == "done":
            assert folder > 0
    assert published >= 12


#: ways to write scratch data: the default of the process, the code, whether it synchronises
SCRATCH = {
    "created": ("full", "repo = icecore.create(place, durability='none'); write(repo.writer())", False),
    "opened": ("full", "made(); write(icecore.open(place, durability='none').writer())", False),
    "writer": ("full", "made(); write(icecore.open(place).writer(durability='none'))", False),
    "storage": ("full", "made(); write(icecore.open(place, storage={'durability': 'none'}).writer())", False),
    "packed": ("full", "icecore.pack(file, place, durability='none')", False),
    "linked": ("full", "icecore.link(file, place, durability='none')", False),
    "packed into": ("full", "made(); icecore.pack(file, icecore.open(place), durability='none')", False),
    "environment": ("none", "write(icecore.create(place).writer())", False),
    "command": (
        "full",
        "from icecore.cli import run; run(['pack', file, '--into', place, '--durability', 'none'])",
        False,
    ),
    "option before environment": ("none", "write(icecore.create(place, durability='full').writer())", True),
    "writer before environment": (
        "none",
        "made(); write(icecore.open(place).writer(durability='full'))",
        True,
    ),
}
DECLARED = """
import os, sys, icecore, numpy as np
place, file = sys.argv[1] + "/r.icecore", sys.argv[1] + "/x.npy"
np.save(file, np.arange(10.0))
def made():
    icecore.create(place, durability="none")
def write(writer):
    with writer as w: w.array("/x", "i4", (3,))[...] = 1
"""


@pytest.mark.parametrize("how", SCRATCH)
def test_scratch_data_is_not_synchronised(tmp_path: Path, recorded: Recording, how: str) -> None:
    durability, code, is_synchronised = SCRATCH[how]
    log = tmp_path / "log"
    settings = environment(recorded.home, log, tmp_path, durability)
    command = [sys.executable, "-c", DECLARED + code, str(tmp_path)]
    subprocess.run(command, env=settings, check=True, timeout=60)
    assert icecore.open(tmp_path / "r.icecore").arrays
    synchronised = [line for line in log.read_text().splitlines() if line.startswith("sync")]
    assert bool(synchronised) == is_synchronised, synchronised


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    for work in (
        lambda: icecore.create(tmp_path / "r", durability="low"),
        lambda: icecore.create(tmp_path / "r", storage={"durability": "low"}),
    ):
        with pytest.raises(icecore.Error, match=r"durability \"low\" is unknown") as caught:
            work()
        assert caught.value.kind == "invalid"
        assert not (tmp_path / "r").exists()


def test_outputs_are_on_disk_before_they_have_their_name(tmp_path: Path, recorded: Recording) -> None:
    log = tmp_path / "log"
    settings = environment(recorded.home, log, tmp_path)
    command = [sys.executable, "-m", "icecore", "read", recorded.place, "/small", "-o"]
    subprocess.run([*command, str(tmp_path / "out.npy")], env=settings, check=True, timeout=60)
    events = [line.split("\t") for line in log.read_text().splitlines()]
    at = next(i for i, event in enumerate(events) if event[0] == "rename" and event[2].endswith("out.npy"))
    assert ["sync", events[at][1]] in [event[:2] for event in events[:at]]
    assert ["sync", str(tmp_path)] in [event[:2] for event in events[at:]]
