"""Read elements of a source region by region and encode them into the repository."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from icecore.analyzer.choose_codec import Planned
from icecore.analyzer.drift_monitor import Watch, goal_of
from icecore.analyzer.sample import Kind
from icecore.codecs import rounding, spec
from icecore.display.progress import Progress
from icecore.ingest.plan import storage_choice
from icecore.ingest.plan.assembly import Step
from icecore.ingest.plan.continue_in_time import grown_node
from icecore.ingest.plan.repository_source import held_of
from icecore.layout import layout
from icecore.repository import zarr_dtypes
from icecore.repository.nodes import OURS, Node
from icecore.repository.time_axis import KEY
from icecore.sources.mapping.array_map import ArrayEntry, Reader
from icecore.sources.mapping.column_nulls import NULL, value_of
from icecore.sources.mapping.stored_chunks import StoredChunks
from icecore.writing.array_writer import ArrayWriter
from icecore.writing.writer import Writer

#: largest number of elements of a sparse array that are appended in one write
_APPENDED = 8 << 20


def copy_new(
    writer: Writer,
    step: Step,
    read: Reader,
    where: layout.Layout,
    planned: Planned,
    budget: int,
    progress: Progress,
    held: StoredChunks | None = None,
) -> str:
    """Create an array and write all of its data; return its first metadata document.

    The boxes are whole shards of at most ``budget`` bytes (one shard if a shard is larger). Of a sparse array
    only the boxes with stored chunks of the source (``held``) are written.
    """
    entry, path = step.entry, step.path
    entry.check()
    document = first = new_document(entry, where, planned)
    is_kept = storage_choice.make(writer, step, document)
    if not entry.shape:
        writer._native.write(path, (), read(()))
        progress(path, entry.nbytes)
        return first
    watch, done = _watch(entry, where, planned), 0
    old = held_of(writer._pending().array(path)) if is_kept and held is not None else None
    for start, extent in boxes(entry, where, max(budget, 1), held, old):
        data = np.asarray(read(tuple(slice(s, s + n) for s, n in zip(start, extent, strict=True))), order="C")
        found = watch.look(data.shape, data.__getitem__, done) if watch is not None and done else None
        if found is not None:
            changed = layout.recoded(json.loads(document), found.codecs or [], {"drift": found.note})
            document = json.dumps(changed, allow_nan=False)
            writer._native.update_array(path, document)
        writer._native.write(path, tuple(start), data)
        progress(path, data.nbytes)
        done += data.nbytes
    if done < entry.nbytes:
        progress(path, entry.nbytes - done)
    return first


def new_document(entry: ArrayEntry, where: layout.Layout, planned: Planned) -> str:
    """Return the metadata document of a new array."""
    kept = ours(entry) | ({"codec": planned.record} if planned.record else {})
    return layout.document(
        entry.shape, entry.data_type, entry.fill_value, where, planned.codecs, entry.dims, entry.attrs, kept
    )


def boxes(
    entry: ArrayEntry, where: layout.Layout, budget: int, held: StoredChunks | None, old: StoredChunks | None
) -> list[tuple[list[int], list[int]]]:
    """Return the boxes to write: all, or those with stored chunks in the source or in the replaced array."""
    from icecore import _icecore

    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    walk = entry.shape, where.unit, source, zarr_dtypes.itemsize(entry.dtype), budget
    if held is None:
        return _icecore.gather_regions(*walk)
    found = held.boxes(*walk)
    if old is not None:
        known = {tuple(start) for start, _ in found}
        found += [box for box in old.boxes(*walk) if tuple(box[0]) not in known]
    return found


def _watch(entry: ArrayEntry, where: layout.Layout, planned: Planned) -> Watch | None:
    """Return a watch that checks the choice of codecs while writing; None if codecs were not measured."""
    goal = goal_of(planned.record)
    if goal is None:
        return None
    kind = Kind(entry.data_type, entry.dtype, entry.fill_value)
    return Watch(kind, where.chunk, planned.codecs, goal, planned.portable)


def at_once(entry: ArrayEntry, read: Reader) -> Reader:
    """Return a reader that reads the whole array at its first call and keeps it.

    Sampling and copying then read the source only once.
    """
    held: list[np.ndarray] = []

    def reading(region: tuple[slice, ...]) -> np.ndarray:
        if not held:
            held.append(read(tuple(slice(0, n) for n in entry.shape)))
        return held[0][region]

    return reading


def copy_after(writer: Writer, step: Step, read: Reader, progress: Progress) -> None:
    """Append the new part of an existing array, with that array's chunks and codecs."""
    assert step.old is not None
    step.entry.check()
    old = step.old
    if KEY in step.entry.attrs:
        old = grown_node(old, old.shape, step.entry)
        writer._native.update_array(step.path, old.zarr_json)
    array = ArrayWriter(writer, old, step.entry.dtype)
    if _marks_null(writer, step):
        array.reread()

    def reading(region: tuple[slice, ...]) -> np.ndarray:
        data = read(region)
        progress(step.path, data.nbytes)
        return data

    held = step.entry.sparse()
    if held is None or step.entry.fill_value != step.old.document["fill_value"]:
        array.reach(step.shape)
        array.write_from(step.origin, step.entry.shape, reading)
        return
    array.resize(step.shape)
    for start, extent in held.boxes(step.shape, array.unit, None, 1, _APPENDED, step.origin):
        low = tuple(max(a, b) for a, b in zip(start, step.origin, strict=True))
        part = tuple(s + n - a for s, n, a in zip(start, extent, low, strict=True))
        ahead = tuple(a - b for a, b in zip(low, step.origin, strict=True))
        array.write_from(low, part, _behind(reading, ahead))


