"""Objects in memory as sources: xarray objects, tables and mappings of arrays. One module a kind."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from icecore import errors
from icecore.sources.mapping.array_map import ArrayMap

#: what `pack` takes, for the hint of an error
ACCEPTED = (
    "pack takes a path, a URL, an xarray Dataset, DataArray or DataTree, a pandas or Polars data frame, an "
    "Arrow table, or a dict: {'t': array}"
)


def kind_of(item: Any) -> str | None:
    """``xarray``, ``table`` or ``arrays``; None for any other object. Imports nothing."""
    xarray = sys.modules.get("xarray")
    if xarray is not None and isinstance(item, (xarray.Dataset, xarray.DataArray, xarray.DataTree)):
        return "xarray"
    if isinstance(item, Mapping):
        return "arrays"
    pandas = sys.modules.get("pandas")
    is_frame = pandas is not None and isinstance(item, pandas.DataFrame)
    return "table" if is_frame or hasattr(item, "__arrow_c_stream__") else None


def open(item: Any, name: str) -> ArrayMap:
    """Index an object in memory; its data is read when it is packed.

    Raises:
        Error: ``invalid`` for an object of another type; ``dtype`` for values that Zarr has no type for;
            ``unsupported`` for a table if pyarrow is not installed.
    """
    kind = kind_of(item)
    if kind == "xarray":
        from icecore.sources.memory import xarray_objects

        return xarray_objects.open(item, name)
    if kind == "table":
        try:  # pyarrow is an extra, and takes long to import
            from icecore.sources.memory import arrow_tables
        except ModuleNotFoundError:
            message = f"packing a table in memory ({type(item).__name__}) needs pyarrow"
            raise errors.needs("table", message) from None
        return arrow_tables.open(item, name)
    if kind == "arrays":
        from icecore.sources.memory import array_mappings

        return array_mappings.open(item, name)
    found = f"{type(item).__module__}.{type(item).__qualname__}"
    raise errors.make("invalid", f"{found} is not a source", ACCEPTED)
