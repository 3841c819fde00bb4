"""Join parts of an array from several files along one axis: chunk grid, links, and reads across files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import copy_codecs
from icecore.sources.mapping.array_map import (
    ArrayEntry,
    ChunkReader,
    DamagedSource,
    Links,
    Reader,
    Region,
    blocks,
    default_chunks,
)
from icecore.sources.mapping.time_units import NAT, Conversion

# Codec settings that do not affect decoding.
_EFFORT = {"level", "clevel", "cname"}
_USEFUL = 64 << 10
#: arrays up to this size (bytes) are copied rather than linked with chunks of different lengths
SMALL = 4 << 20


@dataclass(frozen=True)
class Converted:
    """Reader that converts values to another dtype, which must hold them exactly, or to another time unit.

    ``fill`` are the numbers that mark missing times; ``has_nat``: the smallest int64 is not-a-time; ``name``
    is for error messages.
    """

    read: Reader
    dtype: np.dtype
    times: Conversion | None = None
    fill: Any = None
    name: str = ""
    has_nat: bool = False

    def __call__(self, region: Region) -> np.ndarray:
        stored = self.read(region)
        values = stored.astype(self.dtype, copy=False)
        if stored.dtype.kind in "iu" and stored.dtype.itemsize == 8 and self.dtype.kind == "f":
            self._exact(stored, values)
            if self.has_nat and stored.dtype.kind == "i":
                values[stored == NAT] = np.nan
        if self.times is not None:
            values = self.times.apply(values, self.fill, self.name)
        return np.ascontiguousarray(values)

    def _exact(self, stored: np.ndarray, values: np.ndarray) -> None:
        """Reject 64-bit integers that the floats can't represent."""
        limit = float(np.iinfo(stored.dtype).max)  # rounded up to the first value that is too large
        with np.errstate(invalid="ignore"):
            rounded = (values >= limit) | (values.astype(stored.dtype) != stored)
        if rounded.any():
            raise errors.make(
                "mismatch",
                f"{self.name}: {stored.dtype} {stored[rounded][0]} is no {self.dtype}, as which files of "
                "both types are joined",
                "keep these files in groups of their own",
            )


@dataclass(frozen=True)
class Stitched:
    """Reader over consecutive readers along ``axis``.

    ``sources`` are the files of the readers; ``starts`` has one item more than ``readers``.
    """

    readers: tuple[Reader, ...]
    sources: tuple[str, ...]
    starts: tuple[int, ...]
    axis: int
    dtype: np.dtype

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        wanted = region[self.axis]
        first = int(np.searchsorted(self.starts, wanted.start, "right")) - 1
        parts = []
        for i in range(max(first, 0), len(self.readers)):
            low, high = max(wanted.start, self.starts[i]), min(wanted.stop, self.starts[i + 1])
            if low >= wanted.stop:
                break
            if low < high:
                inside = slice(low - self.starts[i], high - self.starts[i])
                parts.append(self.readers[i]((*region[: self.axis], inside, *region[self.axis + 1 :])))
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.empty([s.stop - s.start for s in region], self.dtype)
        return np.concatenate(parts, axis=self.axis)

    def damaged(self, shape: tuple[int, ...]) -> DamagedSource | None:
        """Return an error for all files that can't be read, or None; ``shape`` is the joined array's.

        All files are checked, because each one found later would require a new attempt to write everything.
        """
        found: list[DamagedSource] = []
        for reader, source, low, high in zip(
            self.readers, self.sources, self.starts, self.starts[1:], strict=False
        ):
            try:
                own = (*shape[: self.axis], high - low, *shape[self.axis + 1 :])
                for region in blocks(own, self.dtype.itemsize):
                    reader(region)
            except errors.Error as error:
                if error.kind != "corrupt":
                    raise
                found.append(DamagedSource.of(source, error))
        if found:
            found[0].others = found[1:]
        return found[0] if found else None


@dataclass
class Part:
    """Part of one file: its entry, reader and source, whether it can be linked, and its start on the axis."""

    entry: ArrayEntry
    read: Reader
    linkable: bool
    start: int
    source: str


