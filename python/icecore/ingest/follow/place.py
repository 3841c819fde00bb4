"""Places in which files appear: a directory, a list of files (a cache), a prefix of a bucket."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from icecore import errors
from icecore.ingest.follow import ledger
from icecore.ingest.follow.ledger import Seen
from icecore.repository import address
from icecore.sources.files import object_stores
from icecore.sources.source_list import listed


class Place(Protocol):
    """Where files appear."""

    @property
    def stem(self) -> str:
        """The default name of their group."""

    def look(self) -> list[Seen]:
        """Return the files, ordered by name."""

    def source(self, file: Seen) -> str:
        """Return the address of a file."""

    def has_changed(self, file: Seen) -> bool:
        """Whether a file changed since it was listed; False if it was deleted."""


def place_of(folder: str | os.PathLike[str], pattern: str) -> Place:
    """Return the place that a user names.

    Raises:
        Error: ``not-found`` if the directory or list does not exist.
    """
    name = os.fspath(folder)
    if object_stores.is_object(name):
        return Bucket(name.rstrip("/"), pattern, address.stem(name.rstrip("/").rsplit("/", 1)[-1]))
    if name.startswith("@") and not os.path.exists(name):
        listed(name)  # raises if it can't be read
        return CacheFile(name, pattern, address.stem(name[1:]))
    path = address.local(folder)
    if not name or not path.is_dir():
        hint = "name the directory in which files appear, a list @files.txt, or s3://bucket/prefix"
        raise errors.make("not-found", f"{name!r} is not a directory", hint)
    return Directory(path, pattern, address.stem(path.resolve()))


@dataclass(frozen=True)
class Directory:
    """Files directly in a directory."""

    folder: Path
    pattern: str
    stem: str

    def look(self) -> list[Seen]:
        return ledger.look(self.folder, self.pattern)

    def source(self, file: Seen) -> str:
        return str(self.folder / file.name)

    def has_changed(self, file: Seen) -> bool:
        return ledger.has_changed(self.folder, file)


@dataclass(frozen=True)
class CacheFile:
    """Files that a list names; the list is read again at each poll."""

    name: str
    pattern: str
    stem: str

    def look(self) -> list[Seen]:
        try:
            names = listed(self.name) or []
        except errors.Error:
            return []  # it is being replaced
        found = {}
        for name in names:
            path = os.path.abspath(name.removeprefix("file://"))
            with suppress(OSError):
                if fnmatch(os.path.basename(path), self.pattern) and os.path.isfile(path):
                    stat = os.stat(path)
                    found[path] = Seen(path, stat.st_size, stat.st_mtime_ns)
        return [found[path] for path in sorted(found)]

    def source(self, file: Seen) -> str:
        return file.name

    def has_changed(self, file: Seen) -> bool:
        return ledger.has_changed(Path("/"), file)


@dataclass(frozen=True)
class Bucket:
    """Objects directly under a prefix. They appear when they are complete, so that one listing is enough."""

    url: str
    pattern: str
    stem: str

    def look(self) -> list[Seen]:
        names = object_stores.sizes_in(self.url)
        return [
            Seen(name, size, -1, is_marked=True)
            for name, size in sorted(names.items())
            if "/" not in name and ledger.is_final(name) and fnmatch(name, self.pattern)
        ]

    def source(self, file: Seen) -> str:
        return f"{object_stores.encoded(self.url)}/{object_stores.encoded(file.name)}"

    def has_changed(self, file: Seen) -> bool:
        return False
