"""Detect files that appear in a directory while a model writes them, and decide when each is complete."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

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
            elif _is_named(entry.name) and fnmatch(entry.name, pattern):
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


def _is_named(name: str) -> bool:
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
