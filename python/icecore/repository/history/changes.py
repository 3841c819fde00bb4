"""Comparison of versions and files: elements that differ, and checksums of linked frame files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.results import Problem

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo

#: bytes of each version that are compared at a time
_BLOCK = 32 << 20
Box = tuple[Sequence[int], Sequence[int]]


def differing(old: Repo, new: Repo, path: str, boxes: Sequence[Box]) -> int:
    """Count elements whose values differ, bit for bit: NaN equals NaN, 0.0 differs from -0.0.

    Args:
        old, new: the versions.
        path: the path of an array of ``new``. All elements count if ``old`` has no array of that dtype and
            rank there.
        boxes: per box the first element and one past the last, along each axis. Elements outside the shape of
            the older array count.
    """
    now, was = new.arrays[path], old.arrays.get(path)
    if was is None or was.dtype != now.dtype or len(was.shape) != len(now.shape):
        return sum(_volume(box) for box in boxes)
    count = 0
    for start, stop in boxes:
        reached = [min(b, n) for b, n in zip(stop, was.shape, strict=True)]
        common = _volume((start, reached))
        count += _volume((start, stop)) - common
        if common:
            count += sum(_unequal(was.read(part), now.read(part)) for part in _parts(now, start, reached))
    return count


def _volume(box: Box) -> int:
    volume = 1
    for start, stop in zip(*box, strict=True):
        volume *= max(stop - start, 0)
    return volume


def _parts(array: Array, start: Sequence[int], stop: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Split a box into parts of whole chunks that fit the memory."""
    from icecore import _icecore
    from icecore.repository import zarr_dtypes

    shape = [b - a for a, b in zip(start, stop, strict=True)]
    unit = array.shards or array.chunks or tuple(shape)
    itemsize = zarr_dtypes.itemsize(array.dtype)
    for first, extent in _icecore.gather_regions(shape, unit, None, itemsize, _BLOCK):
        yield tuple(slice(a + f, a + f + n) for a, f, n in zip(start, first, extent, strict=True))


def _unequal(one: Any, other: Any) -> int:
    one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)
    if one.dtype.kind in "OT":
        return int(np.count_nonzero(one != other))
    if one.dtype.itemsize == 0:
        return 0
    words = [a.reshape(-1).view(np.uint8).reshape(a.size, -1) for a in (one, other)]
    return int(np.count_nonzero((words[0] != words[1]).any(axis=1)))


# Verify checksums of linked frame files: of each structure (version 8) and of the file (version 6 or
# later).

_CODEC = "icecore.gwf_vect"
_LOCAL = "file://"


def frame_problems(arrays: Mapping[str, Array]) -> Iterator[Problem]:
    """Yield damage that the files' checksums show; files that can't be read are reported elsewhere."""
    from urllib.parse import unquote

    from icecore import _icecore

    urls: dict[str, str] = {}
    for array in arrays.values():
        if any(codec.get("name") == _CODEC for codec in array.codecs):
            for url in array.storage.urls:
                urls.setdefault(url, array.path)
    for url in sorted(url for url in urls if url.startswith(_LOCAL)):
        file = unquote(url.removeprefix(_LOCAL))
        try:
            found = _icecore.gwf_verify(file)
        except errors.Error as error:
            if error.kind == "source-missing":
                continue
            found = [(error.kind, "", 0, error.message)]
        for kind, _, offset, message in found:
            if kind != "unsupported":  # checksums of version 4
                where = f"{file} at offset {offset}"
                yield Problem(kind, message, where=where, hint="compare the file with its original")
