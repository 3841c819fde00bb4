"""Records as Zarr has them: no gaps, little-endian, sub-arrays spelled out as fields ``"0"``, ``"1"``, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_MAX_SUBARRAY = 1024


def _refused(dtype: np.dtype, path: tuple[str, ...]) -> np.dtype:
    raise TypeError("a field of variable length")


def packed_struct(
    dtype: np.dtype,
    objects: Callable[[np.dtype, tuple[str, ...]], np.dtype] = _refused,
    path: tuple[str, ...] = (),
) -> np.dtype:
    """The record type of Zarr for a NumPy record type; plain types come back little-endian.

    ``objects`` says what becomes of fields of Python objects, from their dtype and the names that lead there.

    Raises:
        TypeError: for sub-arrays of more than 1,024 elements, and fields of Python objects unless ``objects``
            takes them.
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
    """The fields of a record type that are arrays, or records with such fields: name → their ``shape`` and
    ``fields``. It is kept beside the array, to read them as arrays again (:func:`shaped`).
    """
    found = {}
    for name in dtype.base.names or ():
        field = dtype.base[name]
        fields = subarrays(field)
        if field.shape or fields:
            found[name] = {"shape": list(field.shape), "fields": fields}
    return found


def shaped(packed: np.dtype, fields: Any) -> np.dtype:
    """The record type whose :func:`packed_struct` has these :func:`subarrays`; ``packed`` itself where they
    are none of it: somebody else may have written them.
    """
    try:
        found = _shaped(packed, fields)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return packed
    return found if found.itemsize == packed.itemsize else packed


def _shaped(packed: np.dtype, fields: dict[str, Any]) -> np.dtype:
    members: list[tuple[Any, ...]] = []
    for name in packed.names or ():
        inner, told = packed[name], fields.get(name)
        shape = tuple(told["shape"]) if told else ()
        item = inner["0"] if shape else inner
        members.append((name, _shaped(item, told["fields"]) if told and told["fields"] else item, shape))
    return np.dtype(members)


def offset_of(dtype: np.dtype, name: str) -> int:
    """Where a field begins, in bytes."""
    return int(dtype.fields[name][1]) if dtype.fields else 0


def same_bytes(dtype: np.dtype, packed: np.dtype) -> bool:
    """Whether elements of ``dtype`` are, byte for byte, elements of ``packed``."""
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
    """Records with gaps, big-endian fields or sub-arrays as records of ``dtype`` (their
    :func:`packed_struct`); ``objects`` turns fields of Python objects into what their fields hold.
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
            flat = field.reshape((*values.shape, len(parts)))  # not -1: there may be no records
            for i, part in enumerate(parts):
                item = flat[..., i]
                inner = dtype[name][part]
                out[name][part] = item if inner.names is None else pack(item, inner, objects)
    return out
