"""Append to arrays with a time axis: the new part begins at its GPS time, and gaps are filled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.ingest.plan.repository_source import linked_entry, stored_entry
from icecore.repository.nodes import Node
from icecore.repository.time_axis import KEY, NS, TimeAxis, seconds_text
from icecore.sources.gwf.entry import fill_of
from icecore.sources.gwf.timeline import MOVED, SMALL
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Reader, Region
from icecore.sources.mapping.join_in_time import by_detector, differences, join
from icecore.sources.mapping.stitched_array import decodes_alike
from icecore.tables.query.event_columns import ENTRIES

if TYPE_CHECKING:
    from icecore.ingest.plan.resolve_sources import Source
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo


def on_time_axes(arrays: ArrayMap) -> bool:
    """Whether each array of a source has a time axis."""
    return bool(arrays.arrays) and all(KEY in entry.attrs for entry in arrays.arrays.values())


def series_of(sources: Sequence[Source]) -> list[Source]:
    """Join the sources of each detector in time; one source per detector is returned."""
    if all(on_time_axes(source.arrays) for source in sources):
        return list(sources)  # frames are joined when they are indexed
    joined = []
    for numbers in by_detector([source.arrays for source in sources]):
        first = sources[numbers[0]]
        arrays = join([sources[i].arrays for i in numbers], first.name)
        joined.append(replace(first, arrays=arrays))
    return joined


def is_on_grid(axis: TimeAxis, start: int) -> bool:
    """Whether ``start`` (ns) is the time of a sample, as closely as frames that are joined at once may be."""
    off = abs(axis.time(axis.index(start)) - start)
    return off <= 1 or (off <= MOVED and off * SMALL <= axis.step * NS)


def continued(entry: ArrayEntry, node: Node, source: str) -> ArrayEntry:
    """Return ``entry`` as the part that follows the stored array ``node``, with the gap between them.

    Raises:
        Error: ``mismatch`` if the part begins before the stored array ends, or has another data type or
            rate; ``unsupported`` if it can be neither linked nor copied behind a gap.
    """
    old, new = TimeAxis.of(node.attrs), TimeAxis.of(entry.attrs)
    if old is None or new is None:
        raise errors.make("mismatch", f"{node.path} has no time axis, as the channel in {source} has")
    if (old.step, node.document["data_type"]) != (new.step, entry.data_type):
        found = f"{node.dtype_label} at {old.rate:g} Hz, {entry.dtype} at {new.rate:g} Hz in {source}"
        raise errors.make("mismatch", f"{node.path} has {found}", "link it into another group")
    changed = differences(node.attrs, entry.attrs)
    if changed:
        message = f"{node.path}: in {source} {'; '.join(changed)}"
        raise errors.make("mismatch", message, "link it into another group")
    gap = old.index(new.t0) - node.shape[0]
    if gap < 0 or not is_on_grid(old, new.t0):
        ends = (
            f"ends at GPS {seconds_text(old.time(node.shape[0]))}, {source} begins at {seconds_text(new.t0)}"
        )
        raise errors.make(
            "mismatch", f"{node.path} {ends}", "append files that begin where it ends, or later"
        )
    if entry.links is not None and len(entry.links) == prod(entry.grid):
        entry = replace(entry, fill_value=node.document["fill_value"])  # no gap: the fill value is never read
    if not gap:
        return entry
    read = None if entry.read is None or _is_linked(node) else BehindGap(entry.read, gap, entry.dtype)
    shape = (entry.shape[0] + gap,)
    if entry.links is not None and decodes_alike(entry.codecs, node.document["codecs"]):
        chunks, skipped = _behind_gap(entry, gap, node)
        links = replace(entry.links, chunks=entry.links.chunks + np.uint64(skipped))
        return replace(entry, shape=shape, chunks=chunks, links=links, native={}, read=read)
    if read is None:
        message = f"{node.path}: {source} can't be linked behind a gap of {gap} samples"
        raise errors.make("unsupported", message, "link all files again with --replace")
    return replace(entry, shape=shape, links=None, native={}, read=read)


def _behind_gap(entry: ArrayEntry, gap: int, node: Node) -> tuple[Any, int]:
    """Return the chunks of a part behind a gap, and how many of them are in the gap: chunks of the stored
    grid, or a single one.
    """
    stored = node.document["chunk_grid"]["configuration"].get("chunk_shape")
    if not isinstance(entry.chunks, tuple):
        return [[gap, *entry.chunks[0]]], 1
    if stored == list(entry.chunks) and not gap % stored[0]:
        return entry.chunks, gap // stored[0]
    return [[gap, *[entry.chunks[0]] * entry.grid[0]]], 1


@dataclass(frozen=True)
class BehindGap:
    """Reader of samples that follow a gap of ``gap`` samples; can be pickled."""

    read: Reader
    gap: int
    dtype: np.dtype

    def __call__(self, region: Region) -> np.ndarray:
        """Return the samples of ``region`` (one slice), gap included."""
        low, high = region[0].start, region[0].stop
        out = np.full(high - low, fill_of(self.dtype), self.dtype)
        first = max(low, self.gap)
        if first < high:
            out[first - low :] = self.read((slice(first - self.gap, high - self.gap),))
        return out


def _is_linked(node: Node) -> bool:
    """Whether the stored chunks are vectors of frame files, which icecore can't write."""
    return any(codec.get("name") == "icecore.gwf_vect" for codec in node.codecs)


