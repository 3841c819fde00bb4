"""Common model of all sources: arrays, attributes, and the location of each chunk's bytes.

An :class:`ArrayMap` is a plain value. ``link`` writes its references, ``pack`` reads through its ``read``
callables, and ``concat`` joins several of them; none of them depends on the file format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.stored_chunks import StoredChunks
from icecore.sources.mapping.table_file import TableFile

Region = tuple[slice, ...]
Reader = Callable[[Region], np.ndarray]
#: the attribute of a group that lists the objects of its source that it does not contain: ``name (class)``
LEFT_OUT = "left_out"
#: target size (bytes) of default chunks
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Note:
    """A part of a source that is not stored exactly as it is, with the reason.

    ``kind`` is ``"unsupported"`` (left out), ``"alias"`` (the same group under a second path), ``"name"`` (a
    name that Zarr can't hold), ``"dimension"`` (a netCDF dimension without a variable), ``"attribute"`` (an
    attribute that was left out), ``"reference"`` (references to no chunk), ``"calendar"`` (times converted by
    CF's default calendar), ``"object"`` (an object of a class that is not indexed), ``"missing"`` (left out
    because a joined file lacks it), ``"rounded"`` (numbers of more digits than NumPy and Zarr have in common)
    or ``"unpacked"`` (numbers of several scales as unscaled floats).
    """

    path: str
    kind: str
    message: str


def _nothing() -> None:
    return None


@dataclass
class Links:
    """References to chunks that stay in their source files, columnar.

    ``urls``, ``sizes`` (bytes), ``mtimes_ns`` (-1: unknown) and ``etags`` have one item per source file;
    ``url_ids`` (u32), ``chunks`` (u64, flat C-order index over the chunk grid), ``offsets`` and ``lengths``
    (u64, bytes) one per chunk.
    """

    urls: list[str]
    sizes: np.ndarray
    mtimes_ns: np.ndarray
    etags: list[str | None]
    url_ids: np.ndarray
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def nbytes(self) -> int:
        """Total size in bytes of the linked chunks."""
        return int(self.lengths.sum())

    @classmethod
    def one_file(cls, identity: Any, chunks: Any, offsets: Any, lengths: Any) -> Links:
        """References into one file with that :class:`icecore.sources.files.identity.Identity`."""
        chunks = np.ascontiguousarray(chunks, "u8")
        return cls(
            [identity.url],
            np.array([identity.size], "i8"),
            np.array([identity.mtime_ns], "i8"),
            [identity.etag],
            np.zeros(len(chunks), "u4"),
            chunks,
            np.ascontiguousarray(offsets, "u8"),
            np.ascontiguousarray(lengths, "u8"),
        )


@dataclass(frozen=True)
class ChunkReader:
    """Callable that reads one chunk from the source, decoded and clipped to the array."""

    read: Reader
    region: Region

    def __call__(self) -> np.ndarray:
        return self.read(self.region)


@dataclass
class ArrayEntry:
    """One array of a source.

    Attributes:
        path: absolute, starts with ``/``.
        shape: shape of the array, in elements.
        dims: a name or None per axis.
        data_type: the Zarr v3 ``data_type``.
        dtype: the NumPy dtype that ``read`` returns, in native byte order; ``object`` (of ``str``) for
            ``"string"``.
        chunks: a tuple of ints (regular grid), or a list of lists of chunk lengths per axis (rectilinear
            grid).
        codecs: the Zarr v3 ``codecs`` list: of the linked bytes, or the recommended codecs of a copy.
        fill_value: Zarr v3 JSON; the value of missing chunks.
        attrs: JSON-serializable; ``_FillValue`` is encoded as by xarray's Zarr v3 backend.
        links: references, or None if nothing of the array can be linked (``note`` says why) and it must be
            copied through ``read``.
        native: for the chunks of a linked array that can't be linked: maps the flat chunk index to a
            callable without arguments, which returns the decoded chunk, clipped to the array.
        read: maps a region (one ``slice(start, stop)`` with step 1 per axis) to a C-contiguous array of
            ``dtype``.
        held: returns the stored chunks (None: unknown); not needed for ``links`` on a regular grid.
        check: raises if a checksum of the whole array is wrong; called before copies, because reads of parts
            can't verify it.
        unlimited: axes that can grow according to the source.
        note: why it isn't linked, or a remark for its readers.
        attr_types: NumPy dtype of the numeric attributes that JSON would widen (``{"scale_factor": "<f4"}``).
        enum: names of the attributes that were derived from an enumeration type.
        subarrays: fields of records that are arrays (:func:`icecore.repository.zarr_dtypes.subarrays`).
        text_fill: ``_FillValue`` of strings, which xarray's Zarr v3 backend can't encode.
        is_column: whether it is a column of a table, which gets a table's chunks and summaries.
        renulled: for a column in memory: maps (value for null, dtype) to the same column with this value for
            null, or None if the column contains the value or does not fit the dtype.
        rewritten: of a stored array that is extended: all of it is written again, in another dtype or units.
        rounding: the :class:`icecore.codecs.rounding.Rounding` of a packed copy; None if it is exact.
    """

    path: str
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    data_type: Any
    dtype: np.dtype
    chunks: tuple[int, ...] | list[list[int]]
    codecs: list[dict[str, Any]]
    fill_value: Any
    attrs: dict[str, Any] = field(default_factory=dict)
    links: Links | None = None
    native: dict[int, Callable[[], np.ndarray]] = field(default_factory=dict)
    read: Reader | None = None
    held: Callable[[], StoredChunks | None] | None = None
    check: Callable[[], None] = _nothing
    unlimited: tuple[int, ...] = ()
    note: str = ""
    attr_types: dict[str, str] = field(default_factory=dict)
    enum: list[str] = field(default_factory=list)
    subarrays: dict[str, Any] = field(default_factory=dict)
    text_fill: str | None = None
    is_column: bool = False
    renulled: Callable[..., ArrayEntry | None] | None = None
    rewritten: bool = False
    rounding: Any = None

    @property
    def linked(self) -> bool:
        """Whether the array's bytes are linked (single chunks may still be copied: ``native``)."""
        return self.links is not None

    def present(self) -> StoredChunks | None:
        """Return the stored chunks; None if the source doesn't list them."""
        if self.links is None or not isinstance(self.chunks, tuple):
            return self.held() if self.held is not None else None
        chunks = np.concatenate([self.links.chunks.astype("u8"), np.array([*self.native], "u8")])
        return StoredChunks(tuple(self.shape), self.chunks, chunks)

    def sparse(self) -> StoredChunks | None:
        """Return the stored chunks if some chunks are missing; otherwise None."""
        found = self.present() if self.shape else None
        return None if found is None or found.full else found

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array, decoded; variable-length strings count as their 8-byte handles."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of chunks along each axis."""
        if isinstance(self.chunks, tuple):
            return tuple(-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True))
        return tuple(len(axis) for axis in self.chunks)

    def chunk_region(self, flat: int) -> Region:
        """Return the region of chunk ``flat`` (C order over ``grid``), clipped to the array's shape."""
        index = np.unravel_index(flat, self.grid) if self.grid else ()
        region = []
        for axis, i in enumerate(int(i) for i in index):
            lengths = self.chunks[axis]
            if isinstance(lengths, int):
                start, length = i * lengths, lengths
            else:
                start, length = sum(lengths[:i]), lengths[i]
            region.append(slice(start, min(start + length, self.shape[axis])))
        return tuple(region)

    def copied(self, chunks: Any) -> dict[int, Callable[[], np.ndarray]]:
        """Return ``native`` for these flat chunk indices, read through ``read``."""
        if self.read is None:
            return {}
        return {int(flat): ChunkReader(self.read, self.chunk_region(int(flat))) for flat in chunks}

    def zarr_metadata(self) -> dict[str, Any]:
        """Return the Zarr v3 array metadata document as plain Python values."""
        document: dict[str, Any] = {
            "shape": list(self.shape),
            "data_type": self.data_type,
            "chunk_grid": chunk_grid(self.chunks),
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill_value,
            "codecs": self.codecs,
            "attributes": self.attrs,
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        }
        if any(dim is not None for dim in self.dims):
            document["dimension_names"] = list(self.dims)
        return document

    def zarr_json(self) -> str:
        """Return the Zarr v3 array metadata document as strict JSON (no bare NaN or Infinity)."""
        return json.dumps(self.zarr_metadata(), allow_nan=False)


