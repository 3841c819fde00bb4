"""A packed text table printed again, byte for byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from icecore import errors, reference
from icecore.nodes import HIDDEN
from icecore.tables import codecs, format, stated

if TYPE_CHECKING:
    from icecore.repo import Repo

#: rows that are read at once
WINDOW = 1 << 16
#: bytes, or an array of them
Buffer: TypeAlias = bytes | np.ndarray


@dataclass(frozen=True)
class TextSource:
    """A file that a table was packed from: its name, its first row and the row behind its last."""

    name: str
    start: int
    stop: int
    nbytes: int | None = None
    sha256: str | None = None

    @property
    def rows(self) -> slice:
        """Of the table."""
        return slice(self.start, self.stop)


def sources(repo: Repo, path: str) -> list[TextSource]:
    """The files that a table was packed from, in order.

    Raises:
        Error: ``not-found``; ``invalid`` where ``path`` is no table that was packed from files.
    """
    return [
        TextSource(s["name"], s["rows"][0], s["rows"][1], s.get("bytes"), s.get("sha256"))
        for s in packed(repo, path)["sources"]
    ]


def restore(
    repo: Repo,
    path: str,
    out: str | os.PathLike[str],
    source: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write the file that a table was packed from as it was; of several files the one named ``source``, or
    all of them into the folder ``out``.

    Returns:
        The paths that were written.

    Raises:
        Error: ``not-found``, ``invalid`` where the table has no print format, ``corrupt`` where what is
            printed is not what was packed (the file is removed again).
    """
    table = packed(repo, path)
    chosen = [i for i, item in enumerate(table["sources"]) if source in (None, item["name"])]
    if not chosen:
        names = ", ".join(item["name"] for item in table["sources"][:5])
        raise errors.make("not-found", f"{path} has no source {source}", f"it has {names}")
    place = os.fspath(out)
    folder = len(chosen) > 1 or os.path.isdir(place)
    if folder:
        os.makedirs(place, exist_ok=True)
    written = []
    for i in chosen:
        name = os.path.basename(table["sources"][i]["name"])
        target = os.path.join(place, name) if folder else place
        _write(repo, path, table, i, target, progress)
        written.append(target)
    return written


def _write(
    repo: Repo,
    path: str,
    table: dict[str, Any],
    i: int,
    target: str,
    progress: Callable[[int, int], None] | None,
) -> None:
    partial = f"{target}.part"
    done = 0
    try:
        with open(partial, "wb") as file:
            for block in blocks(repo, path, table, i):
                file.write(block)
                done += len(block)
                if progress is not None:
                    progress(done, table["sources"][i]["bytes"])
        os.replace(partial, target)
    except OSError as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.make(
            "io", f"can't write {target}: {error}", "check the folder and the space left"
        ) from error
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def blocks(repo: Repo, path: str, table: dict[str, Any], i: int) -> Iterator[Buffer]:
    """The text of one source, block by block; hashed while the next block is printed.

    Raises:
        Error: ``corrupt`` at the end where length or hash are not those of the original.
    """
    source = table["sources"][i]
    stored = escapes(repo, path, source)
    digest, size = hashlib.sha256(), 0
    with ThreadPoolExecutor(1, "icecore-hash") as hashing:
        hashed: Future[None] | None = None
        for text in _printed(repo, path, table, source, stored):
            if hashed is not None:
                hashed.result()
            hashed = hashing.submit(digest.update, text)
            size += len(text)
            yield text
    if size != source["bytes"] or digest.hexdigest() != source["sha256"]:
        raise errors.make(
            "corrupt",
            f"{source['name']} printed again has {size} bytes and SHA-256 {digest.hexdigest()[:16]}…, "
            f"the original had {source['bytes']} and {source['sha256'][:16]}…",
            "icecore verify --deep names what is damaged",
        )


def escapes(repo: Repo, path: str, source: dict[str, Any]) -> bytes:
    """The escapes of a source, of all its blocks."""
    return repo._array(f"{path}/{HIDDEN[0]}/escapes")[slice(*source["escapes"])].tobytes()


def _printed(
    repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any], stored: bytes
) -> Iterator[Buffer]:
    """A source's text by its escapes, which say how its rows are followed by lines that are none."""
    from icecore import _icecore

    window = Window(repo, path, table, source)
    native = format.native(window.format)
    row, at = source["rows"][0], 0
    while at < len(stored):
        rows, used = _icecore.read_escapes(stored[at:])
        if row + rows > source["rows"][1]:
            raise errors.make("corrupt", f"the escapes of {source['name']} count more rows than it has")
        yield from native.print(window.columns(row, row + rows), stored[at : at + used])
        row, at = row + rows, at + used


class Window:
    """Rows of all columns of a source, read some chunks at a time."""

    def __init__(self, repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any]) -> None:
        self._repo, self._end = repo, source["rows"][1]
        formats = stated.formats(table)
        self.format: dict[str, Any] = formats[source.get("format", 0)] if formats else {}
        self._paths = [f"{path}/{name}" for name in table["columns"]]
        self._start = self._stop = 0
        self._data: list[np.ndarray] = []
        #: memory that is used again: new memory costs as much as decoding into it
        self._room: list[np.ndarray] = []

    def columns(self, start: int, stop: int) -> list[np.ndarray]:
        """Rows of every column as the printer takes them."""
        if not self._data or start < self._start or stop > self._stop:
            self._load(start, stop)
        part = slice(start - self._start, stop - self._start)
        return [
            codecs.raw(data[part], column)
            for data, column in zip(self._data, self.format["columns"], strict=True)
        ]

    def _load(self, start: int, stop: int) -> None:
        # Up to the end of a chunk: only those are decoded twice in which a stretch of rows crosses the end.
        until = min(-(-max(stop, start + 1) // WINDOW) * WINDOW, self._end)
        count = until - start
        if not self._room or len(self._room[0]) < count:
            arrays = [self._repo._array(path) for path in self._paths]
            self._room = [np.empty((count, *a.shape[1:]), a.dtype) for a in arrays]
        self._data = [room[:count] for room in self._room]
        places = dict(zip(self._paths, self._data, strict=True))
        self._repo.read({path: slice(start, until) for path in self._paths}, places)
        self._start, self._stop = start, until


def packed(repo: Repo, path: str) -> dict[str, Any]:
    """What is kept of a table that was packed from text.

    Raises:
        Error: ``not-found``, ``invalid`` for anything else.
    """
    path = reference.absolute(path)
    node = repo._nodes.get(path)
    if node is None:
        repo[path]  # says which paths are near
    kept = node.ours.get("table", {}) if node is not None else {}
    if not isinstance(kept.get("sources"), list):
        raise errors.make("invalid", f"{path} was not packed from text", "icecore ls shows the tables")
    if not isinstance(kept.get("text"), dict) or kept["text"].get("version") != 1:
        raise errors.make(
            "invalid",
            f"{path} was packed without its print format",
            "its values can be read, its text is gone",
        )
    return kept
