"""The variables of a group as a file will have them: shape, dimensions and attributes of a selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.display.progress import ProgressCall
from icecore.export.decoded import ENCODING, changes, decoded
from icecore.repository.array import Array
from icecore.repository.array_request import request
from icecore.repository.dimension_names import Known, dimension_names
from icecore.repository.group import Group
from icecore.repository.selection import is_int
from icecore.repository.time_axis import KEY, TimeAxis
from icecore.repository.typed_attributes import typed
from icecore.repository.zarr_dtypes import itemsize

#: bytes of a block that is read and written at once
_BLOCK = 64 << 20
#: bytes of a small variable, and of those that are read in one plan
_SMALL, _TOGETHER = 4 << 20, 32 << 20

Box = tuple[slice, ...]
#: returns the index of an array, one item for each axis; None leaves the array out
Select = Callable[[Array], "tuple[Any, ...] | None"]


@dataclass(frozen=True)
class Storage:
    """How a file stores its variables.

    Attributes:
        chunks: dimension → length of a chunk; the stored chunks for other dimensions.
        compress: ``none``, or a compressor with its level: ``gzip:4``, ``zstd:3``, ``lzf``.
        is_decoded: whether scale and offset are applied and missing values are NaN.
    """

    chunks: Mapping[str, int] = field(default_factory=dict)
    compress: str = "gzip:1"
    is_decoded: bool = False

    def compressor(self, known: tuple[str, ...]) -> tuple[str, int | None]:
        """Return name and level of the compressor.

        Raises:
            Error: ``codec`` if it is not in ``known``.
        """
        name, colon, level = self.compress.partition(":")
        if name not in known or (colon and not level.lstrip("-").isdecimal()):
            message = f"this format has no compressor {self.compress!r}"
            raise errors.make("codec", message, f"--compress {', '.join(known)}; with a level: gzip:4")
        return name, int(level) if colon else None


@dataclass
class Variable:
    """One array of the file.

    Attributes:
        array: the stored array.
        path: its path relative to the group, without a leading ``/``.
        index: one item for each axis of the array: an integer, a slice or a list.
        dims, shape: names and lengths of the axes that remain.
        attrs: attributes with the dtypes that they had in the source.
        is_decoded: whether values are decoded.
    """

    array: Array
    path: str
    index: list[Any]
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    attrs: dict[str, Any]
    is_decoded: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the selection in memory."""
        return prod(self.shape) * itemsize(self.array.dtype)

    @property
    def is_whole(self) -> bool:
        """Whether every element of the array is selected."""
        return self.shape == self.array.shape

    def chunk(self, wanted: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of a chunk: the lengths asked for, else those of the stored chunks."""
        stored = self.array.chunks or tuple(max(axis) for axis in self.array._native.chunks)
        kept = [size for size, item in zip(stored, self.index, strict=True) if not is_int(item)]
        sizes = [wanted.get(dim, size) for dim, size in zip(self.dims, kept, strict=True)]
        return tuple(max(min(size, n), 1) for size, n in zip(sizes, self.shape, strict=True))

    def grows(self, axis: int) -> bool:
        """Whether the source says that an axis of the result can grow."""
        kept = [i for i, item in enumerate(self.index) if not is_int(item)][axis]
        unlimited = self.array._node.ours.get("unlimited", ())
        return kept in unlimited and self.shape[axis] == self.array.shape[kept]

    def boxes(self, chunk: tuple[int, ...]) -> Iterator[Box]:
        """Yield parts of the result that fit a block, of whole chunks where one fits."""
        lengths, size = list(self.shape), itemsize(self.array.dtype)
        for axis, unit in enumerate(chunk):
            rest = max(prod(lengths[:axis]) * prod(lengths[axis + 1 :]) * size, 1)
            if rest * lengths[axis] <= _BLOCK:
                break
            lengths[axis] = max(_BLOCK // rest // unit, 1) * unit
        steps = [range(0, n, max(length, 1)) for n, length in zip(self.shape, lengths, strict=True)]
        for starts in product(*steps):
            ends = zip(starts, lengths, self.shape, strict=True)
            yield tuple(slice(start, min(start + length, n)) for start, length, n in ends)

    def source(self, box: Box) -> tuple[Any, ...]:
        """Return the index of a part of the result in the stored array."""
        parts = iter(box)
        return tuple(
            item if is_int(item) else _cut(item, n, next(parts))
            for item, n in zip(self.index, self.array.shape, strict=True)
        )

    def values(self, raw: np.ndarray) -> np.ndarray:
        """Return what a file holds of stored elements."""
        return decoded(self.array, raw) if self.is_decoded else raw


def _cut(item: Any, length: int, part: slice) -> Any:
    """Return a part of the places that a slice or a list selects."""
    if not isinstance(item, slice):
        return list(item)[part]
    places = range(*item.indices(length))[part]
    if not len(places):
        return slice(0, 0)
    stop = places[-1] + (1 if places.step > 0 else -1)
    return slice(places.start, stop if stop >= 0 else None, places.step)


def variables(group: Group, select: Select, storage: Storage) -> list[Variable]:
    """Return the variables of a group and of those below it, with their part of the selection."""
    known: Known = {}
    found = []
    for node in group.repo._below(group.path):
        if not node.is_array:
            continue
        array = Array(group.repo, node)
        part = select(array)
        if part is None:
            continue
        parent = group.repo[node.parent]
        assert isinstance(parent, Group)
        names = dimension_names(parent, known)[node.name]
        index = list(part)
        kept = [axis for axis, item in enumerate(index) if not is_int(item)]
        shape = tuple(_length(index[axis], array.shape[axis]) for axis in kept)
        is_decoded = storage.is_decoded and not _is_coded_time(array)
        found.append(
            Variable(
                array,
                node.path[len(group.path) :].strip("/"),
                index,
                tuple(names[axis] for axis in kept),
                shape,
                _attributes(array, index, is_decoded),
                is_decoded,
            )
        )
    return found


def _length(item: Any, length: int) -> int:
    return len(range(*item.indices(length))) if isinstance(item, slice) else len(item)


def _is_coded_time(array: Array) -> bool:
    """Whether values are times in CF's units, which readers of CF decode themselves."""
    return " since " in str(array.attrs.get("units", ""))


def _attributes(array: Array, index: list[Any], is_decoded: bool) -> dict[str, Any]:
    attrs = typed(array._node)
    axis = TimeAxis.of(array.attrs) if array.ndim else None
    if axis is not None:
        part = axis.part(index[0], array.shape[0]) if isinstance(index[0], slice) else None
        attrs.pop(KEY, None)
        if part is not None:
            attrs[KEY] = part.attribute()
    dropped = ENCODING if is_decoded and (changes(array) or array.dtype.kind in "iuf") else ()
    return {name: value for name, value in attrs.items() if name not in dropped}


def copy(
    found: list[Variable],
    write: Callable[[Variable, Box, np.ndarray], None],
    chunk: Callable[[Variable], tuple[int, ...]],
    progress: ProgressCall,
) -> None:
    """Read the variables in blocks and write them; small ones are read together in one plan.

    Args:
        found: the variables.
        write: called with a variable, a part of it, and the elements of this part as stored.
        chunk: returns the shape of a chunk in the file, which blocks are made of.
        progress: called with path, bytes done and all bytes.
    """
    total, done = sum(each.nbytes for each in found), 0
    for blocks in _batches(found, chunk):
        for (each, box), raw in zip(blocks, _read(blocks), strict=True):
            write(each, box, raw)
            done += raw.size * itemsize(raw.dtype)
            progress(each.array.path, done, total)


def _batches(
    found: list[Variable], chunk: Callable[[Variable], tuple[int, ...]]
) -> Iterator[list[tuple[Variable, Box]]]:
    """Yield the blocks that are read in one plan: one of a large variable, or many small variables."""
    small: list[tuple[Variable, Box]] = []
    size = 0
    for each in found:
        if each.nbytes > _SMALL:
            yield from ([(each, box)] for box in each.boxes(chunk(each)))
            continue
        small.append((each, tuple(slice(0, n) for n in each.shape)))
        size += each.nbytes
        if size > _TOGETHER:
            yield small
            small, size = [], 0
    if small:
        yield small


def _read(blocks: list[tuple[Variable, Box]]) -> list[np.ndarray]:
    asked = [(each.array.path, *request(each.array, each.source(box), None)) for each, box in blocks]
    native = blocks[0][0].array.repo._native
    read = native.read_many([(path, index, target) for path, index, target, _ in asked], True, None)
    return [finish(data) for (*_, finish), data in zip(asked, read, strict=True)]