@dataclass
class ArrayMap:
    """Groups and arrays of a source.

    Attributes:
        source: path or URL of the source.
        groups: path → attributes; always has the root ``"/"``.
        arrays: path → entry.
        dropped: notes on parts of the source that ``arrays`` and ``groups`` do not contain unchanged.
        tables: path → a table that is packed row by row (`icecore.tables.text.pack_table`), never linked.
        failed: an error for each damaged part of the source.
        files: the files of a source of several files.
        without: returns the map of the same source without some of these files.
    """

    source: str
    groups: dict[str, dict[str, Any]] = field(default_factory=lambda: {"/": {}})
    arrays: dict[str, ArrayEntry] = field(default_factory=dict)
    dropped: list[Note] = field(default_factory=list)
    tables: dict[str, TableFile] = field(default_factory=dict)
    failed: list[errors.Error] = field(default_factory=list)
    files: tuple[str, ...] = ()
    without: Callable[[set[str]], ArrayMap] | None = None

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the root group."""
        return self.groups["/"]

    def add(self, entry: ArrayEntry) -> None:
        """Add an array and its parent groups."""
        self.arrays[entry.path] = entry
        parent = entry.path.rsplit("/", 1)[0]
        while parent:
            self.groups.setdefault(parent, {})
            parent = parent.rsplit("/", 1)[0]


def damage(message: str) -> errors.Error:
    """Return the error for an unreadable part of a source, for :attr:`ArrayMap.failed`."""
    return errors.make("corrupt", message, "compare it with its original")


class DamagedSource(errors.StorageError):
    """Error for a damaged file (``source``) among joined ones; ``others`` are further damaged files found.

    The remaining files may be joined without them.
    """

    source: str
    others: Sequence[DamagedSource] = ()

    @classmethod
    def of(cls, source: str, error: errors.Error) -> DamagedSource:
        """Return the error for ``source``, whose reading raised ``error``."""
        message = error.message if source in error.message else f"{source}: {error.message}"
        made = cls(message, "compare the file with its original", kind=error.kind)
        made.source = source
        return made


def chunk_grid(chunks: Sequence[Any]) -> dict[str, Any]:
    """Return the ``chunk_grid`` of the metadata for the ``chunks`` of an entry."""
    if isinstance(chunks, tuple):
        return {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}
    # Always lists, never the bare integer that the specification allows: Icechunk rejects it.
    shapes = [_run_lengths(axis) for axis in chunks]
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}


def _run_lengths(lengths: Sequence[int]) -> list[Any]:
    runs: list[list[int]] = []
    for length in lengths:
        if runs and runs[-1][0] == length:
            runs[-1][1] += 1
        else:
            runs.append([int(length), 1])
    return [length if count == 1 else [length, count] for length, count in runs]


def blocks(shape: Sequence[int], itemsize: int, most: int = 16 << 20) -> list[Region]:
    """Return regions of about ``most`` bytes along the first axis that cover a whole array.

    Processing them one by one limits the memory use.
    """
    if not shape or prod(shape) == 0:
        return [tuple(slice(0, n) for n in shape)]
    rows = max(most // max(prod(shape[1:]) * itemsize, 1), 1)
    rest = tuple(slice(0, n) for n in shape[1:])
    return [(slice(low, min(low + rows, shape[0])), *rest) for low in range(0, shape[0], rows)]


def default_chunks(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return a chunk shape of about 1 MiB that keeps the last axes whole, for arrays without chunks."""
    chunk = [max(int(n), 1) for n in shape]
    for axis in range(len(chunk)):
        size = prod(chunk) * max(itemsize, 1)
        if size <= _CHUNK:
            break
        row = size // chunk[axis]
        chunk[axis] = max(_CHUNK // row, 1)
    return tuple(chunk)
