"""Physical values of stored numbers, as CF's attributes define them: what a unit may be named for."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.export.picture import physical
from icecore.repository.array import Array
from icecore.repository.missing_values import missing, nulls
from icecore.service.view.wire import wire

_PACKED = ("scale_factor", "add_offset", "_Unsigned")


def is_packed(array: Array) -> bool:
    """Return whether stored numbers and physical values differ."""
    return array.dtype.kind in "iuf" and any(name in array.attrs for name in _PACKED)


def is_known(array: Array) -> bool:
    """Return whether the values of the page are physical: False where attributes don't say how.

    An example is a ``scale_factor`` that isn't a number. The page then shows stored numbers without a unit.
    """
    if not any(name in array.attrs for name in _PACKED):
        return True
    try:
        physical(array, np.zeros(0, array.dtype))
    except errors.Error:
        return False
    return array.dtype.kind in "iuf"


def units(array: Array) -> str | None:
    """Return the unit of the values of the page."""
    found = array.attrs.get("units")
    return str(found) if found not in (None, "") and is_known(array) else None


def wire_of(array: Array) -> str:
    """Return how :func:`decoded` values travel: ``f8`` where they are not the stored numbers."""
    if not is_known(array):
        return wire(array.dtype)
    is_marked = array.dtype.kind in "iu" and array.dtype.itemsize < 8 and bool(nulls(array))
    return "f8" if is_packed(array) or is_marked else wire(array.dtype)


def decoded(array: Array, raw: np.ndarray) -> Any:
    """Return physical values: NaN for missing ones.

    Integers of 64 bits are exact: with missing values among them they are a list of text and None.
    """
    if array.dtype.kind not in "iuf" or not is_known(array):
        return raw
    flat = raw.reshape(-1)
    if wire_of(array) == "f8" and array.dtype != np.dtype("f8"):
        return physical(array, flat)
    if is_packed(array):
        return physical(array, flat)
    gone = missing(array, flat)
    if not gone.any():
        return flat
    if array.dtype.kind == "f":
        return np.where(gone, flat.dtype.type(np.nan), flat)
    return [None if is_gone else str(value) for value, is_gone in zip(flat.tolist(), gone, strict=True)]
