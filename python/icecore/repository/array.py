"""An array of a repository, indexed like a NumPy array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display.text import shape_label
from icecore.repository import selection
from icecore.repository.cached_property import cached_property
from icecore.repository.indexers import Orthogonal, Vectorized
from icecore.repository.nodes import Node
from icecore.repository.precision import precision
from icecore.repository.results import Storage
from icecore.repository.upper_rooms import provider

if TYPE_CHECKING:
    import numpy as np

    from icecore import _icecore
    from icecore.repository.read_plan import Plan
    from icecore.repository.repo import Repo

_ITER_BYTES = 16 << 20


class Array:
    """One array at one version. Indexing reads; nothing is read before.

    Indexing follows NumPy: ints, slices with any step, an ellipsis, integer lists, boolean masks; several
    lists are broadcast together (``oindex`` combines them as an outer product instead). A dictionary selects
    by dimension name.
    """

    def __init__(self, repo: Repo, node: Node) -> None:
        self._repo = repo
        self._node = node

    @cached_property
    def _native(self) -> _icecore.Array:
        return self._repo._native.array(self._node.path)

    @property
    def repo(self) -> Repo:
        """The repository, at the version this array was opened at."""
        return self._repo

    @property
    def path(self) -> str:
        """Absolute path inside the repository."""
        return self._node.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._node.name

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
        """A name or None per axis."""
        return self._node.dims

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype that reads return, in native byte order."""
        told = self._node.ours.get("subarrays")
        if not told:
            return self._native.dtype
        from icecore.repository.structured_dtypes import shaped

        return shaped(self._native.dtype, told)

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Shape of the unit of decoding; None where chunks differ in shape (a rectilinear grid)."""
        return self._node.grid[0]

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of the unit of I/O; None where chunks are not sharded."""
        return self._node.grid[1]

    @cached_property
    def codecs(self) -> list[dict[str, Any]]:
        """The Zarr v3 codecs of a chunk (inside the shard, where it is sharded)."""
        return self._node.codecs

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes (a copy); ``_FillValue`` of floats, which Zarr keeps as text, as a number."""
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
        """Where the bytes lie: how many chunks are missing, inline, native or linked, and in which files."""
        return Storage(**self._native.storage())

    @property
    def nbytes_stored(self) -> int:
        """Stored bytes, in the repository and in linked files."""
        return self.storage.bytes_stored

    @property
    def linked(self) -> bool:
        """Whether any chunk lies in a linked file."""
        return self.storage.linked > 0

    def __getitem__(self, sel: Any) -> Any:
        """Read a selection: an ndarray, or a scalar where each axis is given as an int.

        Raises:
            Error: ``selection`` (also an ``IndexError``) where it doesn't fit the shape; any error of
                reading.
        """
        # Between brackets None is NumPy's newaxis, not "everything".
        index = selection.normalize((None,) if sel is None else sel, self.dims)
        result = self._read(index)
        return result[()] if selection.scalar(index, self.ndim) else result

    def _read(
        self, index: Any, out: Any = None, outer: bool = False, options: dict[str, Any] | None = None
    ) -> np.ndarray:
        index, target, finish = self._asked(index, out)
        return finish(self._native.read(index, target, outer, options))

    def _asked(self, index: Any, out: Any) -> tuple[Any, Any, Callable[[np.ndarray], np.ndarray]]:
        """What the engine is asked for, in which memory, and what its answer becomes: it knows no masks of
        scalars, and no fields of records that are arrays, which Zarr lacks.
        """
        if self._plain:
            return index, out, _unchanged
        if not self.shape and out is None and (mask := selection.truth(index)) is not None:
            _, _, finish = self._asked((), None)
            return (), None, lambda found: finish(found).reshape(1)[:mask]
        if not self._node.ours.get("subarrays"):
            return index, out, _unchanged
        dtype = self.dtype
        if out is None:
            return index, None, lambda found: found.view(dtype)
        target = out.view(self._native.dtype) if getattr(out, "dtype", None) == dtype else out
        return index, target, lambda _: out

    @cached_property
    def _plain(self) -> bool:
        """Whether the engine knows all about it: neither a scalar nor records with arrays."""
        return bool(self.shape) and not self._node.ours.get("subarrays")

    def read(
        self,
        sel: Any = None,
        out: np.ndarray | None = None,
        rtol: float | None = None,
        leading_bytes: int | None = None,
    ) -> np.ndarray:
        """Read a selection into a new array, or into ``out``.

        Floating-point numbers that are stored in byte planes (``icecore.byteplanes``) can be read in part:
        only the planes that ``rtol`` or ``leading_bytes`` asks for are fetched. :meth:`bound` returns the
        largest relative error. Zero, subnormal numbers, infinities, NaN and :attr:`fill_value` are always
        exact; arrays without planes are read exactly. Another value that stands for "missing" is a number
        like others: look for it within the bound (xarray's engine changes its attributes accordingly).

        Args:
            sel: as between brackets, or a dictionary from dimension names to indexes; None is everything.
            out: a writable array of the result's shape and of this dtype, filled and returned.
            rtol: the largest relative error of a number (of each part of a complex one) that you accept.
            leading_bytes: instead, how many of the most significant bytes of each number to read.

        Raises:
            Error: ``selection``, ``mismatch`` (``out``), ``unsupported`` (``rtol`` of what is no float),
                ``invalid`` (a negative ``rtol``), or any error of reading.
        """
        index = selection.normalize(sel, self.dims)
        return self._read(index, out, False, precision(rtol, leading_bytes))

    async def aread(
        self, sel: Any = None, rtol: float | None = None, leading_bytes: int | None = None
    ) -> np.ndarray:
        """Read a selection in a thread, for callers that run an event loop; see :meth:`read`.

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
            chunks: the blocks, as dask takes them; whole shards by default (whole chunks without sharding),
            so
                that no shard is read twice.

        Raises:
            Error: ``unsupported`` if dask is missing.
        """
        return provider("to_dask")(self, chunks)

    def to_xarray(self, **options: Any) -> Any:
        """Return an ``xarray.DataArray`` with the coordinates of the array's group, read lazily.

        Args:
            **options: those of :func:`xarray.open_dataset` with ``engine="icecore"``.

        Raises:
            Error: ``unsupported`` if xarray is missing.
        """
        return provider("to_xarray")(self, **options)

    @property
    def segments(self) -> list[tuple[int, int]]:
        """Spans [start, stop) in GPS nanoseconds that have samples, of an array with a time axis.

        Raises:
            Error: ``unsupported`` for an array without one.
        """
        return provider("segments")(self)

    def between(self, start: Any, stop: Any, gaps: str = "raise") -> np.ndarray:
        """Read a stretch of time: GPS seconds, or UTC as a datetime or ISO text; ``stop`` is not included.

        Args:
            start: of the stretch.
            stop: its end.
            gaps: where samples are missing, also at both ends: ``raise``, ``pad`` (with the fill value, NaN
                of floats) or ``ignore`` (the samples that exist, one behind the other).

        Returns:
            Samples, shape ``(n,)``.

        Raises:
            Error: ``selection`` for missing samples with ``gaps="raise"``; ``unsupported`` for an array
                without a time axis; ``invalid``.
        """
        return provider("between")(self, start, stop, gaps)

    def trend(self, start: Any = None, stop: Any = None, points: int = 2000) -> Any:
        """Reduce a stretch of time to at most ``points`` windows of minimum, maximum, mean, rms and count.

        Args:
            start: GPS seconds or UTC; the array's start if omitted.
            stop: not included; the array's end if omitted.
            points: windows at most; a window is one sample where the stretch has no more.

        Returns:
            An :class:`icecore.timeseries.trend.Trend`.

        Raises:
            Error: ``unsupported`` for an array without a time axis; ``dtype`` for complex numbers;
                ``invalid``.
        """
        return provider("trend")(self, start, stop, points)

    def plan(self, sel: Any = None, rtol: float | None = None, leading_bytes: int | None = None) -> Plan:
        """What reading ``sel`` would do: requests, bytes, chunks, error.

        Only what tells where the bytes lie is read: references, indexes of shards, tables of planes.
        """
        index, _, _ = self._asked(selection.normalize(sel, self.dims), None)
        from icecore.repository.read_plan import Plan

        return Plan(**self._native.plan(index, False, precision(rtol, leading_bytes)))

    def bound(self, rtol: float | None = None, leading_bytes: int | None = None) -> float:
        """The largest relative error of any number that a read with this ``rtol`` or ``leading_bytes`` gives.

        It is proven, not measured: a property of the planes that are read. 0 where every bit is right.
        """
        return self._native.bound(precision(rtol, leading_bytes))

    def points(self, coordinates: Any) -> np.ndarray:
        """Read single elements in one coalesced plan: :attr:`vindex` for coordinates in rows.

        ``a.points(c)`` is ``a.vindex[tuple(c.T)]``, which suits lists of places such as a track.

        Args:
            coordinates: integers of shape (n, ndim), one row per element; negative ones count from the end.

        Returns:
            n elements, in the order asked for.
        """
        import numpy as np

        points = np.asarray(coordinates)
        if points.size == 0:
            points = points.reshape(0, self.ndim).astype("i8")
        if points.ndim != 2 or points.shape[1] != self.ndim or points.dtype.kind not in "iu":
            raise errors.make(
                "selection",
                f"points of shape {points.shape}, {points.dtype}, for {self.path} with {self.ndim} axes",
                f"give integers of shape (n, {self.ndim}): one row per element",
            )
        if self.ndim == 0:
            return np.full(len(points), self._read(())[()], self.dtype)
        index = selection.normalize(tuple(points.T), self.dims)
        return self._read(index)

    @property
    def vindex(self) -> Vectorized:
        """Indexing by coordinates, as in Zarr and xarray: ``a.vindex[[0, 5], [1, 2]]`` is ``[a[0, 1], a[5,
        2]]``.

        Each axis takes an integer array; the arrays are broadcast together. A boolean mask of the array's
        shape selects where it is true. All elements are read in one coalesced plan.
        """
        return Vectorized(self)

    @property
    def oindex(self) -> Orthogonal:
        """Indexing in which every list selects along its own axis: ``a.oindex[[0, 5], :, [1, 2, 3]]``."""
        return Orthogonal(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"{self.path} is not in memory: np.asarray() of it always copies")
        data = self.read()
        return data if dtype is None else data.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self.path} is a scalar: it has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """The rows along the first axis, read in blocks of whole chunks rather than one by one."""
        if not self.shape:
            raise TypeError(f"{self.path} is a scalar: it can't be iterated over")
        return self._rows()

    def _rows(self) -> Iterator[Any]:
        row = max(prod(self.shape[1:]) * self.dtype.itemsize, 1)
        unit = (self.chunks or (1,))[0]
        step = max(_ITER_BYTES // row // unit, 1) * unit
        for start in range(0, self.shape[0], step):
            yield from self.read(slice(start, min(start + step, self.shape[0])))

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


def _unchanged(found: np.ndarray) -> np.ndarray:
    return found


def _reopen(repo: Repo, path: str) -> Array:
    return repo._array(path)
