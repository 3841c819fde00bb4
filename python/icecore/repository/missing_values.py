"""Missing values: elements that an array's attributes mark as "no value"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.repository import typed_attributes

if TYPE_CHECKING:
    from icecore.repository.array import Array

_NULLS = ("_FillValue", "missing_value")
#: default fill value of netCDF's libraries for floats without ``_FillValue`` (netcdf.h)
_UNWRITTEN = 9.969209968386869e36


def nulls(array: Array) -> list[bytes]:
    """Return the missing values that the array's attributes name, as bytes in native byte order.

    Variable-length strings are UTF-8.
    """
    found: list[bytes] = []
    if array.dtype.kind not in "biufSUO":
        return found
    attrs = array.attrs
    wraps = "_Unsigned" in attrs and array.dtype.kind in "iu"
    for key, value in ((key, attrs[key]) for key in _NULLS if key in attrs):
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if key == _NULLS[1] and array.dtype.kind == "f" and isinstance(item, str):
                continue  # a string is not a number
            mark = typed_attributes.marker(array._node, key, item, array.dtype)
            element = _element(mark, array.dtype, wraps)
            if element is not None and element not in found:
                found.append(element)
    return found


def missing(array: Array, data: np.ndarray) -> np.ndarray:
    """Return a mask of the missing values in ``data``: bool, of the same shape.

    Args:
        array: its attributes name the missing values; floats without ``_FillValue`` use netCDF's default.
        data: elements as stored, before scale and offset.
    """
    found = np.zeros(data.shape, bool)
    if data.dtype == np.int64 and " since " in str(array.attrs.get("units")):
        found |= data == np.iinfo("i8").min  # not-a-time, which xarray stores without an attribute
    for element in nulls(array):
        is_text = array.dtype.kind == "O"
        found |= data == (element.decode() if is_text else np.frombuffer(element, array.dtype)[0])
    # float16 can't represent netCDF's default: it would become infinity, which is a valid value.
    if data.dtype.kind == "f" and data.dtype.itemsize > 2 and _NULLS[0] not in array.attrs:
        found |= data == data.dtype.type(_UNWRITTEN)
    return found


def _element(value: Any, dtype: np.dtype[Any], wraps: bool) -> bytes | None:
    """Return a value as an element of ``dtype``; None if no element equals it.

    Examples are 1e20 in int16, and float64 1e20 in float32 (docs/design/0052). ``wraps``: ``_Unsigned`` is
    set, so -1 means 255.
    """
    if dtype.kind == "O":
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
    try:
        given = np.asarray(value)
        if wraps and given.dtype.kind in "iu" and given.dtype.itemsize <= dtype.itemsize:
            return given.astype(dtype).tobytes() if given.shape == () else None
        if dtype.kind in "iub" and not isinstance(typed_attributes.exact(value, dtype), dtype.type):
            return None
        with np.errstate(over="ignore"):
            made = np.array(value, dtype)
        if dtype.kind == "f" and isinstance(value, np.generic) and made != value == value:
            return None
    except (TypeError, ValueError, OverflowError):
        return None
    return made.tobytes() if made.shape == () else None
