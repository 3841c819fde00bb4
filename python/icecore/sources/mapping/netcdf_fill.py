"""Values for missing elements: default fill values of the netCDF library, and choices for null."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

# NC_FILL_* of netcdf.h, by NumPy kind and size.
_FILLS: dict[str, Any] = {
    "i1": -127,
    "i2": -32767,
    "i4": -2147483647,
    "f4": np.float32(9.969209968386869e36),
    "f8": 9.969209968386869e36,
    "u1": 255,
    "u2": 65535,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
}
#: for float16, which netCDF lacks
_HALF = -65504.0


def default_fill(dtype: np.dtype) -> Any:
    """Return the default fill value of a variable; None if netCDF has no such type."""
    value = _FILLS.get(dtype.str[1:])
    return None if value is None else dtype.type(value)


def reals_for_null(dtype: np.dtype[Any]) -> Iterator[Any]:
    """Yield numbers that can represent null in floats, netCDF's fill value first."""
    value = dtype.type(_HALF if dtype.itemsize == 2 else _FILLS["f8"])
    while value:
        yield value
        value = np.nextafter(value, dtype.type(0))


def texts_for_null() -> Iterator[str]:
    """Yield strings that can represent null."""
    yield "<null>"
    yield from (f"<null {number}>" for number in count(1))
