"""Repositories that link plain files for ``icecore serve``, kept in a cache directory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from icecore import errors
from icecore.ingest.link import link
from icecore.sources.files import access

#: version of this cache; increased when repositories made by older versions must not be reused
_LAYOUT = "3"
#: names of the files that an index was made from
_SOURCES = ".icecore-sources.json"
#: what the service sends of an HDF5 file beyond its arrays; the engine knows this name
_OBJECTS = ".icecore-objects.json"


class Indexes:
    """Cached repositories, keyed by the linked file's path, size and modification time.

    A file that changes gets a new repository. The older ones are removed, except those that this process has
    returned, because requests may still read them.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or _user_cache() / "icecore" / "served"
        self._returned: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> str:
        """Return the repository of a file. The first call reads the file's metadata and may take a while.

        Raises:
            Error: those of :func:`icecore.link`; ``io`` if the cache directory can't be written.
        """
        file = Path(name)
        target = self._directory / f"{_name(file)}.icecore"
        if not _may_use(target):
            # It has data of files that this process may not open: another one is made without them.
            rules = hashlib.sha256(json.dumps(access.places()).encode()).hexdigest()[:8]
            target = target.with_name(f"{_name(file)}-{rules}.icecore")
        with self._lock:
            turn = self._returned.setdefault(target, threading.Lock())
        with turn:
            if not target.exists():
                self._make(file, target)
        return str(target)

    def _make(self, file: Path, target: Path) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._directory, prefix=".") as scratch:
            made = Path(scratch) / target.name
            with access.recorded() as opened:
                # A cache: what a power failure takes is made again.
                link(file, made, "/", keep_going=True, durability="none")
                _describe(file, made / _OBJECTS)
            (made / _SOURCES).write_text(json.dumps(sorted(opened)))
            try:
                made.rename(target)
            except OSError:
                if not target.exists():  # otherwise another process created it first
                    raise
        for older in self._directory.glob(f"{_prefix(file)}-*"):
            if older not in self._returned and not older.name.startswith(_name(file)):
                shutil.rmtree(older, ignore_errors=True)


def _describe(file: Path, target: Path) -> None:
    """Write what an index can't hold of an HDF5 file. A damaged one is served without it."""
    import h5py

    from icecore.sources.hdf5 import objects

    if h5py.is_hdf5(file):
        with suppress(errors.Error):
            objects.write(os.fspath(file), target)


def _name(file: Path) -> str:
    status = file.stat()
    return f"{_prefix(file)}-{status.st_size:x}-{status.st_mtime_ns:x}"


def _may_use(index: Path) -> bool:
    """Whether this process may open every file that an index was made from; true for one that isn't there."""
    if access.places() is None or not index.exists():
        return True
    try:
        sources = json.loads((index / _SOURCES).read_text())
    except (OSError, ValueError):
        return False
    return all(map(access.is_allowed, sources))


def _prefix(file: Path) -> str:
    place = hashlib.sha256(os.fsencode(file.resolve()) + _LAYOUT.encode()).hexdigest()
    return place[:20]


def _user_cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"
