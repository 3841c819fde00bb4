"""Files that appear in a folder while a model writes them, and when each of them is complete."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

#: beside ``x.nc`` an empty ``x.nc.done`` says that it is complete
MARKER = ".done"
#: names under which files are written before they get their own
_UNFINISHED = (MARKER, ".tmp", ".part", ".partial")


@dataclass(frozen=True)
class Seen:
    """A file as it was found: its name and what tells one state of it from another."""

    name: str
    size: int
    mtime_ns: int
    is_marked: bool = False


def look(folder: Path, pattern: str) -> list[Seen]:
    """The files of a folder whose names fit, in the order of their names."""
    found: dict[str, os.stat_result] = {}
    markers = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(MARKER):
                markers.add(entry.name)
            elif _is_named(entry.name) and fnmatch(entry.name, pattern):
                with suppress(FileNotFoundError):  # it may be renamed or deleted in this moment
                    if entry.is_file():
                        found[entry.name] = entry.stat()
    return [
        Seen(name, stat.st_size, stat.st_mtime_ns, name + MARKER in markers)
        for name, stat in sorted(found.items())
    ]


def has_changed(folder: Path, file: Seen) -> bool:
    """Whether a file is another one than was seen: it is written still. One that is gone is no other one."""
    with suppress(FileNotFoundError):
        stat = os.stat(folder / file.name)
        return (stat.st_size, stat.st_mtime_ns) != (file.size, file.mtime_ns)
    return False


def _is_named(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(_UNFINISHED)


class Arrivals:
    """Tells complete files from those that still grow: they look the same twice, or have their marker."""

    def __init__(self) -> None:
        self._before: dict[str, Seen] = {}

    def complete(self, seen: Iterable[Seen]) -> tuple[list[Seen], list[Seen]]:
        """(Those that are complete, those that aren't yet), of what one look found."""
        ready: list[Seen] = []
        growing: list[Seen] = []
        now = {file.name: file for file in seen}
        for file in now.values():
            (ready if file.is_marked or self._before.get(file.name) == file else growing).append(file)
        self._before = now
        return ready, growing
