"""Commits survive a power failure: a log of what a process did to a directory is replayed without a part of
what was not synchronised.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import icecore
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs LD_PRELOAD and a C compiler"
)

#: each verb that commits is followed by its acknowledgement: the names that the repository then has
CHILD = """
import os, sys, json
import icecore, numpy as np
home = sys.argv[1]
place = home + "/r.icecore"
def done(*names):
    with open(os.environ["DISK_LOG"], "a") as log: log.write("done\\t" + " ".join(names) + "\\t\\t0\\n")
np.save(home + "/x.npy", np.arange(3000.0).reshape(30, 100))
repo = icecore.create(place); done()
icecore.pack(home + "/x.npy", repo, group="/packed", chunk=(10, 100), shard=(10, 100)); done("/packed/x")
icecore.link(home + "/x.npy", repo, group="/linked"); done("/linked/x")
with repo.writer("small") as w: w.array("/small", "i4", (3,))[...] = 7
done("/small")
with repo.writer("grow") as w:
    w.array("/grows", "f8", (0, 100), chunks=(10, 100), codec="none").append(np.ones((10, 100)))
done("/grows")
with repo.writer("append") as w: w["/grows"].append(np.ones((10, 100)))
done("/grows:20")
repo.tag("v1"); done("tag:v1")
repo.branch("b"); done("branch:b")
with repo.writer("on a branch", branch="b") as w: w.array("/only_b", "f8", (100,), codec="none")[...] = 1
done("b:/only_b")
with repo.writer("replaced") as w: w["/packed/x"][...] = 1
done("/packed/x=1")
from datetime import timedelta; repo.gc(timedelta(0))
done()
from icecore.writing.fork import Fork, taken
with repo.writer("to fork") as w: w.array("/forked", "f8", (20, 100), chunks=(10, 100), codec="none")
with repo.writer("forked") as w:
    fork = Fork.of(w).writer(); fork["/forked"][0:10] = np.ones((10, 100))
    for path, chunks in taken(fork).items(): chunks.merge(w, path)
done("/forked:filled")
with repo.writer("a Zarr store") as w:
    import zarr
    made = zarr.create_array(w.store(), name="zarr", shape=(20, 100), chunks=(10, 100), dtype="f8")
    made[...] = 1
done("/zarr")
"""


@dataclass
class Node:
    """A file's content, and whether it is on disk."""

    copy: Path
    synced: bool = False


