"""Encode attribute values as JSON, in the form that xarray's Zarr backend expects."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from icecore.repository.nodes import OURS
from icecore.repository.zarr_dtypes import number


def text(value: bytes) -> str:
    """Decode bytes as UTF-8, or as Latin-1 if they are not valid UTF-8 (Latin-1 keeps every byte)."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def to_json(value: Any) -> Any:
    """Return an attribute's value as strict JSON: scalars, lists, dictionaries.

    NaN and infinities become Zarr's strings. Integers of more than 64 bits become strings, because JSON
    parsers read them as floats.
    """
    if isinstance(value, np.ndarray):
        return to_json(value[()]) if value.ndim == 0 else [to_json(item) for item in value]
    if isinstance(value, np.void):
        if value.dtype.names is not None:
            return {name: to_json(value[name]) for name in value.dtype.names}
        return base64.standard_b64encode(value.tobytes()).decode()
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    if isinstance(value, np.longdouble):
        value = float(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else str(value)
    return value if value is None or isinstance(value, str) else str(value)


def attribute_type(value: Any) -> str | None:
    """Return the NumPy dtype of a numeric attribute that JSON would widen or can't represent, else None."""
    dtype = getattr(value, "dtype", None)
    if isinstance(value, complex) and dtype is None:
        dtype = np.dtype("c16")
    if dtype is None or dtype.kind not in "iufc" or dtype == np.dtype("i8"):
        return None
    if dtype == np.dtype("f8") and bool(np.isfinite(value).all()):
        return None
    return str(dtype.str)


def marker_type(name: str, value: Any, dtype: np.dtype) -> str | None:
    """Return the NumPy dtype of ``_FillValue`` or ``missing_value`` if it is another than the array's.

    It decides which elements are missing: 1e20 as float64 equals no float32.
    """
    given = getattr(value, "dtype", None)
    if name not in ("_FillValue", "missing_value") or given is None or given.kind not in "iuf":
        return None
    return None if given == dtype.newbyteorder("=") or given == dtype else str(given.str)


def nonfinite(attrs: Mapping[str, Any]) -> dict[str, str]:
    """Return name → dtype for attributes that JSON has no numbers for: NaN, infinities, complex numbers."""
    types = {}
    for name, value in attrs.items():
        dtype = getattr(value, "dtype", None)
        if dtype is None and isinstance(value, (float, complex, list, tuple)):
            flat = value if isinstance(value, (list, tuple)) else [value]
            plain = bool(flat) and all(isinstance(item, (int, float, complex)) for item in flat)
            kind = "c16" if any(isinstance(item, complex) for item in flat) else "f8"
            dtype = np.dtype(kind) if plain else None
        if dtype is None or dtype.kind not in "fc":
            continue
        if dtype.kind == "c" or not np.isfinite(np.asarray(value, dtype)).all():
            types[name] = str(dtype.str)
    return types


def group_attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's attributes as JSON, with the dtypes of those that :func:`nonfinite` lists."""
    types = nonfinite(attrs)
    plain = {name: to_json(value) for name, value in attrs.items()}
    return {**plain, OURS: {"attr_types": types}} if types else plain


def fill_attribute(value: Any, dtype: np.dtype) -> Any:
    """Encode ``_FillValue`` for xarray's Zarr v3 backend; None if that backend has no encoding for the dtype.

    Floats are the base64 of a little-endian float64, complex numbers a pair of those, integers and booleans
    themselves. Strings have no encoding: the Zarr ``fill_value`` keeps them.
    Source: ``xarray.backends.zarr.FillValueCoder``.
    """
    try:
        item = np.asarray(value).reshape(-1)[0]
        if dtype.kind == "f" and isinstance(item, (str, bytes)):
            return None  # xarray compares floats with no text
        if dtype.kind == "b":
            return bool(item)
        if dtype.kind in "iu":
            # of another type than the array's it stays what it is, or 2.5 would mask 2
            whole = int(item)
            return whole if whole == item and -(1 << 63) <= whole < 1 << 64 else float(item)
        if dtype.kind == "f":
            return _double(float(item))
        if dtype.kind == "c":
            return [_double(float(item.real)), _double(float(item.imag))]
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return None


def text_fill(value: Any, dtype: np.dtype) -> str | None:
    """Return the ``_FillValue`` of a string array as a string; None if it is not a single string."""
    items = np.asarray(value, object).reshape(-1)
    if dtype.kind not in "OSU" or len(items) != 1 or not isinstance(items[0], (str, bytes)):
        return None
    return text(items[0]) if isinstance(items[0], bytes) else str(items[0])


def fill_of_attribute(value: Any, dtype: np.dtype) -> Any:
    """Decode what :func:`fill_attribute` encoded; None for other dtypes.

    A string in another form, written by other software, is returned unchanged.
    """
    if value is None or dtype.kind not in "iuf":
        return None
    if isinstance(value, str):
        try:
            return struct.unpack("<d", base64.standard_b64decode(value))[0]
        except (ValueError, struct.error):
            return value
    return value


def _double(value: float) -> str:
    return base64.standard_b64encode(struct.pack("<d", value)).decode()
