"""Read regions of raw elements directly from a file: NumPy and netCDF-3 files."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import pack
from icecore.sources.files.byte_source import ByteSource, open_bytes
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import Region

_GATHER = 1 << 16


@dataclass(frozen=True)
class RawReader:
    """Reader for regions of an array whose elements are stored in C order from ``offset``; can be pickled.

    ``stored`` is the dtype in the file. ``record`` is the distance in bytes between indices of the first axis
    if it is more than a row (netCDF-3 records). ``fortran``: the axes are stored in reverse order.
    """

    source: str
    identity: Identity
    offset: int
    shape: tuple[int, ...]
    stored: np.dtype
    dtype: np.dtype
    record: int = 0
    fortran: bool = False

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region`` (one ``slice`` per axis), C-contiguous, in native byte order."""
        data = open_bytes(self.source)
        try:
            if data.identity != self.identity:
                raise errors.make(
                    "source-changed",
                    f"{self.source} changed: {self.identity.size} bytes then, {data.identity.size} now",
                    "index it again",
                )
            if self.fortran:
                return np.ascontiguousarray(self._read(data, region[::-1], self.shape[::-1]).T)
            return self._read(data, region, self.shape)
        finally:
            data.close()

    def _read(self, data: ByteSource, region: Region, shape: tuple[int, ...]) -> np.ndarray:
        wanted = tuple(s.stop - s.start for s in region)
        out = np.empty(wanted, self.dtype)
        if out.size == 0:
            return out
        item = self.stored.itemsize
        strides = [prod(shape[axis + 1 :]) * item for axis in range(len(shape))]
        if self.record and shape:
            strides[0] = self.record
        run = self._run_axis(region, shape)
        for outer in product(*(range(s.start, s.stop) for s in region[:run])):
            start = self.offset + sum(i * stride for i, stride in zip(outer, strides, strict=False))
            inner = region[run:]
            target = out[tuple(i - s.start for i, s in zip(outer, region, strict=False))]
            if not inner:
                out[tuple(i - s.start for i, s in zip(outer, region, strict=True))] = self._elements(
                    data, start, (1,)
                )[0]
                continue
            rows = (inner[0].stop - inner[0].start, *shape[run + 1 :])
            block = self._elements(data, start + inner[0].start * strides[run], rows)
            target[...] = block[(slice(None), *tuple(inner[1:]))]
        return out

    def _run_axis(self, region: Region, shape: tuple[int, ...]) -> int:
        """Return the outermost axis that can be read as one span of the file with few unneeded bytes."""
        run = len(shape) - 1
        while run > 0 and not (run == 1 and self.record):
            part = region[run]
            full = part.start == 0 and part.stop == shape[run]
            if not full and prod(shape[run:]) * self.stored.itemsize > _GATHER:
                break
            run -= 1
        if run == 0 and self.record:
            run = 1
        return max(run, 0)

    def _elements(self, data: ByteSource, offset: int, shape: tuple[int, ...]) -> np.ndarray:
        length = prod(shape) * self.stored.itemsize
        block = data.read_at(offset, length)
        if len(block) != length:
            raise errors.make(
                "corrupt",
                f"{self.source}: {length} bytes wanted at {offset}, the file has {data.identity.size}",
                "compare the file with its original",
            )
        values = np.frombuffer(block, self.stored).reshape(shape)
        return values if self.stored.names is None else pack(values, self.dtype)
