"""States of a disk after a crash: a log of what processes did is replayed without a part of what was not
synchronised.

The model is the weakest that POSIX allows. Of a file that was not synchronised the content may be missing,
cut between sectors, zero or whole. Of names in a directory that was not synchronised since, each may be as
it was after any of its changes, independently of the others. A file whose directory is not on disk is not
there.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import icecore
import numpy as np

NAME = "r.icecore"
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
#: two processes commit at the same time
WRITERS = """
import os, sys, subprocess
import icecore, numpy as np
home = sys.argv[1]
place = home + "/r.icecore"
def done(*names):
    with open(os.environ["DISK_LOG"], "a") as log: log.write("done\\t" + " ".join(names) + "\\t\\t0\\n")
if len(sys.argv) == 2:
    icecore.create(place); done()
    both = [subprocess.Popen([sys.executable, "-c", os.environ["CODE"], home, name]) for name in ("p", "q")]
    assert not any(each.wait() for each in both)
    sys.exit()
for k in range(6):
    path = f"/{sys.argv[2]}{k}"
    with icecore.open(place).writer(path) as w:
        w.array(path, "f8", (100,), codec="none" if k % 2 else "zstd")[...] = k
    done(path)
    if k == 3:
        icecore.open(place).tag(sys.argv[2]); done(f"tag:{sys.argv[2]}")
"""

Event = tuple[str, str, str, str]
NEEDS = sys.platform == "linux" and shutil.which("cc") is not None


@dataclass
class Recording:
    """What processes did in a directory."""

    home: Path
    events: list[Event]

    @property
    def place(self) -> str:
        return str(self.home / NAME)


def environment(home: Path, log: Path, copies: Path, durability: str = "full") -> dict[str, str]:
    """Of a process whose calls are recorded; the tests' own default is not to synchronise."""
    settings = {"LD_PRELOAD": str(home / "disk_log.so"), "DISK_LOG": str(log), "DISK_COPIES": str(copies)}
    return {**os.environ, **settings, "DISK_HOME": str(home), "ICECORE_DURABILITY": durability}


def library(home: Path) -> None:
    """Build the library that records."""
    source = Path(__file__).with_name("disk_log.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", home / "disk_log.so", source, "-ldl"], check=True)


def record(home: Path, code: str) -> Recording:
    """Run a program; return what it did, in the order in which the calls returned."""
    library(home)
    (home / "copies").mkdir()
    settings = environment(home, home / "log", home / "copies") | {"CODE": code}
    subprocess.run([sys.executable, "-c", code, str(home)], env=settings, check=True, timeout=280)
    lines = (home / "log").read_text().splitlines()
    events = [tuple(line.split("\t")) for line in lines]
    return Recording(home, [event for event in events if len(event) == 4])  # type: ignore[misc]


@dataclass
class Node:
    """A file's content, and whether it is on disk; a directory has none."""

    copy: Path | None
    synced: bool = False


@dataclass
class Disk:
    """Names and contents as a crash may leave them."""

    place: str
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

    def write(self, path: str) -> None:
        """What was written to a file is not on disk, though the file was synchronised before."""
        self.synced.discard(path)
        if path in self.names:
            self.names[path].synced = False

    def apply(self, event: Event, copies: Path) -> None:
        what, a, b, copy = event
        if what == "sync":
            self.sync(a)
        elif what == "write":
            self.write(a)
        elif what == "mkdir" and a.startswith(self.place):
            self.enter(a, Node(None, True))
        elif what in ("rename", "link") and b.startswith(self.place):
            node = self.names.get(a) or Node(copies / copy, a in self.synced)
            if what == "rename" and a in self.names:
                self.enter(a, None)
            self.enter(b, node)
        elif what == "unlink" and a in self.names:
            self.enter(a, None)

    def state(self, chance: random.Random, keep: float) -> State:
        """One of the states that a crash may leave now; ``keep``: the chance of what is not on disk."""
        found: dict[str, tuple[Path, str]] = {}
        folders: set[str] = set()
        for name in sorted({*self.durable, *self.pending}):
            pending = self.pending.get(name, [])
            states = [self.durable.get(name), *pending]
            last = not pending or chance.random() < keep
            node = states[-1] if last else chance.choice(states)
            if node is None or (os.path.dirname(name) not in folders and name != self.place):
                continue
            if node.copy is None:
                folders.add(name)
            else:
                is_whole = node.synced or chance.random() < keep
                how = "whole" if is_whole else chance.choice(["whole", "empty", "cut", "zero"])
                found[name] = (node.copy, how)
        return State(frozenset((name, str(copy), how) for name, (copy, how) in found.items()))


@dataclass(frozen=True)
class State:
    """Names, contents, and what is left of them."""

    files: frozenset[tuple[str, str, str]]

    def build(self, place: str, target: Path) -> None:
        """Make the files of this state; whole ones are links."""
        target.mkdir(parents=True, exist_ok=True)
        made = {target}
        for name, copy, how in self.files:
            file = target / os.path.relpath(name, place)
            if file.parent not in made:
                file.parent.mkdir(parents=True, exist_ok=True)
                made.add(file.parent)
            if how == "whole" and not file.name.startswith(".icecore.lock"):
                os.link(copy, file)
            else:
                file.write_bytes(_left(Path(copy).read_bytes(), how))


def _left(content: bytes, how: str) -> bytes:
    if how == "cut":  # disks write sectors whole
        return content[: len(content) // 2 // 512 * 512]
    return {"whole": content, "empty": b"", "zero": bytes(len(content))}[how]


def crashes(recording: Recording, seed: int, per_event: int = 3) -> Iterator[tuple[State, list[str]]]:
    """States after each event since the creation returned, with the names that were acknowledged before; no
    state twice.
    """
    chance = random.Random(seed)
    disk, promised, seen = Disk(recording.place), list[str](), set[tuple[State, int]]()
    is_created = False
    for event in recording.events:
        if event[0] == "done":
            is_created = True
            promised += event[1].split()
        disk.apply(event, recording.home / "copies")
        if not is_created or event[0] == "write":
            continue
        for _ in range(per_event):
            state = disk.state(chance, chance.choice([0.0, 0.3, 0.7, 0.95]))
            if (state, len(promised)) not in seen:
                seen.add((state, len(promised)))
                yield state, list(promised)


def check(place: Path, promised: list[str]) -> None:
    """A repository after a crash has all acknowledged commits, is whole, and can be written to."""
    repo = icecore.open(place)
    for name in promised:
        _check_name(place, repo, name)
    problems = repo.verify(history=True)
    assert not problems, problems
    with repo.writer("afterwards") as writer:
        writer.array("/afterwards", "i4", (2,))[...] = 5
    assert icecore.open(place)["/afterwards"][...].tolist() == [5, 5]


def _check_name(place: Path, repo: icecore.Repo, name: str) -> None:
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


def check_all(recording: Recording, folder: Path, states: int, seed: int) -> int:
    """Check that many states, or all that the seed gives; return their number."""
    tried = 0
    for state, promised in crashes(recording, seed):
        if tried == states:
            break
        place = folder / f"{seed}-{tried}"
        state.build(recording.place, place)
        try:
            check(place, promised)
        except BaseException as error:
            raise AssertionError(f"state {tried} of seed {seed}, kept in {place}: {error}") from error
        shutil.rmtree(place)
        tried += 1
    return tried
