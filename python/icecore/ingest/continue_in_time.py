"""Append to arrays with a time axis: the new part begins at its GPS time, and gaps are filled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.nodes import Node
from icecore.repository.time_axis import KEY, TimeAxis, seconds_text
from icecore.sources.gwf.entry import fill_of
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Reader, Region
from icecore.sources.mapping.join_in_time import by_detector, join
from icecore.sources.mapping.series_facts import differences

if TYPE_CHECKING:
    from icecore.ingest.resolve_sources import Source


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


def continued(entry: ArrayEntry, node: Node, source: str) -> ArrayEntry:
    """Return ``entry`` as the part that follows the stored array ``node``, with the gap between them.

    Raises:
        Error: ``mismatch`` if the part begins before the stored array ends, or has another data type or
            rate; ``unsupported`` if its linked vectors do not fit the stored chunks.
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
    if gap < 0 or abs(old.time(gap + node.shape[0]) - new.t0) > 1:
        ends = (
            f"ends at GPS {seconds_text(old.time(node.shape[0]))}, {source} begins at {seconds_text(new.t0)}"
        )
        raise errors.make(
            "mismatch", f"{node.path} {ends}", "append files that begin where it ends, or later"
        )
    if entry.links is not None and len(entry.links) == prod(entry.grid):
        entry = replace(entry, fill_value=node.document["fill_value"])  # no gap: the fill value is never read
    stored = node.document["chunk_grid"]["configuration"].get("chunk_shape")
    if not gap:
        return entry
    chunks = entry.chunks if isinstance(entry.chunks, tuple) else (0,)
    if entry.links is None or stored != list(chunks) or gap % chunks[0]:
        if entry.read is not None and not _is_linked(node):
            read = BehindGap(entry.read, gap, entry.dtype)
            return replace(entry, shape=(entry.shape[0] + gap,), links=None, native={}, read=read)
        message = f"{node.path}: a gap of {gap} samples does not fit chunks of {stored}"
        raise errors.make("unsupported", message, "link all files again with --replace")
    skipped = np.uint64(gap // chunks[0])
    links = replace(entry.links, chunks=entry.links.chunks + skipped)
    return replace(entry, shape=(entry.shape[0] + gap,), links=links, read=None)


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
    segments = [*attributes[KEY]["segments"]]
    for start, stop in entry.attrs[KEY]["segments"]:
        if segments and segments[-1][1] == start:
            segments[-1] = [segments[-1][0], stop]
        else:
            segments.append([start, stop])
    invalid = _joined(attributes.get("data_valid"), entry.attrs.get("data_valid"))
    more = {"data_valid": invalid} if invalid else {}
    return {**attributes, **more, KEY: {**attributes[KEY], "segments": segments}}


def _joined(one: Sequence[Any] | None, two: Sequence[Any] | None) -> list[Any]:
    return [*(one or ()), *(two or ())]


def grown_node(node: Node, shape: Sequence[int], entry: ArrayEntry) -> Node:
    """Return the stored array's node with the shape and segments after appending."""
    attributes = grown_attributes(node.document.get("attributes", {}), entry)
    document = {**node.document, "shape": list(shape), "attributes": attributes}
    return Node(node.path, True, json.dumps(document, allow_nan=False))