def grown_attributes(attributes: Mapping[str, Any], entry: ArrayEntry) -> dict[str, Any]:
    """The stored attributes with the segments of the appended part."""
    if KEY not in attributes or KEY not in entry.attrs:
        return dict(attributes)
    axis = TimeAxis.of(attributes)
    assert axis is not None
    segments = [*attributes[KEY]["segments"]]
    for start, stop in entry.attrs[KEY]["segments"]:
        start, stop = axis.time(axis.index(start)), axis.time(axis.index(stop))
        if segments and segments[-1][1] == start:
            segments[-1] = [segments[-1][0], stop]
        else:
            segments.append([start, stop])
    spans = entry.attrs.get("data_valid") or ()
    new = [[axis.time(axis.index(a)), axis.time(axis.index(b)), value] for a, b, value in spans]
    invalid = [*(attributes.get("data_valid") or ()), *new]
    more = {"data_valid": invalid} if invalid else {}
    return {**attributes, **more, KEY: {**attributes[KEY], "segments": segments}}


def grown_node(node: Node, shape: Sequence[int], entry: ArrayEntry) -> Node:
    """Return the stored array's node with the shape and segments after appending."""
    attributes = grown_attributes(node.document.get("attributes", {}), entry)
    document = {**node.document, "shape": list(shape), "attributes": attributes}
    return Node(node.path, True, json.dumps(document, allow_nan=False))


# Append trees to a stored one: stored and new entries become one chain.

#: the dimension along which trees are joined
ENTRY = "entry"


def is_tree(arrays: ArrayMap) -> bool:
    """Whether the root of a source is a tree: a group that states its number of entries."""
    return ENTRIES in arrays.groups.get("/", {})


def has_trees(arrays: ArrayMap) -> bool:
    """Whether a source is a tree, or has trees in groups."""
    return any(ENTRIES in attrs for attrs in arrays.groups.values())


def continued_tree(new: ArrayMap, root: str, repo: Repo) -> ArrayMap:
    """Return the tree stored at ``root`` with the entries of ``new`` behind its own.

    References to files are kept; arrays whose parts are stored in different ways are copied.

    Raises:
        Error: ``mismatch`` if the branches or their types differ, or if ``root`` is not a tree.
    """
    from icecore.sources.root.chain import join

    stored = _stored(root, repo)
    joined = join([stored, new])
    if joined.failed:
        raise joined.failed[0]
    joined.source, joined.dropped, joined.failed = new.source, new.dropped, new.failed
    joined.files, joined.without = new.files, None
    return joined


def _stored(root: str, repo: Repo) -> ArrayMap:
    prefix = root.rstrip("/") + "/"
    result = ArrayMap("the repository")
    for node in repo._visible():
        if node.path != root and not node.path.startswith(prefix):
            continue
        path = "/" + node.path[len(prefix) :] if node.path != root else "/"
        if node.is_array:
            result.add(_entry(repo._array(node.path), path))
        else:
            result.groups[path] = node.attrs
    if not is_tree(result):
        message = f"{root} does not state a number of entries, so it is not a tree that can grow"
        raise errors.make("mismatch", message, "link the tree into another group")
    return result


def _entry(array: Array, path: str) -> ArrayEntry:
    """Return a stored array as the entry of a source, with its references if all its chunks are linked."""
    entry = linked_entry(array, path)
    full = isinstance(entry.chunks, list) or not any(
        n % c for n, c in zip(array.shape[:1], entry.chunks[:1], strict=True)
    )
    if entry.links is not None and full and len(entry.links) == prod(entry.grid):
        return entry
    return replace(stored_entry(array, path), chunks=entry.chunks)
