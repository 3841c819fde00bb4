"""Record of the files that a repository has packed, so that following a directory can be resumed.

The record is a hidden string array that grows by one row per file, in the same commit as the file's data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icecore import errors

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer


#: path of the hidden array
PATH = "/__followed__/files"
#: rows per chunk; a chunk is rewritten with each commit until it is full
_ROWS = 512


def taken(repo: Repo, group: str) -> dict[str, Seen]:
    """Return the files that were packed into ``group``, by name, each in its newest state.

    Raises:
        Error: ``corrupt`` if the array holds other data.
    """
    if PATH not in repo:
        return {}
    found = {}
    for row in repo._array(PATH).read():
        try:
            entry: dict[str, Any] = json.loads(row)
            seen = Seen(str(entry["name"]), int(entry["size"]), int(entry["mtime_ns"]))
            if entry["group"] == group:
                found[seen.name] = seen
        except (ValueError, TypeError, KeyError):
            raise errors.make("corrupt", f"{PATH} holds {row!r}", "restore an older version") from None
    return found


def length(repo: Repo) -> int:
    """Return the number of files that were packed so far, into any group."""
    return len(repo._array(PATH)) if PATH in repo else 0


def take(writer: Writer, group: str, files: Sequence[Seen], known: int) -> None:
    """Record that the writer's commit contains ``files``.

    Raises:
        Error: ``conflict`` if other followers recorded files after the first ``known`` ones.
    """
    rows = [
        json.dumps({"group": group, "name": file.name, "size": file.size, "mtime_ns": file.mtime_ns})
        for file in files
    ]
    if writer._native.exists(PATH):
        array = writer[PATH]
    else:
        array = writer.array(PATH, str, (0,), chunks=(_ROWS,), shards=(_ROWS,))
    if array.shape[0] != known:
        names = ", ".join(file.name for file in files[:3]) + (" …" if len(files) > 3 else "")
        message = f"someone else took a file into the repository while {names} was packed"
        raise errors.make("conflict", message, "look whether it is still to be taken")
    array.append(rows)


# Detect files that appear in a directory while a model writes them, and decide when each is complete.

#: suffix of the marker file: an empty ``x.nc.done`` beside ``x.nc`` says that ``x.nc`` is complete
MARKER = ".done"
#: suffixes of temporary names, under which programs write files before they rename them
_UNFINISHED = (MARKER, ".tmp", ".part", ".partial")


@dataclass(frozen=True)
class Seen:
    """State of a file when it was listed: name, size (bytes) and modification time (ns)."""

    name: str
    size: int
    mtime_ns: int
    is_marked: bool = False


def look(folder: Path, pattern: str) -> list[Seen]:
    """Return the files of a directory whose names match ``pattern``, ordered by name."""
    found: dict[str, os.stat_result] = {}
    markers = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(MARKER):
                markers.add(entry.name)
            elif is_final(entry.name) and fnmatch(entry.name, pattern):
                with suppress(FileNotFoundError):  # it may be renamed or deleted at this moment
                    if entry.is_file():
                        found[entry.name] = entry.stat()
    return [
        Seen(name, stat.st_size, stat.st_mtime_ns, name + MARKER in markers)
        for name, stat in sorted(found.items())
    ]


def has_changed(folder: Path, file: Seen) -> bool:
    """Whether a file changed since it was listed, so it is still being written; False if it was deleted."""
    with suppress(FileNotFoundError):
        stat = os.stat(folder / file.name)
        return (stat.st_size, stat.st_mtime_ns) != (file.size, file.mtime_ns)
    return False


def is_final(name: str) -> bool:
    """Whether a name is not that of a file that will be renamed."""
    return not name.startswith(".") and not name.endswith(_UNFINISHED)


class Arrivals:
    """Separates complete files from growing ones.

    A file is complete if it is unchanged between two listings, or if its marker file exists.
    """

    def __init__(self) -> None:
        self._before: dict[str, Seen] = {}

    def complete(self, seen: Iterable[Seen]) -> tuple[list[Seen], list[Seen]]:
        """Return the complete files and the incomplete files of one listing."""
        ready: list[Seen] = []
        growing: list[Seen] = []
        now = {file.name: file for file in seen}
        for file in now.values():
            (ready if file.is_marked or self._before.get(file.name) == file else growing).append(file)
        self._before = now
        return ready, growing
