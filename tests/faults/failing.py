"""Runs scenarios in which each system call fails once: ``failing.py HOME STRIDE``; a JSON line for each.

The process has the library of ``fail_call.c`` preloaded. A line holds scenario, call, its number, errno, what
came of it (``done``, or the error's kind and text), and ``wrong``: what must not be.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import icecore
import numpy as np

KINDS = ("open", "read", "write", "sync", "rename", "link", "lock", "mkdir", "unlink")
ERRNOS = {
    "open": ("EIO", "EACCES", "EMFILE", "ESTALE", "EINTR"),
    "read": ("EIO", "ESTALE", "EINTR"),
    "write": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "sync": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "rename": ("EIO", "ENOSPC", "EACCES", "ESTALE"),
    "link": ("EIO", "ENOSPC", "EACCES"),
    "lock": ("EIO", "EINTR", "ESTALE"),
    "mkdir": ("EIO", "ENOSPC", "EACCES"),
    "unlink": ("EIO", "EACCES"),
}
library = ctypes.CDLL(None)
library.fail_path.restype = ctypes.c_char_p


def create(place: Path) -> None:
    icecore.create(place)


def commit(place: Path) -> None:
    with icecore.open(place).writer("more") as w:
        w.array("/more", "f8", (20, 100), chunks=(10, 100), codec="none")[...] = 2


def commit_large(place: Path) -> None:
    """More than what is synchronised in the background."""
    with icecore.open(place).writer("large") as w:
        w.array("/more", "u1", (5, 8 << 20), chunks=(1, 8 << 20), shards=None, codec="none")[...] = 2


def append(place: Path) -> None:
    with icecore.open(place).writer("longer") as w:
        w["/a"].append(np.full((10, 100), 1.0))


def read(place: Path) -> None:
    found = icecore.open(place)["/a"][...]
    assert found.shape == (20, 100), found.shape
    assert (found == 1).all()


def tag(place: Path) -> None:
    icecore.open(place).tag("v2")


def gc(place: Path) -> None:
    icecore.open(place).gc(timedelta(0))


def clone(place: Path) -> None:
    icecore.clone(place.with_name("template"), place / "copy")


SCENARIOS: dict[str, Callable[[Path], None]] = {
    "create": create,
    "commit": commit,
    "commit_large": commit_large,
    "append": append,
    "read": read,
    "tag": tag,
    "gc": gc,
    "clone": clone,
}


def template(home: Path) -> Path:
    """A repository with an array of two chunks, a tag, and something for ``gc`` to delete."""
    place = home / "template"
    repo = icecore.create(place, durability="none")
    with repo.writer("first") as w:
        w.array("/a", "f8", (0, 100), chunks=(10, 100), codec="none").append(np.ones((20, 100)))
        w.array("/b", "i4", (5,))[...] = 3
    repo.tag("v1")
    repo.branch("gone")
    with icecore.open(f"{place}@gone").writer("lost") as w:
        w.array("/c", "f8", (100,), codec="none")[...] = 4
    repo.delete_branch("gone")
    return place


def attempt(work: Callable[[Path], None], place: Path) -> str:
    try:
        work(place)
    except icecore.Error as error:
        return f"{error.kind}: {error.message}"
    except BaseException as error:
        return f"raised {type(error).__name__}: {error}"
    return "done"


def wrong(name: str, place: Path, outcome: str, path: str, error: str) -> str:
    """What is wrong after a call failed; empty if nothing."""
    if outcome.startswith(("raised", "internal")):
        return outcome
    if library.fail_synced_again():
        return f"{path} was synchronised although it had failed before"
    if outcome != "done" and str(place) not in outcome and error not in ("EMFILE", "EINTR"):
        return f"no path in: {outcome}"
    if name == "clone":
        return _of_clone(place / "copy", outcome)
    return _of_repository(name, place, outcome)


def _of_clone(copy: Path, outcome: str) -> str:
    if outcome != "done" and (copy / "repo").exists():
        icecore.pull(copy)  # published, and the last steps failed
    elif outcome != "done":
        icecore.clone(copy.parent.with_name("template"), copy)
    return "" if (icecore.open(copy)["/a"][...] == 1).all() and not icecore.open(copy).verify() else "differs"


def _of_repository(name: str, place: Path, outcome: str) -> str:
    if name == "create" and outcome != "done":
        icecore.create(place, exist_ok=True)
    repo = icecore.open(place)
    if name != "create" and not (repo["/a"][:20] == 1).all():
        return "what was there is not"
    if name != "create" and "v1" not in repo.tags:
        return "the tag is gone"
    problems = repo.verify(history=True)
    if problems:
        return f"{problems}"
    if outcome == "done":
        promised = {"commit": "/more" in repo, "commit_large": "/more" in repo, "tag": "v2" in repo.tags}
        if not promised.get(name, True) or (name == "append" and repo["/a"].shape != (30, 100)):
            return "acknowledged, and not there"
    empty = [file for file in place.glob("*/*") if file.stat().st_size == 0 and "#" not in file.name]
    if [file for file in empty if file.parent.name != "seals"]:
        return f"empty: {empty}"
    with icecore.open(place).writer("afterwards") as w:
        w.array("/afterwards", "i4", (2,))[...] = 5
    return "" if icecore.open(place)["/afterwards"][0] == 5 else "can't be written to"


def run(home: Path, stride: int) -> None:
    source, number = template(home), 0
    for name, work in SCENARIOS.items():
        counts: dict[str, int] = {}
        for kind in (None, *KINDS):
            for at in range(1, counts.get(kind or "", 1) + 1):
                number += 1
                if kind is not None and number % stride:
                    continue
                place = home / f"{number}"
                if name in ("create", "clone"):
                    place.mkdir()
                else:
                    shutil.copytree(source, place)
                codes = ERRNOS[kind] if kind else ("",)
                code = codes[(at + number) % len(codes)]
                arm = (KINDS.index(kind), at, getattr(errno, code)) if kind else (0, 0, 0)
                library.fail_arm(*arm, os.fsencode(f"{place}"))
                outcome = attempt(work, place)
                if kind is None:
                    counts = {each: library.fail_count(i) for i, each in enumerate(KINDS)}
                path = library.fail_path().decode()
                found: dict[str, Any] = {"scenario": name, "call": kind, "at": at, "errno": code}
                found |= {
                    "path": path.replace(str(place), ""),
                    "outcome": outcome.replace(str(place), "PLACE"),
                }
                found["wrong"] = _judged(name, place, outcome, path, code)
                library.fail_arm(0, 0, 0, b"")
                print(json.dumps(found), flush=True)
                shutil.rmtree(place)


def _judged(name: str, place: Path, outcome: str, path: str, code: str) -> str:
    try:
        return wrong(name, place, outcome, path, code)
    except BaseException as error:
        return f"afterwards {type(error).__name__}: {error}"


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