def _marks_null(writer: Writer, step: Step) -> bool:
    """Add the attribute that marks nulls to a stored column that had none so far."""
    entry, old = step.entry, step.old.attrs if step.old is not None else {}
    added = [name for name in NULL if name in entry.attrs and name not in old]
    if added:
        attrs = writer._view()._array(step.path).attrs
        values = {name: value_of(entry, name) for name in added}
        writer.attrs(step.path, {**attrs, **values})
    return bool(added)


def _behind(read: Reader, ahead: tuple[int, ...]) -> Reader:
    """Return ``read`` with all regions shifted by ``ahead`` elements per axis."""

    def reading(region: tuple[slice, ...]) -> np.ndarray:
        return read(tuple(slice(r.start + a, r.stop + a) for r, a in zip(region, ahead, strict=True)))

    return reading


def grown(step: Step) -> Node:
    """Return the stored array's node with its shape after appending."""
    assert step.old is not None
    return grown_node(step.old, step.shape, step.entry)


def own_layout(step: Step) -> layout.Layout:
    """The planned layout of an array that is copied as a whole."""
    entry = step.entry
    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    return layout.plan(entry.shape, zarr_dtypes.itemsize(entry.dtype), source_chunk=source)


def own_codecs(step: Step, where: layout.Layout) -> list[dict[str, Any]]:
    """Return the default codecs of the data type."""
    return spec.resolve("auto", step.entry.data_type, step.entry.dtype, where.chunk)


# Convert attributes of a source's array to their stored form.


def ours(entry: ArrayEntry) -> dict[str, Any]:
    """Return the metadata that icecore stores for an array in addition to its attributes."""
    kept: dict[str, Any] = {}
    if entry.attr_types:
        kept["attr_types"] = dict(entry.attr_types)
    if entry.enum:
        kept["enum"] = list(entry.enum)
    if entry.subarrays:
        kept["subarrays"] = dict(entry.subarrays)
    if entry.text_fill is not None:
        kept["fill"] = entry.text_fill
    if entry.rounding is not None:
        kept[rounding.KEY] = entry.rounding.record
    if entry.unlimited:
        kept["unlimited"] = list(entry.unlimited)
    return kept


def attributes(entry: ArrayEntry) -> dict[str, Any]:
    """Return an entry's attributes in stored form, including icecore's own metadata."""
    kept = ours(entry)
    return {**entry.attrs, OURS: kept} if kept else dict(entry.attrs)
