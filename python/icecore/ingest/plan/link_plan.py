"""Plan of a ``link``: the path of each array, and which arrays are linked or copied, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from icecore.ingest.options import LinkOptions
from icecore.ingest.plan.assembly import Assembly, Step
from icecore.ingest.plan.placement import assemble
from icecore.ingest.plan.planned_array import (
    PlannedArray,
    codec_label,
    describe,
    meets,
    regular,
    skipped,
    stored_layout,
)
from icecore.ingest.plan.resolve_sources import Sources
from icecore.ingest.report import Report, Row
from icecore.ingest.write import write_references
from icecore.ingest.write.copy_arrays import own_codecs, own_layout
from icecore.ingest.write.destination import source_notes
from icecore.repository.nodes import Node, dtype_label
from icecore.repository.repo import Repo
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import ArrayEntry, chunk_grid
from icecore.sources.mapping.stitched_array import decodes_alike
from icecore.writing.row_grid import lengths_of


@dataclass
class LinkPlan:
    """Everything that a ``link`` will write; ``str(plan)`` is a table, ``as_dict()`` the same for JSON.

    Attributes:
        options: arguments of the call.
        assembly: groups and arrays, and the stored arrays at their paths.
        steps: the arrays to link or copy.
        failures: sources and arrays that can be neither linked nor copied.
        notes: notes for readers of the arrays.
        anything: whether anything would be written.
    """

    options: LinkOptions
    assembly: Assembly
    steps: list[LinkStep]
    failures: list[Failure] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)
    anything: bool = False

    @property
    def arrays(self) -> list[PlannedArray]:
        """The arrays, by path."""
        planned = [_planned(each) for each in self.steps]
        return sorted([*planned, *skipped(self.assembly)], key=lambda array: array.path)

    def __str__(self) -> str:
        return describe(self.arrays, ())

    def __repr__(self) -> str:
        return f"<icecore.LinkPlan>\n{self}"

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {"arrays": [asdict(array) for array in self.arrays]}

    def report(self) -> Report:
        """A report that expects every array to be written as planned."""
        report = Report(failures=list(self.failures), notes=list(self.notes), dry_run=self.options.dry_run)
        report.rows = [each.row for each in self.steps]
        report.rows += [
            Row(path, "skipped", why, raw=entry.nbytes) for path, entry, why in self.assembly.skipped
        ]
        report.plan = self if self.options.dry_run else None
        report.sort()
        return report


def plan(options: LinkOptions, sources: Sources, base: Repo | None) -> LinkPlan:
    """Plan the link of ``sources`` onto the version ``base`` (None: no repository yet).

    Raises:
        DamagedSource: one of several joined files is damaged.
    """
    assembly = assemble(
        sources.indexed,
        options.group,
        options.joined,
        base,
        options.existing,
        tolerance=options.coord_tolerance,
        inserts=True,
        merge=options.merge,
    )
    steps = [link_step(step) for step in assembly.steps]
    notes = [*sources.notes, *source_notes(sources.indexed), *assembly.notes]
    notes += write_references.unreadable(options.into, [each.step.entry for each in steps])
    failures = [*sources.failures, *assembly.failures]
    return LinkPlan(options, assembly, steps, failures, notes, assembly.anything(base))


def _planned(each: LinkStep) -> PlannedArray:
    step, entry = each.step, each.step.entry
    if step.old is not None:
        (chunk, shard), codec = stored_layout(step), codec_label(step.old.codecs)
    elif each.how == "copied":
        where = own_layout(step)
        chunk, shard, codec = where.chunk, where.shard, codec_label(own_codecs(step, where))
    else:
        chunk, shard, codec = regular(entry), None, codec_label(entry.codecs)
    label = dtype_label(entry.data_type)
    return PlannedArray(
        step.path, meets(step), each.how, step.shape, label, chunk, shard, codec, entry.nbytes, each.why
    )


# Decide whether an array is linked, copied, or partly both.

#: new parts up to this size (bytes) are copied rather than linked with chunks of different lengths
_SMALL = 64 << 10
#: codecs that icecore can encode, so that single chunks among linked ones can be copied
_WRITABLE = {
    "bytes",
    "transpose",
    "vlen-utf8",
    "vlen-bytes",
    "gzip",
    "zstd",
    "blosc",
    "crc32c",
    "sharding_indexed",
}
_WRITABLE |= {
    f"numcodecs.{name}"
    for name in ("zlib", "gzip", "zstd", "lz4", "bz2", "blosc", "shuffle", "fletcher32", "crc32c")
}


@dataclass(frozen=True)
class LinkStep:
    """One array to link or copy.

    Attributes:
        step: the array, and the stored array at its path.
        how: ``linked``; ``mixed`` (linked, with some chunks copied under the same codecs); ``copied``.
        why: the reason for a copy, or a remark on the links.
    """

    step: Step
    how: str
    why: str

    @property
    def row(self) -> Row:
        """The step as a row of the report."""
        entry = self.step.entry
        links = entry.links if self.how != "copied" else None
        chunks, nbytes = (len(links), links.nbytes) if links is not None else (0, 0)
        return Row(self.step.path, self.how, self.why, chunks, nbytes, entry.nbytes)


def link_step(step: Step) -> LinkStep:
    """Decide how one array is written."""
    entry = step.entry
    if step.whole:
        return LinkStep(step, "linked", entry.note)
    if entry.links is None:
        return LinkStep(step, "copied", entry.note or "its bytes can't be linked")
    why = _misfit(step) if step.old is not None else ""
    if why:
        return LinkStep(step, "copied", why)
    if not entry.native:
        return LinkStep(step, "linked", entry.note)
    few = f"{len(entry.native):,} of its chunks can't be linked"
    if not writable(entry.codecs):
        names = ", ".join(codec["name"] for codec in entry.codecs)
        return LinkStep(step, "copied", f"{few}, and {names} can't be written")
    return LinkStep(step, "mixed", entry.note or few)


def writable(codecs: list[dict[str, Any]]) -> bool:
    """Whether icecore can encode with these codecs."""
    return all(codec["name"] in _WRITABLE for codec in codecs)


def _misfit(step: Step) -> str:
    """Return why the new part can't be linked into the stored array's grid; empty if it can."""
    entry, old = step.entry, step.old
    assert old is not None
    if not decodes_alike(entry.codecs, old.document["codecs"]):
        return "other codecs than in the repository"
    if entry.fill_value != old.document.get("fill_value"):
        return "another fill value than in the repository"
    grid = append_grid(step)
    if isinstance(grid, str):
        return grid
    if not grid.is_regular and entry.nbytes <= _SMALL and entry.read is not None and writable(entry.codecs):
        return "small, and its chunks don't fit those in the repository"
    if grid.border is not None and not writable(entry.codecs):
        return f"begins at {step.start}, inside a chunk that can't be written again"
    return ""


# Chunk grid of a linked array after more linked chunks were appended.


@dataclass(frozen=True)
class AppendGrid:
    """Grid of an array after appending.

    Attributes:
        document: the ``chunk_grid`` of its metadata.
        counts: number of chunks along each axis.
        first: number of the first new chunk along the joined axis.
        border: the last stored rows (first, last + 1) along that axis whose chunk is cut to their length, so
            that they must be written again; None if there are none.
    """

    document: dict[str, Any]
    counts: tuple[int, ...]
    first: int
    border: tuple[int, int] | None

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have one shape."""
        return self.document["name"] == "regular"

    def numbers(self, chunks: np.ndarray, grid: Sequence[int], axis: int) -> np.ndarray:
        """Return the numbers in this grid of chunks of the new part, which has a ``grid`` of its own."""
        index = list(np.unravel_index(np.asarray(chunks, "i8"), tuple(grid)))
        index[axis] = index[axis] + self.first
        return np.ascontiguousarray(np.ravel_multi_index(tuple(index), self.counts), "u8")