@dataclass
class Disk:
    """Names and contents as a power failure may leave them."""

    chance: random.Random
    names: dict[str, Node] = field(default_factory=dict)
    #: names of synchronised directories; of the others' entries any may be on disk
    durable: dict[str, Node | None] = field(default_factory=dict)
    pending: dict[str, list[Node | None]] = field(default_factory=dict)
    synced: set[str] = field(default_factory=set)

    def enter(self, name: str, node: Node | None) -> None:
        if node is None:
            self.names.pop(name, None)
        else:
            self.names[name] = node
        self.pending.setdefault(name, []).append(node)

    def sync(self, path: str) -> None:
        if path in self.names:
            self.names[path].synced = True
        self.synced.add(path)
        for name in [name for name in self.pending if os.path.dirname(name) == path]:
            self.durable[name] = self.pending.pop(name)[-1]

    def left(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name in {*self.durable, *self.pending}:
            states = [self.durable.get(name), *self.pending.get(name, [])]
            node = self.chance.choice(states)
            if node is not None:
                whole = node.copy.read_bytes()
                found[name] = whole if node.synced or self.chance.random() < 0.5 else b""
        return found


Event = tuple[str, str, str, str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    home = tmp_path_factory.mktemp("power")
    copies = home / "copies"
    copies.mkdir()
    library = home / "disk_log.so"
    source = Path(__file__).with_name("disk_log.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    log = home / "log"
    environment = {k: v for k, v in os.environ.items() if k != "ICECORE_SYNC"}
    environment |= {"LD_PRELOAD": str(library), "DISK_LOG": str(log), "DISK_COPIES": str(copies)}
    subprocess.run([sys.executable, "-c", CHILD, str(home)], env=environment, check=True, timeout=100)
    events = [tuple(line.rstrip("\n").split("\t")) for line in log.read_text().splitlines()]
    return home, [event for event in events if len(event) == 4]  # type: ignore[misc]


def _replayed(home: Path, events: list[Event], chance: random.Random) -> Disk:
    disk = Disk(chance)
    place = str(home / "r.icecore")
    (pid,) = {path.name.partition("-")[0] for path in (home / "copies").iterdir()}
    for what, a, b, copy in events:
        if what == "sync":
            disk.sync(a)
        elif what in ("rename", "link") and b.startswith(place):
            node = disk.names.get(a) or Node(home / "copies" / f"{pid}-{copy}", a in disk.synced)
            if what == "rename" and a in disk.names:
                disk.enter(a, None)
            disk.enter(b, node)
        elif what == "unlink" and a in disk.names:
            disk.enter(a, None)
    return disk


def _check(place: Path, promised: list[str]) -> None:
    repo = icecore.open(place)
    for name in promised:
        if name.startswith("tag:"):
            assert name[4:] in repo.tags
        elif name.startswith("branch:"):
            assert name[7:] in repo.branches
        elif name.startswith("b:"):
            assert (icecore.open(f"{place}@b")[name[2:]][...] == 1).all()
        elif name.endswith(":20"):
            assert repo[name[:-3]].shape[0] == 20
            assert (repo[name[:-3]][...] == 1).all()
        elif name.endswith(":filled"):
            assert (repo[name[:-7]][:10] == 1).all()
        elif name.endswith("=1"):
            assert (repo[name[:-2]][...] == 1).all()
        else:
            assert np.isfinite(repo[name][...]).all()
    problems = repo.verify()
    assert not problems, problems


@pytest.mark.parametrize("seed", range(6))
def test_every_acknowledged_commit_is_whole_after_a_power_failure(
    recorded: tuple[Path, list[Event]], tmp_path: Path, seed: int
) -> None:
    home, events = recorded
    chance = random.Random(seed)
    starts = [i for i, event in enumerate(events) if event[0] == "done"]
    for trial in range(12):
        cut = chance.randrange(starts[0] + 1, len(events) + 1)
        promised = [name for event in events[:cut] if event[0] == "done" for name in event[1].split()]
        left = _replayed(home, events[:cut], chance).left()
        place = tmp_path / f"{trial}.icecore"
        for name, content in left.items():
            target = place / os.path.relpath(name, home / "r.icecore")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        _check(place, promised)
        with icecore.open(place).writer("afterwards") as writer:
            writer.array("/afterwards", "i4", (2,))[...] = trial


def test_content_is_on_disk_before_the_root_object_names_it(recorded: tuple[Path, list[Event]]) -> None:
    home, events = recorded
    place = str(home / "r.icecore")
    synced: set[str] = set()
    written: set[str] = set()
    published = folder = 0
    for what, a, b, _ in events:
        if what == "sync":
            synced.add(a)
            folder += a == place and published > 0
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


def test_scratch_data_is_not_synchronised(tmp_path: Path, recorded: tuple[Path, list[Event]]) -> None:
    home, _ = recorded
    code = (
        "import icecore, sys\n"
        "repo = icecore.create(sys.argv[1], storage={'sync': False})\n"
        "with repo.writer('x') as w: w.array('/x', 'i4', (3,))[...] = 1\n"
    )
    log = tmp_path / "log"
    environment = {**os.environ, "LD_PRELOAD": str(home / "disk_log.so"), "DISK_LOG": str(log)}
    environment["DISK_COPIES"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "r")], env=environment, check=True, timeout=60)
    assert not [line for line in log.read_text().splitlines() if line.startswith("sync")]


def test_outputs_are_on_disk_before_they_have_their_name(
    tmp_path: Path, recorded: tuple[Path, list[Event]]
) -> None:
    home, _ = recorded
    log = tmp_path / "log"
    environment = {**os.environ, "LD_PRELOAD": str(home / "disk_log.so"), "DISK_LOG": str(log)}
    environment["DISK_COPIES"] = str(tmp_path)
    command = [sys.executable, "-m", "icecore", "read", str(home / "r.icecore"), "/small", "-o"]
    subprocess.run([*command, str(tmp_path / "out.npy")], env=environment, check=True, timeout=60)
    events = [line.split("\t") for line in log.read_text().splitlines()]
    at = next(i for i, event in enumerate(events) if event[0] == "rename" and event[2].endswith("out.npy"))
    assert ["sync", events[at][1]] in [event[:2] for event in events[:at]]
    assert ["sync", str(tmp_path)] in [event[:2] for event in events[at:]]
