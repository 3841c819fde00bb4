"""Restore packed text tables byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from icecore import _icecore, errors
from icecore.filesystem.atomic_output import folder, landing, printing
from icecore.repository import address
from icecore.repository.nodes import HIDDEN
from icecore.tables.text import stored_format

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.sources.mapping.table_file import TableFile


#: object with the buffer protocol
Buffer: TypeAlias = "bytes | _icecore.Text"


@dataclass(frozen=True)
class TextSource:
    """A file that a table was packed from: its name, its first row, and one past its last row."""

    name: str
    start: int
    stop: int
    nbytes: int | None = None
    sha256: str | None = None

    @property
    def rows(self) -> slice:
        """Rows of the file in the table."""
        return slice(self.start, self.stop)


def sources(repo: Repo, path: str) -> list[TextSource]:
    """Return the files that a table was packed from, in order.

    Raises:
        Error: ``not-found``; ``invalid`` if ``path`` is not a table that was packed from files.
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
    """Write the original file of a packed table.

    Of several files, write the one named ``source``, or all of them into the directory ``out``. Files with
    the same base name get subdirectories. ``out`` may be ``-`` for stdout. ``path`` may also be the group of
    all tables of one file.

    Returns:
        Paths of the written files.

    Raises:
        Error: ``not-found``; ``invalid`` if the table has no print format, several sources have the base name
            ``source``, or several would be written to stdout; ``mismatch`` if the text differs from the
            packed file because columns were overwritten since (the output file is removed).
    """
    path = table_of(repo, path)
    table = packed(repo, path)
    names = [str(item["name"]) for item in table["sources"]]
    chosen = _chosen(path, names, source)
    place = os.fspath(out)
    if place == "-" and len(chosen) > 1:
        message = f"{path} was packed from {len(chosen)} files, and stdout takes one"
        raise errors.make("invalid", message, f"name one, {names[chosen[0]]} for instance, or a folder")
    several, below = len(chosen) > 1 or os.path.isdir(place), places(names)
    written = []
    for i in chosen:
        target = os.path.join(place, below[i]) if several else place
        with folder(os.path.dirname(target)) if several else nullcontext():
            _write(repo, path, table, i, target, progress)
        written.append(target)
    return written


def table_of(repo: Repo, path: str) -> str:
    """Return the table with the text of ``path``: itself, or the first of the tables in a group if all were
    packed from the same file.

    Raises:
        Error: ``invalid`` if they were packed from several files.
    """
    path = address.absolute(path)
    if path not in repo._nodes or "table" in repo._nodes[path].ours:
        return path
    below = [
        p for p, node in repo._nodes.items() if p.startswith(path.rstrip("/") + "/") and "table" in node.ours
    ]
    texts = {
        tuple((s.get("name"), s.get("sha256")) for s in repo._nodes[p].ours["table"].get("sources", []))
        for p in below
    }
    if not below or (len(texts) == 1 and len(next(iter(texts))) == 1):
        return below[0] if below else path
    message = f"{path} was not packed from text: it holds {len(below)} tables of several files"
    raise errors.make("invalid", message, f"name one: {', '.join(sorted(below)[:5])}")


def _chosen(path: str, names: list[str], source: str | None) -> list[int]:
    """Return the indexes of the sources with this name, or of the one with this base name."""
    exact = [i for i, name in enumerate(names) if source in (None, name)]
    chosen = exact or [i for i, name in enumerate(names) if os.path.basename(name) == source]
    if not chosen:
        raise errors.make("not-found", f"{path} has no source {source}", f"it has {', '.join(names[:5])}")
    if not exact and len(chosen) > 1:
        several = ", ".join(names[i] for i in chosen[:5])
        message = f"{len(chosen)} sources of {path} are called {source}"
        raise errors.make("invalid", message, f"name one: {several}")
    return chosen


def _write(
    repo: Repo,
    path: str,
    table: dict[str, Any],
    i: int,
    target: str,
    progress: Callable[[int, int], None] | None,
) -> None:
    done = 0
    with _opened(target) as file:
        for block in blocks(repo, path, table, i):
            file.write(block)
            done += len(block)
            if progress is not None:
                progress(done, table["sources"][i]["bytes"])


