"""Arrays as dask arrays whose blocks are whole shards; tables as dask DataFrames of ranges of rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.cluster.tasks import Sealed
from icecore.tables.query.row_ranges import row_ranges
from icecore.tables.query.scan import flat

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.tables.query.table import Table


def to_dask(array: Array, chunks: Any = None) -> Any:
    """Return a dask array that reads blocks through icecore; see :meth:`icecore.Array.to_dask`.

    Raises:
        Error: ``unsupported`` if dask is not installed.
    """
    try:
        import dask.array as da
    except ModuleNotFoundError:
        raise errors.needs("dask", "to_dask needs dask") from None
    chunks = blocks(array) if chunks is None else chunks
    return da.from_array(SealedArray(array), chunks=chunks, asarray=False, fancy=True)


def table_to_dask(table: Table, columns: Sequence[str] | None, where: str | None) -> Any:
    """Return a dask DataFrame; see :meth:`icecore.Table.to_dask`.

    Raises:
        Error: ``unsupported`` if dask's DataFrame is not installed.
    """
    try:
        import dask.dataframe as dd
    except ImportError:
        raise errors.needs("dask", "to_dask needs dask") from None
    names = list(table) if columns is None else table._names(columns)
    read = partial(_partition, Sealed(table), names, where)
    ranges = row_ranges(table, names)
    return dd.from_map(read, ranges, meta=read((0, 0)), enforce_metadata=False)


class SealedArray:
    """An array in a graph of Dask; the repository is opened by the worker that reads."""

    def __init__(self, array: Array) -> None:
        self._sealed = Sealed(array)
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, region: Any) -> Any:
        return self._sealed.value[region]

    def __dask_tokenize__(self) -> tuple[Any, str]:
        array = self._sealed.value
        return (array.repo.__dask_tokenize__(), array.path)


def _partition(table: Sealed, columns: list[str], where: str | None, rows: tuple[int, int]) -> Any:
    batches = table.value._scan(columns, where, rows=rows)._packed()
    return flat(batches).read_pandas(types_mapper=_nested)


def _nested(kind: Any) -> Any:
    """Return pandas' type of lists and records; Dask would make strings of Python objects."""
    import pandas
    import pyarrow.types as types

    nested = types.is_list(kind) or types.is_large_list(kind) or types.is_struct(kind)
    return pandas.ArrowDtype(kind) if nested else None


def blocks(array: Array) -> tuple[Any, ...]:
    """Return the shape of a shard (or of a chunk without sharding); lengths per axis on a rectilinear
    grid.
    """
    if not array.shape:
        return ()
    unit = array.shards or array.chunks
    if unit is not None:
        return tuple(max(min(n, length), 1) for n, length in zip(unit, array.shape, strict=True))
    return tuple(_lengths(axis, n) for axis, n in zip(array._native.chunks, array.shape, strict=True))


def _lengths(axis: Any, length: int) -> tuple[int, ...]:
    """Return the chunk lengths of an axis, which Zarr writes as lengths, or as [length, repetitions]."""
    found: list[int] = []
    for item in [axis] if isinstance(axis, int) else axis:
        size, times = item if isinstance(item, (list, tuple)) else (item, 1)
        found += [size] * times
    while sum(found) < length:
        found.append(found[-1])
    return tuple(found)
