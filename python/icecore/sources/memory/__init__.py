"""Objects in memory as sources: xarray objects and mappings of arrays. One module a kind."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from icecore import errors
from icecore.sources.mapping.array_map import ArrayMap

_ACCEPTED = "an xarray Dataset, DataArray or DataTree, or a dict of arrays: {'t': array}"


def kind_of(item: Any) -> str | None:
    """``xarray`` or ``arrays``; None for any other object. Imports nothing."""
    xarray = sys.modules.get("xarray")
    if xarray is not None and isinstance(item, (xarray.Dataset, xarray.DataArray, xarray.DataTree)):
        return "xarray"
    return "arrays" if isinstance(item, Mapping) else None


def open(item: Any, name: str) -> ArrayMap:
    """Index an object in memory; its data is read when it is packed.

    Raises:
        Error: ``invalid`` for an object of another type; ``dtype`` for values that Zarr has no type for.
    """
    kind = kind_of(item)
    if kind == "xarray":
        from icecore.sources.memory import xarray_objects

        return xarray_objects.open(item, name)
    if kind == "arrays":
        from icecore.sources.memory import array_mappings

        return array_mappings.open(item, name)
    raise rejected(item)


def rejected(item: Any) -> errors.Error:
    """The error for an object that is not a source."""
    found = f"{type(item).__module__}.{type(item).__qualname__}"
    return errors.make("invalid", f"{found} is not a source", f"accepted: a path, a URL, {_ACCEPTED}")
