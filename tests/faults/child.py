"""Programs that faults are done to, run as ``python child.py VERB ARGUMENT…`` in a process of their own."""

from __future__ import annotations

import sys
from datetime import timedelta

import icecore
import numpy as np


def pack(source: str, repo: str, group: str) -> None:
    """Pack a file; say when the work begins and when it is committed."""
    icecore.open(repo)  # the modules are loaded before the clock starts
    say("ready")
    icecore.pack(source, repo, group=group, codec="zstd", memory="8MB")
    say("done")


def collect(repo: str) -> None:
    """Delete what no version refers to; say when the work begins and when it is done."""
    opened = icecore.open(repo)
    say("ready")
    opened.gc(timedelta(0))
    say("done")


def commits(repo: str, name: str, count: str) -> None:
    """Commit ``count`` times, each time an array of a name of its own, at the same time as others do."""
    say("ready")
    sys.stdin.readline()
    for i in range(int(count)):
        with icecore.open(repo).writer(message=f"{name} {i}") as writer:
            writer.array(f"/{name}/{i}", dtype="i8", shape=(200,), chunks=(100,))[...] = np.arange(200) + i
    say("done")


def same_node(repo: str, value: str) -> None:
    """Write one array that another process writes too."""
    opened = icecore.open(repo)
    say("ready")
    sys.stdin.readline()
    try:
        with opened.writer(message=value) as writer:
            writer.array("/same", dtype="i8", shape=(500,), chunks=(500,))[...] = int(value)
            say("written")
            sys.stdin.readline()
    except icecore.Error as error:
        say(f"{error.kind}: {error.message}")
        return
    say("committed")


def fill(repo: str, group: str, limit: str) -> None:
    """Write about 40 MB of noise where less than that fits (or where no file may exceed ``limit`` bytes)."""
    if limit != "0":
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    noise = np.random.default_rng(1).integers(0, 256, (40, 1 << 20), "u1")
    try:
        with icecore.open(repo).writer() as writer:
            options = {"chunks": (1, 1 << 18), "shards": (1, 1 << 20), "codec": "zstd"}
            writer.array(f"{group}/noise", dtype="u1", shape=noise.shape, **options)[...] = noise
    except icecore.Error as error:
        say(f"{error.kind}: {error.message} ({error.hint})")
        return
    say("committed")


def ingest(repo: str, steps: str) -> None:
    """Append steps to two arrays, committing now and then; say how many steps each commit made certain."""
    with icecore.open(repo).writer(memory=4 << 20) as writer:
        a, b = writer["/a"], writer["/b"]
        say("ready")
        for step in range(a.shape[0], a.shape[0] + int(steps)):
            a.append(step_of(step))
            b.append(step)
            if step % 7 == 6:
                writer.commit()
                say(str(step + 1))


def step_of(step: int) -> np.ndarray:
    """What step number ``step`` of :func:`ingest` appends to ``/a``."""
    return (np.arange(3000).reshape(50, 60) * (step + 1) % 8191).astype("f4")


def say(text: str) -> None:
    print(text.replace("\n", " "), flush=True)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    {
        "pack": pack,
        "collect": collect,
        "commits": commits,
        "same-node": same_node,
        "fill": fill,
        "ingest": ingest,
    }[verb](*arguments)
