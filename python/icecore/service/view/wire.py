"""How values travel to the page: little-endian numbers that JavaScript has, else JSON."""

from __future__ import annotations

import numpy as np

from icecore.repository.json_attributes import to_json

JSON = "json"


def wire(dtype: np.dtype) -> str:
    """Return the NumPy name of the sent numbers, or ``json``. Complex numbers are sent as their modulus."""
    if dtype.subdtype is not None:
        return JSON
    if dtype.kind == "b":
        return "u1"
    if dtype.kind in "iu":
        return dtype.str[1:]
    if dtype.kind == "f":
        return "f4" if dtype.itemsize <= 4 else "f8"
    return "f8" if dtype.kind == "c" else JSON


def label(dtype: np.dtype) -> str:
    """Return a dtype as readers know it."""
    if dtype.names:
        return f"record of {len(dtype.names)}"
    return "string" if dtype.kind == "O" else str(dtype)


def sent(found: np.ndarray | list[object]) -> bytes | list[object]:
    """Return numbers as bytes in C order; other values as JSON, flat."""
    if isinstance(found, list):
        return found
    kind = wire(found.dtype)
    if kind == JSON:
        return [to_json(value) for value in found.ravel()]
    if found.dtype.kind == "c":
        found = np.abs(found)
    return np.ascontiguousarray(found, np.dtype(kind).newbyteorder("<")).tobytes()
