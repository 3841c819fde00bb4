"""Storage of summaries: one row in a few arrays for each array of a group (docs/format.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.repository.nodes import SUMMARY
from icecore.repository.typed_attributes import dump

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer

#: rows of a zone
ZONE = 4096
#: approximate bytes of a chunk, so that a clause on one column does not read the summaries of all columns
_CHUNK = 1 << 16
_INTERVALS = 4
#: arrays of shape (columns, zones, …): ranges of integers and times, ranges of floats, mean and rms, counts
_PARTS: dict[str, tuple[str, tuple[int, ...], tuple[str, ...]]] = {
    "whole": ("i8", (1 + _INTERVALS, 2), ("interval", "end")),
    "real": ("f8", (1 + _INTERVALS, 2), ("interval", "end")),
    "moments": ("f8", (2,), ("moment",)),
    "count": ("u4", (), ()),
}


@dataclass(frozen=True)
class Zones:
    """Summary of one column, in int64 or float64 whatever the column's dtype.

    Attributes:
        rows: number of rows of the column.
        digest: digest of the summarised data.
        ranges: shape (zones, 5, 2): min and max, then the four intervals.
        moments: shape (zones, 2): mean and rms.
        count: shape (zones,): number of values.
        first: index of the first zone in these arrays; earlier zones are unchanged in storage.
    """

    rows: int
    digest: str
    ranges: np.ndarray
    moments: np.ndarray
    count: np.ndarray
    first: int = 0

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """Return array name → values to store."""
        return {self.kind: self.ranges, "moments": self.moments, "count": self.count}

    @property
    def kind(self) -> str:
        """Name of the array that stores ``ranges``."""
        return "real" if self.ranges.dtype.kind == "f" else "whole"

    def narrowed(self, dtype: np.dtype[Any]) -> dict[str, np.ndarray]:
        """Return min, max, mean, rms, count and intervals, with values in the column's dtype."""
        values = self.ranges.view(dtype) if dtype.kind in "mM" else self.ranges.astype(dtype)
        ends, moments = values[:, 0], self.moments
        parts = {"min": ends[:, 0], "max": ends[:, 1], "mean": moments[:, 0], "rms": moments[:, 1]}
        return {**parts, "count": self.count, "intervals": values[:, 1:]}


def widened(summary: dict[str, Any], dtype: np.dtype[Any], first: int = 0) -> Zones:
    """Convert the engine's summary of the zones from ``first`` on.

    uint64 values above the int64 range wrap around; ``narrowed`` reverses that.
    """
    ends = np.stack([summary["min"].view(dtype), summary["max"].view(dtype)], axis=-1)
    intervals = summary["intervals"].view(dtype).reshape(-1, _INTERVALS, 2)
    ranges = np.concatenate([ends[:, None], intervals], axis=1)
    if dtype.kind in "mM":
        ranges = ranges.view("i8")
    return Zones(
        summary["rows"],
        summary["digest"],
        ranges.astype("f8" if dtype.kind == "f" else "i8"),
        np.stack([summary["mean"].view("f8"), summary["rms"].view("f8")], axis=-1),
        summary["count"].view("u4"),
        first,
    )


def _whole(repo: Repo, parent: str, name: str, found: Zones) -> Zones:
    """Return a summary completed with the stored zones before its first."""
    if not found.first:
        return found
    old = load(repo, parent, entries(repo, parent)[name])
    both = zip(old.parts.values(), found.parts.values(), strict=True)
    ranges, moments, count = (np.concatenate([before[: found.first], behind]) for before, behind in both)
    return Zones(found.rows, found.digest, ranges, moments, count)


def entries(repo: Repo, parent: str) -> dict[str, dict[str, Any]]:
    """Return the summaries of a group's arrays: name → {at, kind, rows, digest}."""
    node = repo._node(_top(parent))
    summary = node.ours.get("summary") if node is not None else None
    kept = summary.get("columns") if isinstance(summary, dict) else None
    return {name: entry for name, entry in kept.items() if _sound(entry)} if isinstance(kept, dict) else {}


