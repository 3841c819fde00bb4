"""Elements of a source, read region by region and encoded into the repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from icecore import codecspec, layout, replacing
from icecore.analyzer.plan import Planned
from icecore.analyzer.sample import Kind
from icecore.analyzer.watch import Watch, goal_of
from icecore.arraywriter import ArrayWriter
from icecore.assemble import Step
from icecore.nodes import Node
from icecore.sources.arraymap import ArrayEntry, Reader
from icecore.sourcing import ours
from icecore.writer import Writer

Progress = Callable[[str, int], None]


def copy_new(
    writer: Writer,
    step: Step,
    read: Reader,
    where: layout.Layout,
    planned: Planned,
    budget: int,
    progress: Progress,
) -> None:
    """Make an array and write all of it, in boxes of whole shards of at most ``budget`` bytes where a shard
    allows it.
    """
    from icecore import _icecore

    entry, path = step.entry, step.path
    kept = ours(entry) | ({"codec": planned.record} if planned.record else {})
    document = layout.document(
        entry.shape, entry.data_type, entry.fill_value, where, planned.codecs, entry.dims, entry.attrs, kept
    )
    replacing.make(writer, step, document)
    if not entry.shape:
        writer._native.write(path, (), read(()))
        progress(path, entry.nbytes)
        return
    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    itemsize = layout.itemsize(entry.dtype)
    watch, done = _watch(entry, where, planned), 0
    for start, extent in _icecore.gather_regions(entry.shape, where.unit, source, itemsize, max(budget, 1)):
        data = np.asarray(read(tuple(slice(s, s + n) for s, n in zip(start, extent, strict=True))), order="C")
        found = watch.look(data.shape, data.__getitem__, done) if watch is not None and done else None
        if found is not None:
            changed = layout.recoded(json.loads(document), found.codecs or [], {"drift": found.note})
            document = json.dumps(changed, allow_nan=False)
            writer._native.update_array(path, document)
        writer._native.write(path, tuple(start), data)
        progress(path, data.nbytes)
        done += data.nbytes


def _watch(entry: ArrayEntry, where: layout.Layout, planned: Planned) -> Watch | None:
    """Looks again where codecs were measured."""
    goal = goal_of(planned.record)
    if goal is None:
        return None
    kind = Kind(entry.data_type, entry.dtype, entry.fill_value)
    return Watch(kind, where.chunk, planned.codecs, goal, planned.portable)


def at_once(entry: ArrayEntry, read: Reader) -> Reader:
    """A reader that reads the whole array when it is first asked, and keeps it: sampling and copying then
    read the source once.
    """
    held: list[np.ndarray] = []

    def reading(region: tuple[slice, ...]) -> np.ndarray:
        if not held:
            held.append(read(tuple(slice(0, n) for n in entry.shape)))
        return held[0][region]

    return reading


def copy_after(writer: Writer, step: Step, read: Reader, progress: Progress) -> None:
    """Write the new part of an array that exists, with its own chunks and codecs."""
    assert step.old is not None
    array = ArrayWriter(writer, step.old, step.entry.dtype)
    array.resize(step.shape)

    def reading(region: tuple[slice, ...]) -> np.ndarray:
        data = read(region)
        progress(step.path, data.nbytes)
        return data

    array.write_from(step.origin, step.entry.shape, reading)


def grown(step: Step) -> Node:
    """The stored array's node with the shape it will have."""
    assert step.old is not None
    document = {**step.old.document, "shape": list(step.shape)}
    return Node(step.path, True, json.dumps(document, allow_nan=False))


def own_layout(step: Step) -> layout.Layout:
    """The planned layout of an array that is copied as a whole."""
    entry = step.entry
    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    return layout.plan(entry.shape, layout.itemsize(entry.dtype), source_chunk=source)


def own_codecs(step: Step, where: layout.Layout) -> list[dict[str, Any]]:
    """The codecs that the data type suggests."""
    return codecspec.resolve("auto", step.entry.data_type, step.entry.dtype, where.chunk)