def decodes_alike(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> bool:
    """Whether two codec lists decode the same bytes to the same values (compression levels don't matter)."""
    return [_essence(codec) for codec in one] == [_essence(codec) for codec in two]


def _essence(codec: dict[str, Any]) -> Any:
    configuration = codec.get("configuration", {})
    return codec["name"], {key: value for key, value in configuration.items() if key not in _EFFORT}


def is_raw(codecs: list[dict[str, Any]]) -> bool:
    """Whether a chunk's bytes are its elements in C order."""
    return len(codecs) == 1 and codecs[0]["name"] == "bytes"


def join(parts: list[Part], axis: int, whole: ArrayEntry) -> str:
    """Set chunks, links, copies and reader of ``whole`` (shape, dtype and codecs are set) from its parts.

    Returns:
        The reason for copying all of it although some parts could be linked, or "".
    """
    starts = (*(part.start for part in parts), whole.shape[axis])
    readers, sources = tuple(part.read for part in parts), tuple(part.source for part in parts)
    whole.read = Stitched(readers, sources, starts, axis, whole.dtype)
    linked = [part for part in parts if part.linkable]
    if not linked:
        _copy_all(whole)
        return ""
    if is_raw(whole.codecs) and axis == 0:
        _align(linked)
    model = next((part for part in linked if part.entry.shape[axis]), linked[0]).entry
    for part in linked:
        part.linkable = _others(part.entry, axis) == _others(model, axis)
    along = model.chunks[axis]
    cells = _cells(parts, axis, along if isinstance(along, int) else max(along, default=1))
    whole.chunks = _grid(cells, axis, model, whole.shape)
    if isinstance(whole.chunks, list) and whole.nbytes <= SMALL:
        # Copy a small array such as a time axis: zarr-python opens rectilinear grids only with an option.
        _copy_all(whole)
        return "small, and no regular chunks fit the files' lengths"
    whole.links, whole.native = _merge(parts, cells, axis, whole)
    if not len(whole.links) and whole.native:
        _copy_all(whole)
        return "no chunk of the files fits the joined array"
    return ""


def _others(entry: ArrayEntry, axis: int) -> list[int | list[int]]:
    """Return the chunk lengths along the other axes: one length where all are equal."""
    if isinstance(entry.chunks, tuple):
        return [n for i, n in enumerate(entry.chunks) if i != axis]
    others = (list(each) for i, each in enumerate(entry.chunks) if i != axis)
    return [each if len(set(each)) > 1 else each[0] if each else 1 for each in others]


def _last(entry: ArrayEntry, axis: int) -> int:
    """Return the length of the last chunk along ``axis``, which may extend past the array."""
    along = entry.chunks[axis]
    return along if isinstance(along, int) else along[-1] if along else 1


def _copy_all(whole: ArrayEntry) -> None:
    whole.links, whole.native = None, {}
    whole.chunks = default_chunks(whole.shape, whole.dtype.itemsize)
    whole.codecs = copy_codecs(whole.dtype)


def _cells(parts: list[Part], axis: int, usual: int) -> list[list[int]]:
    """Return each part's chunk lengths along the axis; only the last chunk may extend past the array."""
    cells = []
    for i, part in enumerate(parts):
        length = part.entry.shape[axis]
        if part.linkable and isinstance(part.entry.chunks, list):
            listed = list(part.entry.chunks[axis])
            if listed and i < len(parts) - 1:
                listed[-1] -= sum(listed) - length
            cells.append(listed)
            continue
        size = part.entry.chunks[axis] if part.linkable and isinstance(part.entry.chunks, tuple) else usual
        count, rest = divmod(length, size)
        cells.append([size] * count + ([size if i == len(parts) - 1 else rest] if rest else []))
    return cells


def _grid(cells: list[list[int]], axis: int, model: ArrayEntry, shape: tuple[int, ...]) -> Any:
    lengths: Any = [length for part in cells for length in part]
    axes: list[Any] = _others(model, axis)
    if len(set(lengths)) <= 1 and all(isinstance(each, int) for each in axes):
        axes.insert(axis, lengths[0] if lengths else _last(model, axis))
        return tuple(axes)
    axes.insert(axis, lengths)
    return [
        [each] * max(-(-n // each), 1) if isinstance(each, int) else each
        for each, n in zip(axes, shape, strict=True)
    ]


def _merge(
    parts: list[Part], cells: list[list[int]], axis: int, whole: ArrayEntry
) -> tuple[Links, dict[int, Callable[[], np.ndarray]]]:
    merged: list[tuple[Any, ...]] = []
    urls: list[tuple[str, int, int, str | None]] = []
    known: dict[tuple[str, int, int, str | None], int] = {}
    native: dict[int, Callable[[], np.ndarray]] = {}
    base = 0
    for part, lengths in zip(parts, cells, strict=True):
        region_of = _cell_regions(part, lengths, axis, whole)
        grid = list(whole.grid)
        grid[axis] = len(lengths)
        copied = list(range(prod(grid)))
        if part.linkable and part.entry.links is not None:
            links, copied = _fitting(part, lengths, axis, whole)
            ids = []
            for item in zip(
                links.urls, links.sizes.tolist(), links.mtimes_ns.tolist(), links.etags, strict=True
            ):
                if item not in known:
                    known[item] = len(urls)
                    urls.append(item)
                ids.append(known[item])
            flat = _shift(links.chunks, grid, axis, base, whole.grid)
            merged.append((np.array(ids, "u4")[links.url_ids], flat, links.offsets, links.lengths))
        targets = _shift(np.array(copied, "u8"), grid, axis, base, whole.grid).tolist()
        for chunk, target in zip(copied, targets, strict=True):
            native[target] = ChunkReader(part.read, region_of(chunk, grid))
        base += len(lengths)
    columns = [np.concatenate(column) for column in zip(*merged, strict=True)] or [np.empty(0, "u8")] * 4
    order = np.argsort(columns[1], kind="stable")
    links = Links(
        [u[0] for u in urls],
        np.array([u[1] for u in urls], "i8"),
        np.array([u[2] for u in urls], "i8"),
        [u[3] for u in urls],
        *(column[order].astype(kind) for column, kind in zip(columns, ("u4", "u8", "u8", "u8"), strict=True)),
    )
    return links, native


def _cell_regions(
    part: Part, lengths: list[int], axis: int, whole: ArrayEntry
) -> Callable[[int, list[int]], Region]:
    axes = [whole.chunks[i] for i in range(len(whole.shape))]
    axes[axis] = lengths
    edges = [
        np.arange(-(-n // each) + 1) * each
        if isinstance(each, int)
        else np.concatenate([[0], np.cumsum(each)])
        for each, n in zip(axes, part.entry.shape, strict=True)
    ]

    def region_of(flat: int, grid: list[int]) -> Region:
        index = [int(i) for i in np.unravel_index(flat, grid)]
        region = []
        for i, n in enumerate(part.entry.shape):
            region.append(slice(int(edges[i][index[i]]), min(int(edges[i][index[i] + 1]), n)))
        return tuple(region)

    return region_of


def _shift(flat: np.ndarray, grid: list[int], axis: int, base: int, total: tuple[int, ...]) -> np.ndarray:
    index = list(np.unravel_index(flat.astype("i8"), grid))
    index[axis] = index[axis] + base
    return np.ravel_multi_index(tuple(index), total).astype("u8")


def _fitting(part: Part, lengths: list[int], axis: int, whole: ArrayEntry) -> tuple[Links, list[int]]:
    """Return a part's links that fit the chunk grid, and the chunks that do not fit.

    A chunk that is cut off at the end of the part has fewer elements than a stored chunk.
    """
    links, usual = part.entry.links, _last(part.entry, axis)
    if links is None:
        raise TypeError("only linked parts fit")
    copied = list(part.entry.native)
    if not lengths or lengths[-1] == usual:
        return links, copied
    grid = part.entry.grid
    last = np.unravel_index(links.chunks.astype("i8"), grid)[axis] == grid[axis] - 1
    if is_raw(whole.codecs) and all(each == 1 for each in _others(part.entry, axis)[:axis]):
        # Raw rows: the shorter chunk is the beginning of the stored one.
        cut = links.lengths // np.uint64(usual) * np.uint64(lengths[-1])
        return _replace(links, lengths=np.where(last, cut, links.lengths)), copied
    copied += [int(i) for i in links.chunks[last]]
    return _select(links, ~last), sorted(copied)


def _align(parts: list[Part]) -> None:
    """Split raw rows into equal chunks if a useful divisor exists, because a regular grid is portable."""
    rows: list[int] = []
    for part in parts:
        chunk, shape = part.entry.chunks, part.entry.shape
        if not isinstance(chunk, tuple) or chunk[1:] != tuple(max(n, 1) for n in shape[1:]):
            return
        if shape[0] % chunk[0] or part.entry.native:
            return
        rows.append(chunk[0])
    common = gcd(*rows)
    row = prod(parts[0].entry.shape[1:]) * parts[0].entry.dtype.itemsize
    if common * row < min(_USEFUL, max(rows) * row):
        return
    for part in parts:
        part.entry = _resplit(part.entry, common, row)


def _resplit(entry: ArrayEntry, rows: int, row: int) -> ArrayEntry:
    links, chunk = entry.links, entry.chunks
    if links is None or not isinstance(chunk, tuple):
        return entry
    pieces = chunk[0] // rows
    if pieces == 1:
        return entry
    step = np.arange(pieces, dtype="u8")
    chunks = (links.chunks[:, None] * np.uint64(pieces) + step).reshape(-1)
    offsets = (links.offsets[:, None] + step * np.uint64(rows * row)).reshape(-1)
    lengths = np.full(len(chunks), rows * row, "u8")
    cut = _replace(
        links, chunks=chunks, offsets=offsets, lengths=lengths, url_ids=np.repeat(links.url_ids, pieces)
    )
    return replace(entry, chunks=(rows, *chunk[1:]), links=cut)


def _replace(links: Links, **columns: np.ndarray) -> Links:
    return replace(links, **columns)  # type: ignore[arg-type]


def _select(links: Links, keep: np.ndarray) -> Links:
    return _replace(
        links,
        url_ids=links.url_ids[keep],
        chunks=links.chunks[keep],
        offsets=links.offsets[keep],
        lengths=links.lengths[keep],
    )