def _sound(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("kind") not in ("whole", "real"):
        return False
    numbers = (entry.get("at"), entry.get("rows"))
    return all(isinstance(n, int) and n >= 0 for n in numbers) and isinstance(entry.get("digest"), str)


def load(repo: Repo, parent: str, entry: dict[str, Any]) -> Zones:
    """Load the summary of an entry of :func:`entries`."""
    ranges, moments, count = repo.read(_places(parent, entry)).values()
    return Zones(entry["rows"], entry["digest"], ranges, moments, count)


def stored_bytes(repo: Repo, parent: str, entry: dict[str, Any]) -> int:
    """Return the number of stored bytes that :func:`load` fetches."""
    return int(repo.plan(_places(parent, entry)).bytes_fetched)


def _places(parent: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the paths of the arrays with the parts of a summary, and its position in them."""
    part = (entry["at"], slice(0, -(-entry["rows"] // ZONE)))
    return {f"{_top(parent)}/{name}": part for name in (entry["kind"], "moments", "count")}


def store(writer: Writer, parent: str, columns: dict[str, Zones]) -> None:
    """Write summaries of arrays of one group; the summaries of other arrays of the group are kept."""
    view, top = writer._view(), _top(parent)
    if _grows(view, parent, columns):
        _extend(writer, view, parent, columns)
        return
    others = {
        name: entry
        for name, entry in entries(view, parent).items()
        if name not in columns and f"{parent.rstrip('/')}/{name}" in view
    }
    every = {name: load(view, parent, entry) for name, entry in others.items()}
    every |= {name: _whole(view, parent, name, found) for name, found in columns.items()}
    if writer._native.exists(top):
        writer.delete(top)
    writer._parents(top)
    writer._native.add_group(top, _stated(every))
    for name, (dtype, item, dims) in _PARTS.items():
        parts = {at: found.parts[name] for at, found in enumerate(every.values()) if name in found.parts}
        if not parts:
            continue
        values = np.zeros((len(every), max(len(found.count) for found in every.values()), *item), dtype)
        for at, part in parts.items():
            values[at, : len(part)] = part
        _make(writer, f"{top}/{name}", values, dims)


def _make(writer: Writer, path: str, values: np.ndarray, dims: tuple[str, ...]) -> None:
    unit, dims = _unit(values.shape, values.itemsize), ("column", "zone", *dims)
    stored = writer.array(path, values.dtype, values.shape, dims, chunks=unit, shards=unit, codec="default")
    if values.size:
        stored[...] = values


def _stated(every: dict[str, Zones]) -> str:
    """Return the attributes of a group of summaries as JSON."""
    stated = {
        name: {"at": at, "kind": found.kind, "rows": found.rows, "digest": found.digest}
        for at, (name, found) in enumerate(every.items())
    }
    return dump({}, {"summary": {"zone": ZONE, "columns": stated}})


def _unit(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the chunk shape of an array of shape (columns, zones, …)."""
    columns, zones, *item = shape
    row = itemsize * int(np.prod(item, dtype="i8"))
    length = min(max(zones, 1), _CHUNK // row)
    return (min(max(_CHUNK // (row * length), 1), columns), length, *item)


def _grows(view: Repo, parent: str, columns: dict[str, Zones]) -> bool:
    """Return whether exactly these columns have summaries, so that zones can be appended."""
    if not all(found.first for found in columns.values()):
        return False
    known = [(name, entry["at"], entry["kind"]) for name, entry in entries(view, parent).items()]
    return known == [(name, at, found.kind) for at, (name, found) in enumerate(columns.items())]


def _extend(writer: Writer, view: Repo, parent: str, columns: dict[str, Zones]) -> None:
    """Write the chunks that contain new or changed zones.

    An array that was a single short chunk is written again with longer chunks.
    """
    top, first = _top(parent), min(found.first for found in columns.values())
    zones = max(len(found.count) + found.first for found in columns.values())
    for name, (dtype, item, dims) in _PARTS.items():
        path = f"{top}/{name}"
        if view._node(path) is None:
            continue
        before, shape = view._array(path), (len(columns), zones, *item)
        unit = _unit(shape, np.dtype(dtype).itemsize)
        begin = first // unit[1] * unit[1] if before.chunks == unit else 0
        values = np.zeros((len(columns), zones - begin, *item), dtype)
        kept = before[:, begin:]
        values[:, : kept.shape[1]] = kept
        for at, found in enumerate(columns.values()):
            if name in found.parts:
                values[at, found.first - begin :][: len(found.count)] = found.parts[name]
        if before.chunks == unit:
            stored = writer[path]
            stored.resize(shape)
            stored[:, begin:] = values
        else:
            writer.delete(path)
            _make(writer, path, values, dims)
    writer._native.set_attrs(top, _stated(columns))


def _top(parent: str) -> str:
    return f"/{SUMMARY}{parent.rstrip('/')}/r{ZONE}"
