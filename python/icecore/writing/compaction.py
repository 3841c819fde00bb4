"""Compaction: merge the short chunks of arrays that grew by small appends. Values and attributes stay.

An append gives its rows chunks of their own, which later appends merge only in part. Compaction cuts runs of
short chunks to the planned length. Other chunks are not read or written; their references get new numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.layout import layout
from icecore.repository import address
from icecore.repository.nodes import Node, hidden
from icecore.repository.results import _Value
from icecore.writing.row_grid import RowGrid, listed, unit_of

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.repo import Repo
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer

#: two runs of short chunks are merged together if at most this many full chunks are between them
_BETWEEN = 8
#: attempts if other writers commit meanwhile
_ATTEMPTS = 3


@dataclass(frozen=True)
class CompactReport(_Value):
    """Result of :meth:`icecore.Repo.compact`.

    Attributes:
        arrays: array → (number of chunks along the first axis before, after).
        bytes: size of the rows that were written again, before compression.
        skipped: array → the reason why its short chunks stay.
        snapshot_id: the new version; None if nothing was merged.
    """

    arrays: dict[str, tuple[int, int]]
    bytes: int
    skipped: dict[str, str]
    snapshot_id: str | None

    def __str__(self) -> str:
        before, after = (sum(pair[n] for pair in self.arrays.values()) for n in (0, 1))
        lines = [f"{path}: {reason}" for path, reason in self.skipped.items()]
        if self.arrays:
            done = f"merged {before:,} chunks of {text.plural(len(self.arrays), 'array')} into {after:,}"
            lines.append(f"{done}, {text.size(self.bytes)} written again")
        return "\n".join(lines or ["no short chunks to merge"])


def compact(
    repo: Repo,
    path: str = "/",
    older: timedelta = timedelta(0),
    budget: int | None = None,
    branch: str | None = None,
    memory: int | str | None = None,
) -> CompactReport:
    """Merge short chunks in one commit; see :meth:`icecore.Repo.compact`."""
    path = address.absolute(path)
    for attempt in range(_ATTEMPTS):
        with repo.writer("compact", branch, memory) as writer:
            try:
                return _compacted(writer, _below(writer, path), older, budget)
            except errors.Error as error:
                writer.abort()
                if error.kind != "conflict" or attempt == _ATTEMPTS - 1:
                    raise
    raise AssertionError


def _below(writer: Writer, path: str) -> list[str]:
    """Return the arrays at and below a path, with hidden ones (summaries and trends are read as they are)."""
    base, prefix = writer._base(), path.rstrip("/") + "/"
    base[path]  # raises the error with similar names
    nodes = base._nodes.values()
    return [
        node.path
        for node in nodes
        if node.is_array and not hidden(node.path) and (node.path == path or node.path.startswith(prefix))
    ]


def _compacted(writer: Writer, paths: list[str], older: timedelta, budget: int | None) -> CompactReport:
    base = writer._base()
    young = _changed_since(base, datetime.now(UTC) - older) if older else set[str]()
    left = budget
    done: dict[str, tuple[int, int]] = {}
    skipped: dict[str, str] = {}
    total = 0
    for path in paths:
        node = base._nodes[path]
        runs = listed(node.document)
        if runs is None or unit_of(node) is None or not _regions(RowGrid.of(node.document, _unit(node))):
            continue
        if path in young:
            skipped[path] = f"changed less than {older} (h:mm:ss) ago"
        elif base._array(path).linked:
            skipped[path] = "has linked chunks"
        else:
            array = writer[path]
            before = array._rows.count(array._stored[0])
            nbytes = _merge(array, base, left)
            if nbytes:
                done[path] = (before, array._rows.count(array._stored[0]))
                total += nbytes
                left = None if left is None else left - nbytes
        if left is not None and left <= 0:
            break
    snapshot = writer.commit() if done else None
    return CompactReport(done, total, skipped, snapshot)


def _unit(node: Node) -> int:
    unit = unit_of(node)
    assert unit
    return unit[0]


def _merge(array: ArrayWriter, base: Repo, budget: int | None) -> int:
    """Merge the short chunks of an array; return the bytes of the rows that are written again."""
    rows = None if budget is None else budget // array._row_bytes
    regions = _regions(array._rows, rows)
    if not regions:
        return 0
    merged = RowGrid(array.unit[0], np.array(list(_cut(array._rows, regions)), "i8"))
    stored = base._array(array.path)._native
    regrid = partial(_regrid, array, merged, regions, stored)
    with array._whole(regrid):
        regrid()
    return sum(last - first for first, last in regions) * array._row_bytes


def _regrid(
    array: ArrayWriter, merged: RowGrid, regions: list[tuple[int, int]], stored: _icecore.Array
) -> None:
    native = array._writer._native
    document = layout.with_rows(array._document, merged.runs)
    if json.loads(native.document(array.path) or "{}").get("chunk_grid") != document["chunk_grid"]:
        native.unshard(array.path, json.dumps(document, allow_nan=False, separators=(",", ":")))
    array._document, array._rows, array._tail = document, merged, None
    for first, last in regions:
        for low, high in array._blocks(
            (first, *[0] * (len(array._stored) - 1)), (last - first, *array._stored[1:])
        ):
            region = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
            native.write(array.path, low, stored.read(region))
    native.flush()


def _regions(rows: RowGrid, most: int | None = None) -> list[tuple[int, int]]:
    """Return the runs of rows (first, last + 1) to be cut again: those with at least two short chunks, and at
    most ``most`` rows in all.
    """
    lengths = rows.lengths
    ends = np.cumsum(lengths)
    short = np.flatnonzero(lengths < rows.unit)
    found: list[tuple[int, int]] = []
    for group in np.split(short, np.flatnonzero(np.diff(short) > _BETWEEN + 1) + 1):
        if len(group) < 2:
            continue
        first, last = int(ends[group[0]] - lengths[group[0]]), int(ends[group[-1]])
        if most is not None and last - first > most:
            starts = ends[group] - lengths[group]
            fitting = np.searchsorted(ends[group], starts + most, "right") - 1
            [at, *_] = [*np.flatnonzero(fitting > np.arange(len(group))), -1]
            if at < 0:
                continue
            first, last = int(starts[at]), int(ends[group[fitting[at]]])
        found.append((first, last))
        most = None if most is None else most - (last - first)
    return found


def _cut(rows: RowGrid, regions: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield the lengths of the chunks after the regions were cut to the usual length."""
    lengths = rows.lengths
    starts = np.cumsum(lengths) - lengths
    at = 0
    for first, last in regions:
        yield from lengths[at : np.searchsorted(starts, first)].tolist()
        whole, rest = divmod(last - first, rows.unit)
        yield from [rows.unit] * whole
        yield from [rest] * bool(rest)
        at = int(np.searchsorted(starts, last))
    yield from lengths[at:].tolist()


def _changed_since(repo: Repo, time: datetime) -> set[str]:
    """Return the arrays that commits after a time changed."""
    older = [commit for commit in repo.log() if commit.time <= time]
    if not older:
        return set(repo._nodes)
    diff = repo.diff(older[0].id, repo.snapshot_id)
    return {*diff.chunks, *diff.shapes, *diff.new_arrays, *diff.updated_arrays}