@contextmanager
def _opened(target: str) -> Iterator[BinaryIO]:
    if target == "-":
        with printing():
            yield sys.stdout.buffer
        return
    with landing(target) as part, open(part, "wb") as file:
        yield file


def blocks(repo: Repo, path: str, table: dict[str, Any], i: int) -> Iterator[Buffer]:
    """Yield the text of one source block by block; it is hashed while the next block is printed.

    Raises:
        Error: ``mismatch`` if columns were overwritten since; raised at the end if only the length or the
            hash of the text shows it.
    """
    source = table["sources"][i]
    digest, size = _Digest(), 0
    try:
        for parts in _stretches_of(repo, path, table, source):
            for text in parts:
                digest.update(text)
                size += len(text)
                yield text
    finally:
        sha256 = digest.end()
    if size != source["bytes"] or sha256 != source["sha256"]:
        from icecore.tables.text.stored_format import written_over

        raise written_over(
            path,
            f"{source['name']} printed again has {size} bytes and SHA-256 {sha256[:16]}…, "
            f"the original had {source['bytes']} and {source['sha256'][:16]}…",
            "or are damaged, which icecore verify --deep tells",
        )


def _stretches_of(
    repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any]
) -> Iterator[Sequence[Buffer]]:
    """Yield the text of a source, whose stretches are kept with the tables that have its rows.

    Raises:
        Error: ``mismatch`` if one of those tables is gone, or was packed from another file since.
    """
    for name, of in source.get("parts", ()):
        where = name if name.startswith("/") else f"{path.rpartition('/')[0]}/{name}"
        kept = table if where == path else packed(repo, where) if where in repo._nodes else {}
        found = (s for s in kept.get("sources", []) if (s["name"], s.get("sha256")) == (of, source["sha256"]))
        own = next(found, None)
        if own is None or own.get("parts") is None:
            message = f"{source['name']} holds several tables, and a part of its text was kept with {where}"
            hint = "restore an earlier version, REPO@REF (`icecore log` names them), or pack the file again"
            raise errors.make("mismatch", f"{message}, which is gone or was replaced", hint)
        yield from _printed(repo, where, kept, own)
    if "parts" not in source:
        yield from _printed(repo, path, table, source)


class _Digest:
    """SHA-256 in a separate thread, at most two parts behind."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._parts: queue.Queue[Buffer | None] = queue.Queue(1)
        self._thread = threading.Thread(target=self._run, name="icecore-hash", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (part := self._parts.get()) is not None:
            self._digest.update(part)

    def update(self, part: Buffer) -> None:
        """Add the next part, which must not change any more."""
        self._parts.put(part)

    def end(self) -> str:
        """Return the digest of all parts, in hexadecimal."""
        self._parts.put(None)
        self._thread.join()
        return self._digest.hexdigest()


def escapes(repo: Repo, path: str, source: dict[str, Any]) -> bytes:
    """Return the escapes of all blocks of a source."""
    return repo._array(f"{path}/{HIDDEN[0]}/escapes")[slice(*source["escapes"])].tobytes()


def digest(repo: Repo, path: str, table: dict[str, Any], i: int) -> str:
    """Return the SHA-256 of the text that is kept with a table, of a source with several tables."""
    found = hashlib.sha256()
    for parts in _printed(repo, path, table, table["sources"][i]):
        for part in parts:
            found.update(part)
    return found.hexdigest()


def stretches(repo: Repo, path: str, table: dict[str, Any], i: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the number of rows, the escapes and the text of each block of a source."""
    from icecore import _icecore

    source = table["sources"][i]
    stored, at = escapes(repo, path, source), 0
    for parts in _printed(repo, path, table, source, stored):
        rows, used = _icecore.read_escapes(stored, at)
        yield rows, stored[at : at + used], b"".join(bytes(part) for part in parts)
        at += used


