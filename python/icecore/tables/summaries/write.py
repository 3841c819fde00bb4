"""Summaries: min, max, mean, rms, count and covering intervals per column and zone of 4,096 rows.

The summaries of all arrays of a group are stored in a few ordinary arrays of a hidden group,
``/__summary__/<path of the group>/r4096`` (`icecore.tables.summaries.zones`), and are committed with the
data. A summary is ignored if its array has changed since (rows added, a chunk written or linked again).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.repo import Repo
from icecore.tables.query.column import column
from icecore.tables.summaries import zones
from icecore.tables.summaries.zones import Zones

if TYPE_CHECKING:
    from icecore.writing.writer import Writer

_MEMORY = 64 << 20
#: the same for data that was just written and is read completely: small enough for the CPU cache
_NEAR = 8 << 20


def write(target: Writer | Repo, path: str, columns: Sequence[str] | None = None) -> list[str]:
    """Summarise the one-dimensional arrays of numbers and times at or below ``path``.

    Args:
        target: a writer, which commits the summaries with its data; or a repository, which gets a separate
            commit (open it again to use them).
        path: the path of an array or a group.
        columns: names of members of the group; all by default.

    Returns:
        The paths of the summarised arrays.

    Raises:
        Error: ``not-found``, and the errors of a read.
    """
    if not isinstance(target, Repo):
        return _write(target, lambda repo: _below(repo, path, columns))
    with target.writer(message=f"summaries of {address.absolute(path)}") as writer:
        return write(writer, path, columns)


def write_for(writer: Writer, paths: Iterable[str], made: Mapping[str, Zones] | None = None) -> list[str]:
    """Summarise arrays that were just packed or linked.

    Arrays that can't have a summary are skipped; summaries in ``made`` are not computed again.
    """
    wanted, made = list(paths), made or {}
    return _write(writer, lambda repo: [repo._array(path) for path in wanted], made)


def read_back(
    arrays: Sequence[Array], ranges: Sequence[tuple[int, int]], before: Sequence[Array | None] = ()
) -> tuple[list[list[int]], dict[str, Zones]]:
    """Read rows of arrays of equal length once, to compute both checksums and summaries.

    Args:
        arrays: arrays of one group.
        ranges: ranges of rows.
        before: for appended arrays, the array before the append, if its rows are unchanged. For arrays with a
            summary only the zones that overlap ``ranges`` are read.

    Returns:
        For each range the CRC-32C of every array's elements; and path → summary, which starts at the first
        zone that was read.
    """
    known = [_is_known(old) for old in before] or [False] * len(arrays)
    start = min((first for first, _ in ranges), default=0) // zones.ZONE * zones.ZONE
    starts = [start if old or (before and not _fits(a)) else 0 for a, old in zip(arrays, known, strict=True)]
    found: dict[int, dict[str, Any]] = {}
    # Long strings are read separately: a whole zone of them can take gigabytes.
    together = [
        (first, a.dtype.itemsize * zones.ZONE > _NEAR) for a, first in zip(arrays, starts, strict=True)
    ]
    for first, long in set(together):
        some = [i for i, own in enumerate(together) if own == (first, long)]
        entries = _native([arrays[i] for i in some]).summarise(
            list(range(len(some))), _NEAR, [(begin, end) for begin, end in ranges], first
        )
        found |= dict(zip(some, entries, strict=True))
    made = {}
    for i, (array, first) in enumerate(zip(arrays, starts, strict=True)):
        if _fits(array):
            made[array.path] = zones.widened(found[i], array.dtype, first // zones.ZONE)
    return [list(of) for of in zip(*(found[i]["checks"] for i in range(len(arrays))), strict=True)], made


def _is_known(array: Array | None) -> bool:
    """Return whether an array has a valid summary."""
    return array is not None and _fits(array) and state(array) == "fresh"


def state(array: Array) -> str:
    """Return the state of an array's summary: ``"fresh"``, ``"stale"`` or ``"none"``.

    Raises:
        Error: ``source-changed``, ``source-missing`` if a linked file has changed or is missing.
    """
    entry = zones.entries(array.repo, array._node.parent).get(array.name)
    if entry is None:
        return "none"
    return "fresh" if entry["digest"] == _native([array]).digest(0) else "stale"


def carry(writer: Writer, before: Repo, paths: Iterable[str]) -> None:
    """Keep the summaries of arrays whose linked files moved: the references changed, the data did not.

    Args:
        writer: a writer that has set the new references.
        before: the version before that.
        paths: paths of the arrays.
    """
    now = writer._view()
    by_group: dict[str, dict[str, Zones]] = {}
    for array in map(before._array, paths):
        entry = zones.entries(before, array._node.parent).get(array.name)
        if entry is None or entry["digest"] != _native([array]).digest(0, False):
            continue
        digest = _native([now._array(array.path)]).digest(0, False)
        kept = replace(zones.load(before, array._node.parent, entry), digest=digest)
        by_group.setdefault(array._node.parent, {})[array.name] = kept
    for parent, columns in by_group.items():
        zones.store(writer, parent, columns)


def _write(
    writer: Writer, chosen: Callable[[Repo], list[Array]], made: Mapping[str, Zones] | None = None
) -> list[str]:
    for unfinished in writer._arrays.values():
        unfinished.finish()
    by_group: dict[str, dict[str, Zones]] = {}
    known, done = made or {}, []
    for arrays in _together(chosen(writer._view())):
        missing = [array for array in arrays if array.path not in known]
        fresh = _native(missing).summarise(list(range(len(missing))), _MEMORY) if missing else []
        both = zip(missing, fresh, strict=True)
        of = {array.path: zones.widened(summary, array.dtype) for array, summary in both}
        for array in arrays:
            by_group.setdefault(array._node.parent, {})[array.name] = of.get(array.path) or known[array.path]
            done.append(array.path)
    for parent, columns in by_group.items():
        zones.store(writer, parent, columns)
    return done


def _native(arrays: Sequence[Array]) -> Any:
    from icecore import _icecore

    return _icecore.Table([column(array.name, array) for array in arrays])


def _below(repo: Repo, path: str, columns: Sequence[str] | None) -> list[Array]:
    found = repo[path]
    if isinstance(found, Group):
        arrays = [Array(repo, node) for node in repo._below(found.path) if node.is_array]
        if columns is not None:
            arrays = [found.arrays[name] for name in columns]
    else:
        arrays = [found]
    if not any(_fits(array) for array in arrays):
        raise errors.make(
            "not-found",
            f"{found.path} has no one-dimensional array of numbers or times",
            f"see `icecore ls {quote(repo.url)} {quote(found.path)}`",
        )
    return arrays


def _fits(array: Array) -> bool:
    return array.ndim == 1 and array.dtype.kind in "biufmM"


def _together(arrays: Iterable[Array]) -> list[list[Array]]:
    """Group arrays by parent and length; each group is read together."""
    groups: dict[tuple[str, int], list[Array]] = {}
    for array in filter(_fits, arrays):
        groups.setdefault((array._node.parent, array.shape[0]), []).append(array)
    return list(groups.values())


def read(array: Array) -> dict[str, np.ndarray]:
    """Return an array's summary: min, max, mean, rms, count of shape (zones,), intervals (zones, 4, 2).

    Raises:
        Error: ``not-found`` if the array has no summary.
    """
    entry = zones.entries(array.repo, array._node.parent).get(array.name)
    if entry is None:
        raise errors.make(
            "not-found", f"{array.path} has no summary", "icecore.tables.summaries.write.write(repo, path)"
        )
    return zones.load(array.repo, array._node.parent, entry).narrowed(array.dtype)


def finite(array: Array) -> bool:
    """Return whether an array has no infinities according to its summary: all intervals are finite."""
    return not bool(np.isinf(read(array)["intervals"].astype("f8")).any())
