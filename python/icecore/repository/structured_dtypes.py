"""Structured dtypes in Zarr's form: packed, little-endian, subarrays as fields ``"0"``, ``"1"``, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_MAX_SUBARRAY = 1024


def _reject_objects(dtype: np.dtype, path: tuple[str, ...]) -> np.dtype:
    raise TypeError("a field of variable length")


def packed_struct(
    dtype: np.dtype,
    objects: Callable[[np.dtype, tuple[str, ...]], np.dtype] = _reject_objects,
    path: tuple[str, ...] = (),
) -> np.dtype:
    """Return Zarr's form of a NumPy structured dtype; other dtypes are returned little-endian.

    Args:
        dtype: any NumPy dtype.
        objects: returns the dtype for a field of Python objects, from its dtype and path of field names.
        path: the field names that lead to ``dtype``.

    Raises:
        TypeError: for a subarray of more than 1,024 elements; for a field of Python objects unless
            ``objects`` returns a dtype.
    """
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape))
        if count > _MAX_SUBARRAY:
            raise TypeError(f"a field that is an array of {count} elements (at most {_MAX_SUBARRAY})")
        inner = packed_struct(base, objects, path)
        return np.dtype([(str(i), inner) for i in range(count)])
    if dtype.names is not None:
        fields = ((name, packed_struct(dtype[name], objects, (*path, name))) for name in dtype.names)
        return np.dtype(list(fields))
    if dtype.kind == "O":
        return objects(dtype, path)
    if dtype.kind == "f" and dtype.itemsize > 8:
        return np.dtype("<f8")
    if dtype.kind == "c" and dtype.itemsize > 16:
        return np.dtype("<c16")
    return np.dtype(dtype.str).newbyteorder("<")


def subarrays(dtype: np.dtype) -> dict[str, Any]:
    """Return name → ``shape`` and ``fields`` for all fields that are subarrays or contain some.

    It is stored with the array, so that :func:`shaped` can restore the subarrays.
    """
    found = {}
    for name in dtype.base.names or ():
        field = dtype.base[name]
        fields = subarrays(field)
        if field.shape or fields:
            found[name] = {"shape": list(field.shape), "fields": fields}
    return found


def shaped(packed: np.dtype, fields: Any) -> np.dtype:
    """Restore the subarrays of a packed dtype: the inverse of :func:`packed_struct` and :func:`subarrays`.

    If ``fields`` does not match ``packed``, which other programs may cause, ``packed`` is returned.
    """
    try:
        found = _shaped(packed, fields)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return packed
    return found if found.itemsize == packed.itemsize else packed


def _shaped(packed: np.dtype, fields: dict[str, Any]) -> np.dtype:
    members: list[tuple[Any, ...]] = []
    for name in packed.names or ():
        inner, recorded = packed[name], fields.get(name)
        shape = tuple(recorded["shape"]) if recorded else ()
        item = inner["0"] if shape else inner
        nested = recorded["fields"] if recorded else None
        members.append((name, _shaped(item, nested) if nested else item, shape))
    return np.dtype(members)


def offset_of(dtype: np.dtype, name: str) -> int:
    """Return the offset of a field, in bytes."""
    return int(dtype.fields[name][1]) if dtype.fields else 0


def same_bytes(dtype: np.dtype, packed: np.dtype) -> bool:
    """Whether elements of both dtypes have the same bytes."""
    if dtype.itemsize != packed.itemsize:
        return False
    if dtype.subdtype is not None:
        return all(same_bytes(dtype.base, packed[name]) for name in (packed.names or ())[:1])
    if dtype.names is not None:
        return all(
            offset_of(dtype, name) == offset_of(packed, name) and same_bytes(dtype[name], packed[name])
            for name in dtype.names
        )
    return dtype.newbyteorder("=") == packed.newbyteorder("=") and (dtype.isnative == packed.isnative)


def pack(
    values: np.ndarray, dtype: np.dtype, objects: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> np.ndarray:
    """Convert records with padding, big-endian fields or subarrays to ``dtype``, their packed form.

    ``objects`` converts fields of Python objects.
    """
    if values.dtype == dtype:
        return values
    out = np.empty(values.shape, dtype)
    for name in dtype.names or ():
        field = objects(values[name]) if values.dtype[name].base.kind == "O" else values[name]
        if dtype[name].names is None:
            out[name] = field
        elif values.dtype[name].subdtype is None:
            out[name] = pack(field, dtype[name], objects)
        else:
            parts = dtype[name].names or ()
            flat = field.reshape((*values.shape, len(parts)))  # -1 would fail for zero records
            for i, part in enumerate(parts):
                item = flat[..., i]
                inner = dtype[name][part]
                out[name][part] = item if inner.names is None else pack(item, inner, objects)
    return out
