"""Opens and reads damaged repositories under a memory limit, and says what came of it.

Reads jobs as JSON lines, ``{"repo", "file", "edits"}``: a file of a small repository and what to do to it,
one edit after the other, each to a copy. Writes one JSON line an edit, ``[edit, outcome]``. An outcome is

* ``right``: everything read as before the damage,
* a kind: an icecore error of that kind,
* ``wrong: …``: something else was read, or
* ``raised …``: another exception.

A job without ``file`` opens ``repo`` and reads all it can: ``read`` or one of the above. With ``each``
it does so array by array, a line for each.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np

#: bytes of address space that a reader of a small repository may ask for on top of what it has; threads
#: reserve (but don't use) up to 128 MiB each
ROOM = 4 << 30


def limit_memory() -> None:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))


def everything(path: str) -> dict[str, Any]:
    """Names, log, attributes and data of a repository."""
    repo = icecore.open(path)
    found: dict[str, Any] = {"names": [repo.branches, repo.tags]}
    found["log"] = [entry.message for entry in repo.log()]
    found["tree"] = repr(repo).split("\n", 1)[-1] + repo._repr_html_()[:0]
    for name, group in repo.groups.items():
        found[f"{name} attrs"] = group.attrs
    for name, array in repo.arrays.items():
        found[f"{name} attrs"] = array.attrs
        found[f"{name} label"] = repr(array)
        found[name] = array.read()
    return found


def difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    if list(found) != list(expected):
        return f"nodes {list(found)}"
    for name, theirs in expected.items():
        ours = found[name]
        if not isinstance(theirs, np.ndarray):
            if ours != theirs:
                return f"{name} is {ours!r}"
        elif ours.shape != theirs.shape or ours.dtype != theirs.dtype or ours.tolist() != theirs.tolist():
            return f"values of {name}"
    return ""


def edited(content: bytes, edit: list[Any]) -> bytes:
    """Edits: ``none``, ``flip`` position mask, ``cut`` length, ``grow`` bytes, ``zero`` start stop."""
    kind, *numbers = edit
    if kind == "none":
        return content
    if kind == "cut":
        return content[: numbers[0]]
    if kind == "grow":
        return content + b"\xaa" * numbers[0]
    if kind == "zero":
        return content[: numbers[0]] + bytes(numbers[1] - numbers[0]) + content[numbers[1] :]
    position, mask = numbers
    return content[:position] + bytes([content[position] ^ mask]) + content[position + 1 :]


def outcome(path: str, expected: dict[str, Any] | None) -> str:
    try:
        found = everything(path)
    except icecore.Error as error:
        return error.kind if error.message and "\n" not in error.kind else "raised an empty error"
    except BaseException as error:
        return f"raised {type(error).__name__}: {error}"
    if expected is None:
        return "read"
    wrong = difference(found, expected)
    return f"wrong: {wrong}" if wrong else "right"


def damage(job: dict[str, Any]) -> None:
    """Each edit is done to a copy of the repository, at a path of its own so that nothing cached hides it.

    One copy moves on from path to path: making and removing its folders for each edit took most of the time.
    """
    repo, target = Path(job["repo"]), Path(job["file"])
    expected, content = everything(str(repo)), target.read_bytes()
    copy = repo.with_name("copy")
    shutil.copytree(repo, copy, copy_function=os.link)
    for number, edit in enumerate(job["edits"]):
        copy = copy.rename(repo.with_name(f"copy{number}"))
        hurt = copy / target.relative_to(repo)
        hurt.unlink()
        hurt.write_bytes(edited(content, edit))
        print(json.dumps([edit, outcome(str(copy), expected)]), flush=True)
    shutil.rmtree(copy)


def one_by_one(path: str) -> None:
    repo = icecore.open(path)
    repr(repo)
    for name, array in repo.arrays.items():
        try:
            repr(array), array.attrs, array.read()
            said = "read"
        except icecore.Error as error:
            said = error.kind
        except BaseException as error:
            said = f"raised {type(error).__name__}: {error}"
        print(json.dumps([name, said]), flush=True)


if __name__ == "__main__":
    first = True
    for text in sys.stdin:
        job = json.loads(text)
        if first:
            if job.get("warm"):
                everything(job["warm"])  # threads and their stacks exist before the limit
            limit_memory()
            first = False
        if job.get("file"):
            damage(job)
        elif job.get("each"):
            one_by_one(job["repo"])
        elif job.get("repo"):
            print(json.dumps([job["repo"], outcome(job["repo"], None)]), flush=True)