def _printed(
    repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any], stored: bytes | None = None
) -> Iterator[Sequence[Buffer]]:
    """Yield a source's text. Its escapes state which lines between the rows are not rows."""
    try:
        yield from _by_format(repo, path, table, source, stored)
    except errors.Error:
        # Faults of columns are examined only here: this needs NumPy, restoring text doesn't.
        from icecore.tables.text.stored_format import stored_columns

        stored_columns(repo, path, table, source["rows"][1])
        raise


def _by_format(
    repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any], stored: bytes | None
) -> Iterator[Sequence[Buffer]]:
    from icecore import _icecore

    fmt = stored_format.formats(table)[source.get("format", 0)]
    if "binary" in fmt["layout"]:
        from icecore.tables.text.binary_records import printed
        from icecore.tables.text.stored_format import stored_columns

        # Binary formats print any numbers, so check here.
        stored_columns(repo, path, table, source["rows"][1])
        kept = escapes(repo, path, source) if stored is None else stored
        yield from printed(repo, path, table, source, fmt, kept)
        return
    natives = [repo._array(f"{path}/{column['name']}")._native for column in stored_format.columns(table)]
    kept_apart = repo._array(f"{path}/{HIDDEN[0]}/escapes")._native
    printing = _icecore.Restoring(
        json.dumps(fmt), natives, tuple(source["rows"]), kept_apart, tuple(source["escapes"])
    )
    while (parts := printing.next()) is not None:
        yield parts


def packed(repo: Repo, path: str) -> dict[str, Any]:
    """Return the record of a table that was packed from text.

    Raises:
        Error: ``not-found``; ``invalid`` for anything else.
    """
    path = address.absolute(path)
    node = repo._nodes.get(path)
    if node is None:
        repo[path]  # raises an error that suggests similar paths
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


# Unique names of the source files of a table, and their output paths.


def distinct(files: Sequence[TableFile], taken: Iterable[str] = ()) -> list[str]:
    """Return unique names for the files of a table: their own, with as many parent directories as necessary.

    Args:
        files: files in order.
        taken: names that the table's earlier files have.
    """
    known, above = set(taken), [_above(file) for file in files]
    depths = [0] * len(files)
    names = [file.name for file in files]
    while True:
        count = Counter(names)
        twice = [i for i, name in enumerate(names) if count[name] > 1 or name in known]
        further = [i for i in twice if depths[i] < len(above[i])]
        if not further:
            break
        for i in further:
            depths[i] += 1
            names[i] = "/".join([*above[i][-depths[i] :], files[i].name])
    # Some files share even their directories: two tables of one file, or x.csv and x.csv.gz.
    for i in twice:
        names[i] = files[i].name
    return _numbered(names, known)


def may_be(file: TableFile, name: str) -> bool:
    """Return whether a source of this name may have been read from the path of ``file``."""
    return f"/{'/'.join([*_above(file), file.name])}".endswith(f"/{name}")


def places(names: Sequence[str]) -> list[str]:
    """Return the output paths of sources in a directory: base names, or whole names if a base name is a
    duplicate. Paths are unique and never outside the directory.
    """
    parts = [[part for part in name.split("/") if part.strip(".")] or ["source"] for name in names]
    count = Counter(part[-1] for part in parts)
    return _numbered([part[-1] if count[part[-1]] == 1 else "/".join(part) for part in parts])


def _above(file: TableFile) -> list[str]:
    """Return the directories above a file, outermost first; an archive counts as the directory of its
    members.
    """
    suffix = f":{file.name}"
    place = file.place.removesuffix(suffix) if file.place.endswith(suffix) else os.path.dirname(file.place)
    return [part for part in os.path.abspath(place).split(os.sep) if part]


def _numbered(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names, with a number added to duplicates."""
    used, reserved = set(taken), set(names)
    result = []
    for name in names:
        new, count = name, 1
        stem, suffix = os.path.splitext(name)
        while new in used or (count > 1 and new in reserved):
            count += 1
            new = f"{stem}_{count}{suffix}"
        used.add(new)
        result.append(new)
    return result
