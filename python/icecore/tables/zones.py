"""How summaries are stored: one row of a few arrays for each array of a group (docs/format.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.attributes import dump
from icecore.nodes import SUMMARY

if TYPE_CHECKING:
    from icecore.repo import Repo
    from icecore.writer import Writer

#: rows of a zone
ZONE = 4096
#: bytes of a chunk, about: a clause on one column of a long table should not read those of all others
_CHUNK = 1 << 16
_INTERVALS = 4
#: arrays of (columns, zones, …): the extremes and intervals of whole numbers and times, the same of floats,
#: mean and rms, and the number of values
_PARTS: dict[str, tuple[str, tuple[int, ...], tuple[str, ...]]] = {
    "whole": ("i8", (1 + _INTERVALS, 2), ("interval", "end")),
    "real": ("f8", (1 + _INTERVALS, 2), ("interval", "end")),
    "moments": ("f8", (2,), ("moment",)),
    "count": ("u4", (), ()),
}


@dataclass(frozen=True)
class Zones:
    """One column's summary, in int64 or float64 whatever the column's type.

    Attributes:
        rows: of the column.
        digest: what it was made from.
        ranges: (zones, 5, 2): min and max, then the four intervals.
        moments: (zones, 2): mean and rms.
        count: (zones,).
    """

    rows: int
    digest: str
    ranges: np.ndarray
    moments: np.ndarray
    count: np.ndarray

    @property
    def kind(self) -> str:
        """The array that holds ``ranges``."""
        return "real" if self.ranges.dtype.kind == "f" else "whole"

    def narrowed(self, dtype: np.dtype[Any]) -> dict[str, np.ndarray]:
        """min, max, mean, rms, count, intervals, with values in the column's own type."""
        values = self.ranges.view(dtype) if dtype.kind in "mM" else self.ranges.astype(dtype)
        ends, moments = values[:, 0], self.moments
        parts = {"min": ends[:, 0], "max": ends[:, 1], "mean": moments[:, 0], "rms": moments[:, 1]}
        return {**parts, "count": self.count, "intervals": values[:, 1:]}


def widened(summary: dict[str, Any], dtype: np.dtype[Any]) -> Zones:
    """What the engine makes of a column; uint64 beyond int64 wraps around, and back in ``narrowed``."""
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
    )


def joined(old: Zones, zones: int, new: Zones) -> Zones:
    """So many zones of the one, and all of the other behind them: the same column in more rows."""
    return Zones(
        new.rows,
        new.digest,
        np.concatenate([old.ranges[:zones], new.ranges]),
        np.concatenate([old.moments[:zones], new.moments]),
        np.concatenate([old.count[:zones], new.count]),
    )


def entries(repo: Repo, parent: str) -> dict[str, dict[str, Any]]:
    """The arrays of a group that have a summary: name → {at, kind, rows, digest}."""
    node = repo._nodes.get(_top(parent))
    summary = node.ours.get("summary") if node is not None else None
    kept = summary.get("columns") if isinstance(summary, dict) else None
    return {name: entry for name, entry in kept.items() if _sound(entry)} if isinstance(kept, dict) else {}


def _sound(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("kind") not in ("whole", "real"):
        return False
    numbers = (entry.get("at"), entry.get("rows"))
    return all(isinstance(n, int) and n >= 0 for n in numbers) and isinstance(entry.get("digest"), str)


def load(repo: Repo, parent: str, entry: dict[str, Any]) -> Zones:
    """A summary that ``entries`` names."""
    top, zones = _top(parent), -(-entry["rows"] // ZONE)
    part = (entry["at"], slice(0, zones))
    found = repo.read({f"{top}/{name}": part for name in (entry["kind"], "moments", "count")})
    return Zones(entry["rows"], entry["digest"], *found.values())


def store(writer: Writer, parent: str, columns: dict[str, Zones]) -> None:
    """Write summaries of arrays of one group, beside those that the group's other arrays have."""
    view, top = writer._view(), _top(parent)
    others = {
        name: entry
        for name, entry in entries(view, parent).items()
        if name not in columns and f"{parent.rstrip('/')}/{name}" in view
    }
    every = {name: load(view, parent, entry) for name, entry in others.items()} | columns
    if writer._native.exists(top):
        writer.delete(top)
    writer._parents(top)
    stated = {
        name: {"at": at, "kind": found.kind, "rows": found.rows, "digest": found.digest}
        for at, (name, found) in enumerate(every.items())
    }
    writer._native.add_group(top, dump({}, {"summary": {"zone": ZONE, "columns": stated}}))
    for name, (dtype, item, dims) in _PARTS.items():
        shape = (len(every), max(len(found.count) for found in every.values()), *item)
        values = np.zeros(shape, dtype)
        for at, found in enumerate(every.values()):
            part = found.count if name == "count" else found.moments if name == "moments" else found.ranges
            if name in ("count", "moments", found.kind):
                values[at, : len(part)] = part
        if name in ("count", "moments") or any(found.kind == name for found in every.values()):
            _write(writer, f"{top}/{name}", values, ("column", "zone", *dims))


def _write(writer: Writer, path: str, values: np.ndarray, dims: tuple[str, ...]) -> None:
    columns, zones, *item = values.shape
    row = values.itemsize * int(np.prod(item, dtype="i8"))
    length = min(max(zones, 1), _CHUNK // row)
    together = min(max(_CHUNK // (row * length), 1), columns)
    unit = (together, length, *item)
    stored = writer.array(path, values.dtype, values.shape, dims, chunks=unit, shards=unit, codec="default")
    if zones:
        stored[...] = values


def _top(parent: str) -> str:
    return f"/{SUMMARY}{parent.rstrip('/')}/r{ZONE}"