def append_grid(step: Step) -> AppendGrid | str:
    """Return the grid of the stored array with the new part's chunks, or why they don't fit."""
    entry, old, axis = step.entry, step.old, step.axis
    assert old is not None
    stored, new = _axes(old), _entry_axes(entry)
    if stored is None or any(
        i != axis and not np.array_equal(a, b) for i, (a, b) in enumerate(zip(stored, new, strict=True))
    ):
        return f"chunks of {_label(new, axis)}, in the repository of {_label(stored, axis)}"
    kept, border = _cut(stored[axis], step.start)
    lengths = np.concatenate([kept, new[axis]])
    is_regular = len(np.unique(lengths)) <= 1 and border is None
    axes = [lengths if i == axis else each for i, each in enumerate(stored)]
    chunks: Any = tuple(int(each[0]) if len(each) else 1 for each in axes)
    grid = chunk_grid(chunks if is_regular else [each.tolist() for each in axes])
    return AppendGrid(grid, tuple(len(each) for each in axes), len(kept), border)


def _cut(lengths: np.ndarray, rows: int) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Return the chunk lengths of the first ``rows`` rows, and the rows of a chunk that is cut."""
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    last = int(np.searchsorted(bounds, rows))
    if bounds[last] == rows:
        return lengths[:last], None
    first = int(bounds[last - 1])
    return np.append(lengths[: last - 1], rows - first), (first, rows)


def _axes(node: Node) -> list[np.ndarray] | None:
    """Return the chunk lengths along each axis of a stored array; None if it has shards."""
    configuration: Mapping[str, Any] = node.document["chunk_grid"]["configuration"]
    if node.grid[1] is not None:
        return None
    if (shapes := configuration.get("chunk_shapes")) is not None:
        axes = [lengths_of(axis) if isinstance(axis, list) else None for axis in shapes]
        return [
            _regular(n, int(shapes[i])) if a is None else a
            for i, (n, a) in enumerate(zip(node.shape, axes, strict=True))
        ]
    return [_regular(n, c) for n, c in zip(node.shape, configuration["chunk_shape"], strict=True)]


def _entry_axes(entry: ArrayEntry) -> list[np.ndarray]:
    if isinstance(entry.chunks, tuple):
        return [_regular(n, c) for n, c in zip(entry.shape, entry.chunks, strict=True)]
    return [np.asarray(axis, "i8") for axis in entry.chunks]


def _regular(length: int, chunk: int) -> np.ndarray:
    return np.full(-(-length // chunk), chunk, "i8")


def _label(axes: list[np.ndarray] | None, axis: int) -> str:
    if axes is None:
        return "shards"
    lengths = [int(each[0]) if len(each) else 0 for each in axes]
    return f"{tuple(lengths)}" if len(np.unique(axes[axis])) <= 1 else f"different lengths along axis {axis}"
