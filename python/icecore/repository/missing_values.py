"""Elements that stand for "no value" by an array's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.repository import typed_attributes

if TYPE_CHECKING:
    from icecore.repository.array import Array

_NULLS = ("_FillValue", "missing_value")
#: that netCDF's libraries leave in floats that nobody wrote, where ``_FillValue`` says no other (netcdf.h)
_UNWRITTEN = 9.969209968386869e36


def nulls(array: Array) -> list[bytes]:
    """The elements that stand for null by the array's attributes, as bytes in native order."""
    found: list[bytes] = []
    if array.dtype.kind not in "biufSU":
        return found
    attrs = array.attrs
    wraps = "_Unsigned" in attrs and array.dtype.kind in "iu"
    for value in (attrs[key] for key in _NULLS if key in attrs):
        for item in value if isinstance(value, (list, tuple)) else [value]:
            element = _element(typed_attributes.fill(item, array.dtype), array.dtype, wraps)
            if element is not None and element not in found:
                found.append(element)
    return found


def missing(array: Array, data: np.ndarray) -> np.ndarray:
    """Where ``data``, as an array stores it, holds such elements, or netCDF's own for floats: bool, of its
    shape.
    """
    found = np.zeros(data.shape, bool)
    for element in nulls(array):
        found |= data == np.frombuffer(element, array.dtype)[0]
    # A float16 can't hold it: it would be infinity, which is a value.
    if data.dtype.kind == "f" and data.dtype.itemsize > 2 and _NULLS[0] not in array.attrs:
        found |= data == data.dtype.type(_UNWRITTEN)
    return found


def _element(value: Any, dtype: np.dtype[Any], wraps: bool) -> bytes | None:
    """The element of ``dtype`` that a value is, or None: xarray finds no 1e20 among shorts either. ``wraps``
    where ``_Unsigned`` says that the sign is only spelling: -1 is 255 then.
    """
    try:
        given = np.asarray(value)
        if wraps and given.dtype.kind in "iu" and given.dtype.itemsize <= dtype.itemsize:
            return given.astype(dtype).tobytes() if given.shape == () else None
        if dtype.kind in "iub" and not isinstance(typed_attributes.exact(value, dtype), dtype.type):
            return None
        made = np.array(value, dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    return made.tobytes() if made.shape == () else None
