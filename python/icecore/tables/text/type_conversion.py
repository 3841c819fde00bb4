"""Conversion of a column's stored values to a wider type."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.sources.tables.encoding import decoded, foreign
from icecore.tables.text.column_types import dtype

Column = dict[str, Any]
#: integers below this value are exact as doubles
_EXACT = 2.0**53
#: dtype for integers beyond int64
_UNSIGNED = np.dtype("u8")


def converted(values: np.ndarray, new: Column, printed: bool) -> np.ndarray | None:
    """Convert values to the type of ``new``; missing values stay missing.

    Return None if a value is out of range of the new type or, with ``printed``, would be printed differently.
    """
    kind = dtype(new)
    empty = missing(values)
    if empty.all():
        return np.full(values.shape, blank(kind), kind)
    if values.dtype.kind in "iu" and kind.kind == "f":
        result = values.astype(kind)
        result[empty] = np.nan
    elif values.dtype.kind in "mM":
        try:
            result = values.astype(kind)
        except OverflowError:  # some versions of NumPy do not raise it
            return None
        if (result.astype(values.dtype)[~empty] != values[~empty]).any():
            return None
    elif values.dtype.kind == "S" and kind.kind == "O":
        texts = values.tolist()
        if printed and any(foreign(text) for text in texts):
            return None  # the original bytes can't be reproduced from a decoded string
        result = np.array([decoded(text) for text in texts], "O")
    else:
        if kind == _UNSIGNED and (values[~empty] < 0).any():
            return None
        result = values.astype(kind)
        if kind.kind in "iu":
            result[empty] = blank(kind)
    if kind.kind == "f":
        places = _places(new, values.dtype.kind, printed)
        if places is not None and (np.abs(result[~empty]) * 10.0**places >= _EXACT).any():
            return None
    return result


def _places(new: Column, kind: str, printed: bool) -> int | None:
    """Return the number of decimals to which all numbers must be exact; None for no requirement."""
    if "number" in new["style"]:
        return int(new["scale"])
    return 1 if kind in "iu" and printed else None


def missing(values: np.ndarray) -> np.ndarray:
    """Return a mask of the missing values."""
    kind = values.dtype.kind
    if kind in "i" or values.dtype == _UNSIGNED:
        return np.asarray(values == blank(values.dtype))
    if kind == "f":
        return np.isnan(values)
    if kind in "mM":
        return np.isnat(values)
    return np.asarray(values == blank(values.dtype)) if kind in "SO" else np.zeros(values.shape, "?")


def blank(kind: np.dtype[Any]) -> Any:
    """Return the value that represents a missing value."""
    if kind.kind == "i":
        return np.iinfo(kind).min
    if kind == _UNSIGNED:
        return _UNSIGNED.type(2**64 - 2)
    if kind.kind in "mM":
        return np.array("NaT", kind)[()]
    return {"f": np.nan, "S": b"", "O": ""}.get(kind.kind, 0)
