"""What netCDF-C writes beside an array in a Zarr store (NCZarr): its bookkeeping, names of axes and types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_ARRAY, _TYPES = "_nczarr_array", "_nczarr_attr"
#: the only dimension of a variable without any
_SCALAR = "_scalar_"


def plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes without netCDF-C's bookkeeping, which it hides, too."""
    return {name: value for name, value in attrs.items() if not _is_hidden(name)}


def dimensions(attrs: Mapping[str, Any], ndim: int) -> tuple[str, ...] | None:
    """The names of axes that netCDF-C keeps as paths; None where there are none."""
    paths = _said(attrs, _ARRAY).get("dimension_references", _said(attrs, _ARRAY).get("dimrefs"))
    if not isinstance(paths, list) or len(paths) != ndim or not all(isinstance(each, str) for each in paths):
        return None
    return tuple(each.rsplit("/", 1)[-1] for each in paths)


def is_scalar(attrs: Mapping[str, Any], dims: tuple[str | None, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of one element is a variable without dimensions."""
    return shape == (1,) and (dims == (_SCALAR,) or bool(_said(attrs, _ARRAY).get("scalar")))


def attribute_types(attrs: Mapping[str, Any]) -> dict[str, str]:
    """The dtypes of numeric attributes; JSON has only int64 and float64."""
    types = _said(attrs, _TYPES).get("types")
    found = {}
    for name, code in types.items() if isinstance(types, dict) else ():
        try:
            dtype = np.dtype(code)
        except TypeError:  # netCDF's own, as |J0 of JSON
            continue
        if dtype.kind in "iuf" and name in attrs and name != "_FillValue":
            found[name] = dtype.newbyteorder("<").str
    return found


def _is_hidden(name: str) -> bool:
    return name.lower().startswith("_nczarr_") or name == "_NCProperties"


def _said(attrs: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """One of netCDF-C's own attributes, in the spelling of any version."""
    value = attrs.get(name, attrs.get(name.upper(), {}))
    return value if isinstance(value, dict) else {}
