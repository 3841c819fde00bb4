"""Add a dimension to the arrays of a source, so that sources are joined along it: members of an ensemble."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Reader, Region

#: codecs that decode the same bytes for a chunk with one more axis of length 1
_ANY_SHAPE = {"bytes", "vlen-utf8", "vlen-bytes", "gzip", "zstd", "blosc", "crc32c"}


def with_dimension(arrays: ArrayMap, dim: str, shared: set[str]) -> ArrayMap:
    """Return the source with a new first axis ``dim`` of length 1 in all arrays but ``shared`` ones.

    A scalar variable of this name becomes the coordinate of the axis. References stay valid: the bytes of a
    chunk are the same.

    Raises:
        Error: ``mismatch`` if an array has this dimension already.
    """
    result = replace(arrays, arrays={})
    for path, entry in arrays.arrays.items():
        if dim in entry.dims:
            message = f"{path} in {arrays.source} has the dimension {dim!r} already"
            raise errors.make("mismatch", message, f"join along it: --concat {dim}")
        is_label = not entry.shape and path.rsplit("/", 1)[-1] == dim
        result.arrays[path] = entry if path in shared and not is_label else _longer(entry, dim)
    return result


@dataclass(frozen=True)
class NewAxis:
    """Reader of an array with one more axis at the front; can be pickled."""

    read: Reader

    def __call__(self, region: Region) -> np.ndarray:
        values = np.asarray(self.read(region[1:]))[None]
        return values if region[0].stop > region[0].start else values[:0]


@dataclass(frozen=True)
class _NewChunk:
    """Reads a chunk, with one more axis."""

    chunk: Callable[[], np.ndarray]

    def __call__(self) -> np.ndarray:
        return np.asarray(self.chunk())[None]


def _longer(entry: ArrayEntry, dim: str) -> ArrayEntry:
    codecs = [_of_more_axes(codec) for codec in entry.codecs]
    is_linked = entry.links is not None and None not in codecs
    chunks: Any = (1, *entry.chunks) if isinstance(entry.chunks, tuple) else [[1], *entry.chunks]
    return replace(
        entry,
        shape=(1, *entry.shape),
        dims=(dim, *entry.dims),
        chunks=chunks,
        codecs=[codec for codec in codecs if codec is not None] if is_linked else entry.codecs,
        links=entry.links if is_linked else None,
        native={flat: _NewChunk(chunk) for flat, chunk in entry.native.items()} if is_linked else {},
        read=None if entry.read is None else NewAxis(entry.read),
        held=None,
        unlimited=(0, *(axis + 1 for axis in entry.unlimited)),
        note=entry.note if is_linked or entry.links is None else "its codec depends on the axes of a chunk",
    )


def _of_more_axes(codec: dict[str, Any]) -> dict[str, Any] | None:
    """Return a codec for chunks with one more axis at the front; None if it may decode them differently."""
    name = str(codec["name"])
    if name == "transpose":
        order = [0, *(axis + 1 for axis in codec["configuration"]["order"])]
        return {**codec, "configuration": {**codec["configuration"], "order": order}}
    return codec if name in _ANY_SHAPE or name.startswith("numcodecs.") else None
