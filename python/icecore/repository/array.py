"""Array of a repository, indexed like a NumPy array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from icecore.display.text import shape_label
from icecore.repository import selection
from icecore.repository.array_request import Orthogonal, Vectorized, precision, read_points, request, rows
from icecore.repository.cached_property import cached_property
from icecore.repository.nodes import Member
from icecore.repository.results import Storage
from icecore.repository.upper_rooms import provider

if TYPE_CHECKING:
    import numpy as np

    from icecore import _icecore
    from icecore.repository.read_plan import Plan
    from icecore.repository.repo import Repo


class Array(Member):
    """An array at one version. Data is read when the array is indexed.

    Indexing follows NumPy: integers, slices with any step, an ellipsis, integer lists, boolean masks. Several
    lists are broadcast together; ``oindex`` combines them as an outer product. A dictionary selects by
    dimension name.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/t2m", "i4", (2, 3), dims=["time", "x"])[...] = [[1, 2, 3], [4, 5, 6]]
        >>> a = repo.at("main")["/t2m"]
        >>> a[1, ::2].tolist(), a[{"x": 0}].tolist()
        ([4, 6], [1, 4])
    """

    @cached_property
    def _native(self) -> _icecore.Array:
        return self._repo._native.array(self._node.path)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def dims(self) -> tuple[str | None, ...]:
        """Dimension names, None for an axis without a name."""
        return self._node.dims

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype that reads return, in native byte order."""
        subarrays = self._node.ours.get("subarrays")
        if not subarrays:
            return self._native.dtype
        from icecore.repository.zarr_dtypes import shaped

        return shaped(self._native.dtype, subarrays)

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Shape of a chunk, the unit of decoding; None on a rectilinear grid (chunks of different shapes)."""
        return self._node.grid[0]

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard, the unit of I/O; None without sharding."""
        return self._node.grid[1]

    @cached_property
    def codecs(self) -> list[dict[str, Any]]:
        """The Zarr v3 codecs of a chunk; for a sharded array those inside the shard."""
        return self._node.codecs

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the attributes; ``_FillValue`` of floats, which Zarr stores as a string, is a number."""
        from icecore.repository.json_attributes import fill_of_attribute

        attrs = self._node.numbers
        if self.dtype.kind == "f" and "_FillValue" in attrs:
            attrs["_FillValue"] = fill_of_attribute(attrs["_FillValue"], self.dtype)
        return attrs

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written (Zarr's ``fill_value``)."""
        import numpy as np

        raw = self._native.fill
        if self.dtype.kind == "O":
            return raw.decode("utf-8", "replace") if self._node.dtype_label == "string" else raw
        return np.frombuffer(raw, self.dtype, 1)[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array in memory."""
        return self.size * self.dtype.itemsize

    @cached_property
    def storage(self) -> Storage:
        """Storage statistics: number of missing, inline, native and linked chunks; linked files."""
        return Storage(**self._native.storage())

    @property
    def nbytes_stored(self) -> int:
        """Stored bytes in the repository and in linked files."""
        return self.storage.bytes_stored

    @property
    def linked(self) -> bool:
        """Whether any chunk is stored in a linked file."""
        return self.storage.linked > 0

    @cached_property
    def _plain(self) -> bool:
        """Whether the engine's results need no conversion: neither a scalar array nor subarrays."""
        return bool(self.shape) and not self._node.ours.get("subarrays")

    def __getitem__(self, sel: Any) -> Any:
        """Read a selection: an ndarray, or a scalar if every index is an integer.

        Raises:
            Error: ``selection`` (also an ``IndexError``) if it does not fit the shape; any error of reading.
        """
        # In brackets None is NumPy's newaxis; in read() it means everything.
        index = selection.normalize((None,) if sel is None else sel, self.dims)
        result = self._read(index)
        return result[()] if selection.scalar(index, self.ndim) else result

    def _read(
        self, index: Any, out: Any = None, outer: bool = False, options: dict[str, Any] | None = None
    ) -> np.ndarray:
        index, target, finish = request(self, index, out)
        return finish(self._native.read(index, target, outer, options))

    def read(
        self,
        sel: Any = None,
        out: np.ndarray | None = None,
        rtol: float | None = None,
        leading_bytes: int | None = None,
    ) -> np.ndarray:
        """Read a selection into a new array, or into ``out``.

        Floating-point numbers stored in byte planes (codec ``icecore.byteplanes``) can be read with reduced
        precision: only the planes that ``rtol`` or ``leading_bytes`` requires are fetched. :meth:`bound`
        returns the largest relative error. Zero, subnormal numbers, infinities, NaN and :attr:`fill_value`
        are always exact, and so are arrays without byte planes. Other values that mark missing data get the
        same error as any number: compare with the tolerance that :meth:`bound` returns. (xarray's engine
        changes ``_FillValue`` accordingly.)

        Args:
            sel: an index as in ``array[...]``, a dictionary from dimension names to indexes, or None for
                everything.
            out: a writable array of the result's shape and dtype; it is filled and returned.
            rtol: the largest relative error of a number that you accept (of each part of a complex number).
            leading_bytes: alternative to ``rtol``: number of most significant bytes to read of each number.

        Returns:
            An ndarray of the array's dtype; 0-dimensional if every index is an integer.

        Raises:
            Error: ``selection``; ``mismatch`` if ``out`` does not fit; ``unsupported`` for ``rtol`` or
                ``leading_bytes`` with another dtype than floating point; ``invalid`` for a negative
                ``rtol``; any error of reading.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "i4", (2, 3), dims=["time", "x"])[...] = [[1, 2, 3], [4, 5, 6]]
            >>> repo.at("main")["/t2m"].read({"time": 1, "x": slice(0, 2)}).tolist()
            [4, 5]
        """
        index = selection.normalize(sel, self.dims)
        return self._read(index, out, False, precision(rtol, leading_bytes))

    async def aread(
        self, sel: Any = None, rtol: float | None = None, leading_bytes: int | None = None
    ) -> np.ndarray:
        """Read a selection in a thread, for callers with an event loop; see :meth:`read`.

        Example:
            >>> import asyncio, icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/a", "i4", (3,))[...] = [1, 2, 3]
            >>> asyncio.run(repo.at("main")["/a"].aread(slice(0, 2))).tolist()
            [1, 2]
        """
        import asyncio

        return await asyncio.to_thread(self.read, sel, None, rtol, leading_bytes)

    def to_dask(self, chunks: Any = None) -> Any:
        """Return a dask array of the same shape and dtype.

        Args:
            chunks: block sizes in any form that dask accepts. The default is whole shards (whole chunks
                without sharding), so that no shard is read twice.

        Raises:
            Error: ``unsupported`` if dask is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "i4", (2, 3))[...] = [[1, 2, 3], [4, 5, 6]]
            >>> repo.at("main")["/t2m"].to_dask().sum().compute().item()
            21
        """
        return provider("to_dask")(self, chunks)

    def to_xarray(self, **options: Any) -> Any:
        """Return an ``xarray.DataArray`` with the coordinates of the array's group, read lazily.

        Args:
            **options: options of :func:`xarray.open_dataset` with ``engine="icecore"``.

        Raises:
            Error: ``unsupported`` if xarray is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/x", "i4", (3,), dims=["x"])[...] = [10, 20, 30]
            ...     w.array("/t2m", "f4", (3,), dims=["x"])[...] = [1, 2, 3]
            >>> repo.at("main")["/t2m"].to_xarray().sel(x=20).item()
            2.0
        """
        return provider("to_xarray")(self, **options)

    def plan(self, sel: Any = None, rtol: float | None = None, leading_bytes: int | None = None) -> Plan:
        """Return the plan of a read: requests, bytes, chunks, error bound.

        The data is not read, only the references, shard indexes and byte-plane tables that locate it.

        Args:
            sel, rtol, leading_bytes: as for :meth:`read`.

        Raises:
            Error: ``selection``, ``invalid``, ``unsupported``, as for :meth:`read`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (100,), chunks=(10,))[...] = range(100)
            >>> repo.at("main")["/t2m"].plan(slice(5, 25)).chunks
            3
        """
        index, _, _ = request(self, selection.normalize(sel, self.dims), None)
        from icecore.repository.read_plan import Plan

        return Plan(**self._native.plan(index, False, precision(rtol, leading_bytes)))

    def bound(self, rtol: float | None = None, leading_bytes: int | None = None) -> float:
        """Return the largest relative error of a read with this ``rtol`` or ``leading_bytes``.

        It follows from the byte planes that are read; it is not measured. 0 means that every bit is exact.

        Args:
            rtol, leading_bytes: as for :meth:`read`.

        Raises:
            Error: ``invalid``, ``unsupported``, as for :meth:`read`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,), codec="planes")[...] = [1, 2, 3]
            >>> repo.at("main")["/t2m"].bound(rtol=0.01) <= 0.01
            True
        """
        return self._native.bound(precision(rtol, leading_bytes))

    def points(self, coordinates: Any) -> np.ndarray:
        """Read single elements, for example along a track: ``a.points(c)`` is ``a.vindex[tuple(c.T)]``.

        Args:
            coordinates: integers of shape (n, ndim), one row per element; negative ones count from the end.

        Returns:
            An array of shape (n,), in the order of ``coordinates``.

        Raises:
            Error: ``selection`` for another shape or dtype, or for an index outside the array.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "i4", (2, 3))[...] = [[1, 2, 3], [4, 5, 6]]
            >>> repo.at("main")["/t2m"].points([[0, 0], [1, 2]]).tolist()
            [1, 6]
        """
        return read_points(self, coordinates)

    @property
    def vindex(self) -> Vectorized:
        """Indexing by coordinates, as in Zarr and xarray: ``a.vindex[[0, 5], [1, 2]]``.

        This reads the elements ``a[0, 1]`` and ``a[5, 2]``. Each axis takes an integer array; the arrays are
        broadcast together. A boolean mask of the array's shape selects the elements at which it is true. All
        elements are read in one plan.
        """
        return Vectorized(self)

    @property
    def oindex(self) -> Orthogonal:
        """Orthogonal indexing: each list selects along its own axis, ``a.oindex[[0, 5], :, [1, 2, 3]]``."""
        return Orthogonal(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"{self.path} is not in memory: copy=False is not possible")
        data = self.read()
        return data if dtype is None else data.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self.path} is a scalar: it has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the first axis; rows are read in blocks of whole chunks, not one by one."""
        if not self.shape:
            raise TypeError(f"{self.path} is a scalar: it can't be iterated over")
        return rows(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self._repo, self.path))

    def __repr__(self) -> str:
        from icecore.display.text import label

        text = (
            f"<icecore.Array {label(self.path)} {self._node.dtype_label} {shape_label(self.shape, self.dims)}"
        )
        text += f" chunks {self.chunks}" if self.chunks is not None else " rectilinear chunks"
        return text + (f" shards {self.shards}>" if self.shards else ">")

    def _repr_html_(self) -> str:
        from icecore.display.html import array

        return array(self)

    # Reads by time; the array needs a time axis.

    @property
    def segments(self) -> list[tuple[int, int]]:
        """Spans [start, stop) with samples, in nanoseconds: GPS, or UTC since 1970 for CF coordinates.

        Raises:
            Error: ``unsupported`` for an array without a time axis.
        """
        return provider("segments")(self)

    def between(
        self, start: Any, stop: Any, gaps: str = "raise", valid: str | Sequence[str] | None = None
    ) -> np.ndarray:
        """Read a span of time: GPS seconds, or UTC as a datetime or ISO string; ``stop`` is not included.

        The array has the time axis of a frame channel, or a CF time coordinate for its first dimension.

        Args:
            start: start of the span.
            stop: end of the span.
            gaps: action for missing samples, also at both ends: ``raise``, ``pad`` (with the fill value; NaN
                for floats) or ``ignore`` (return only the existing samples).
            valid: flags that must be set (``"DATA"``, ``["DATA", "CBC_CAT1"]``, ``"/H1/DQMASK:DATA"``);
                other samples are treated as missing. See :mod:`icecore.timeseries.flags`.

        Returns:
            Samples, shape ``(n,)``.

        Raises:
            Error: ``selection`` for missing samples with ``gaps="raise"``; ``unsupported`` for an array
                without a time axis; ``not-found`` for a flag; ``invalid``.

        Example:
            >>> import icecore
            >>> axis = {"epoch": "GPS", "t0_ns": 0, "step": [1, 4], "segments": [[0, 2_000_000_000]]}
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:  # 2 s at 4 Hz, as linked frames have them
            ...     w.array("/H1/X", "f4", (8,), ("time",), attrs={"icecore_time": axis})[...] = range(8)
            >>> repo.at("main")["/H1/X"].between(0.5, 1.0).tolist()
            [2.0, 3.0]
        """
        return provider("between")(self, start, stop, gaps, valid)

    def trend(self, start: Any = None, stop: Any = None, points: int = 2000) -> Any:
        """Reduce a span of time to at most ``points`` windows of minimum, maximum, mean, rms and count.

        Stored trends (``icecore link --summaries``) are used if they are fine enough, otherwise the samples.

        Args:
            start: GPS seconds or UTC; the array's start if omitted.
            stop: not included; the array's end if omitted.
            points: largest number of windows; a window has at least one sample.

        Returns:
            An :class:`icecore.timeseries.trend.Trend`.

        Raises:
            Error: ``unsupported`` for an array without a time axis; ``dtype`` for complex numbers;
                ``invalid``.

        Example:
            >>> import icecore
            >>> axis = {"epoch": "GPS", "t0_ns": 0, "step": [1, 4], "segments": [[0, 2_000_000_000]]}
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:  # 2 s at 4 Hz, as linked frames have them
            ...     w.array("/H1/X", "f4", (8,), ("time",), attrs={"icecore_time": axis})[...] = range(8)
            >>> repo.at("main")["/H1/X"].trend(points=2).max.tolist()
            [3.0, 7.0]
        """
        return provider("trend")(self, start, stop, points)


def _reopen(repo: Repo, path: str) -> Array:
    return repo._array(path)
