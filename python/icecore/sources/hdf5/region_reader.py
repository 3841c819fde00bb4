"""Read regions of an HDF5 dataset as plain arrays, through h5py."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from h5py import h5d, h5s, h5t

from icecore import errors
from icecore.repository.json_attributes import text
from icecore.repository.zarr_dtypes import pack
from icecore.sources.files.identity import Identity, unchanged
from icecore.sources.files.open_files import shared
from icecore.sources.hdf5.chunks import positions
from icecore.sources.hdf5.file import guard, open_file
from icecore.sources.hdf5.filters import load_plugins
from icecore.sources.hdf5.types import memory_type, spelled, without_conversion
from icecore.sources.mapping.array_map import Region
from icecore.sources.mapping.contiguous import grid_of


@dataclass(frozen=True)
class DatasetReader:
    """Reader for regions of one dataset; opens the file at first use, and can be pickled.

    ``stored`` is the dataset's shape if it is shorter than the array's; ``inner`` is the number of trailing
    axes that come from an array datatype; ``how`` is that of :class:`icecore.sources.hdf5.types.TypePlan`.
    """

    source: str
    identity: Identity
    path: str | bytes
    shape: tuple[int, ...]
    stored: tuple[int, ...]
    dtype: np.dtype
    how: str
    inner: int
    fill: Any = None

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region`` (one slice per axis), C-contiguous, in native byte order."""
        unchanged(self.source, self.identity)
        load_plugins()
        name = text(self.path) if isinstance(self.path, bytes) else self.path
        with guard(self.source, name), shared(self.source, self.identity, open_file) as file:
            return self._read(file[self.path], region)

    def _read(self, dataset: Any, region: Region) -> np.ndarray:
        outer = region[: len(region) - self.inner]
        clipped = tuple(
            slice(min(s.start, n), min(s.stop, n)) for s, n in zip(outer, self.stored, strict=True)
        )
        values = convert(self.raw(dataset, clipped), self.how, self.dtype, dataset.file.id)
        if self.inner:
            values = values[(Ellipsis, *region[len(outer) :])]  # type: ignore[arg-type]
        if self.stored != self.shape[: len(self.stored)]:
            values = self._extend(values, outer)
        return np.ascontiguousarray(values).reshape([s.stop - s.start for s in region])

    def raw(self, dataset: Any, region: Region) -> np.ndarray:
        """Return the elements of the dataset's ``region`` as h5py returns them."""
        if dataset.shape is None:
            return np.empty(0, self.dtype)
        if self.how in ("text", "words") and dataset.chunks and not self.inner:
            return self._words(dataset, region)
        tid = dataset.id.get_type()
        if self.how == "wide":
            inner = self.shape[len(self.shape) - self.inner :]
            memory = h5t.py_create(self.dtype)
            if inner:
                memory = h5t.array_create(memory, inner)
            return _directly(dataset.id, region, np.dtype((self.dtype, inner)), memory)
        if without_conversion(tid):
            return _directly(dataset.id, region, tid.dtype, memory_type(tid))
        return np.asarray(
            dataset[region] if region else dataset[()],
            dtype=None if dataset.dtype.kind == "O" else dataset.dtype.base,
        )

    def _words(self, dataset: Any, region: Region) -> np.ndarray:
        """Return variable-length strings or records with them.

        They are read chunk by chunk if some chunks are missing: otherwise the library would try to write to
        the file.
        """
        if dataset.id.get_num_chunks() == prod(grid_of(dataset.shape, dataset.chunks)):
            return np.asarray(dataset[region])
        if self.how == "words" and _has_fill(dataset):
            what = "records with texts of any length, and a fill value where chunks are missing"
            raise errors.make("unsupported", f"{what}, which the HDF5 library reads in no safe way")
        infos: list[Any] = []
        dataset.id.chunk_iter(infos.append)
        starts = np.array([info[0] for info in infos], "i8").reshape(len(infos), dataset.ndim)
        shape = [s.stop - s.start for s in region]
        text = self.how == "text"
        out = np.full(shape, self._nothing, object) if text else np.zeros(shape, dataset.dtype)
        for start in positions(dataset.id, starts, dataset.chunks):
            part = tuple(
                slice(max(s.start, int(low)), min(s.stop, int(low) + n))
                for s, low, n in zip(region, start, dataset.chunks, strict=True)
            )
            if all(p.start < p.stop for p in part):
                inside = (
                    slice(p.start - s.start, p.stop - s.start) for p, s in zip(part, region, strict=True)
                )
                out[tuple(inside)] = dataset[part]
        return out

    @property
    def _nothing(self) -> Any:
        """The value of elements that were never written."""
        empty = "" if self.dtype.kind == "O" else np.zeros((), self.dtype)[()]
        return empty if self.fill is None else self.fill

    def _extend(self, values: np.ndarray, region: Region) -> np.ndarray:
        shape = tuple(s.stop - s.start for s in region) + values.shape[len(region) :]
        out = np.full(shape, self._nothing, self.dtype)
        out[tuple(slice(0, n) for n in values.shape)] = values
        return out


def _has_fill(dataset: Any) -> bool:
    return bool(dataset.id.get_create_plist().fill_value_defined() == h5d.FILL_VALUE_USER_DEFINED)


def _directly(dsid: Any, region: Region, dtype: np.dtype, memory: Any) -> np.ndarray:
    """Read elements of a type without an h5py dtype, or that the library can't convert."""
    count = tuple(s.stop - s.start for s in region)
    out = np.empty(count, dtype)
    if out.size:
        inside, chosen = h5s.create_simple(count) if region else h5s.create(h5s.SCALAR), dsid.get_space()
        if region:
            chosen.select_hyperslab(tuple(s.start for s in region), count)
        dsid.read(inside, chosen, out, memory)
    return out


def convert(values: np.ndarray, how: str, dtype: np.dtype, fid: Any = None) -> np.ndarray:
    """Convert values from h5py to elements of ``dtype``."""
    if how == "text":
        return _each(values, lambda item: text(item) if isinstance(item, bytes) else str(item))
    if how == "reference":
        return spelled(values, fid)
    if how in ("struct", "words"):
        return pack(values, dtype, lambda field: spelled(field, fid))
    return values.astype(dtype, copy=False)


def _each(values: np.ndarray, function: Any) -> np.ndarray:
    out = np.empty(values.shape, object)
    flat = out.reshape(-1)
    for i, item in enumerate(values.reshape(-1)):
        flat[i] = function(item)
    return flat.reshape(values.shape)
