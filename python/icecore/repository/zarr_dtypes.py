"""Convert NumPy dtypes to Zarr v3 ``data_type``, ``fill_value`` and ``bytes`` codec."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from icecore import errors

ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}


def data_type(dtype: np.dtype) -> Any:
    """Return the Zarr v3 ``data_type`` of a NumPy dtype; ``object`` and ``StringDType`` are ``"string"``.

    Raises:
        Error: ``dtype`` if Zarr v3 has no such data type (long double, subarrays, datetimes without a unit).
    """
    kind = dtype.kind
    if kind in "OT":
        return "string"
    if kind == "V" and dtype.names is not None:
        fields = [{"name": name, "data_type": data_type(dtype[name])} for name in dtype.names]
        return {"name": "struct", "configuration": {"fields": fields}}
    if dtype.subdtype is None:
        if kind == "b":
            return "bool"
        if (kind in "iuf" and dtype.itemsize <= 8) or (kind == "c" and dtype.itemsize <= 16):
            return dtype.name
        if kind in "SUV" and dtype.itemsize:
            name = {"S": "null_terminated_bytes", "U": "fixed_length_utf32", "V": "raw_bytes"}[kind]
            return {"name": name, "configuration": {"length_bytes": dtype.itemsize}}
        if kind in "mM" and np.datetime_data(dtype)[0] != "generic":
            unit, scale = np.datetime_data(dtype)
            name = {"m": "numpy.timedelta64", "M": "numpy.datetime64"}[kind]
            return {"name": name, "configuration": {"unit": unit, "scale_factor": scale}}
    hint = "convert it to numbers or fixed-size strings first"
    if kind in "SUV" and not dtype.itemsize:
        hint = f"give it a length: '{kind}8'"
    elif kind in "mM":
        hint = f"give it a unit: '{kind}8[s]'"
    raise errors.make("dtype", f"Zarr has no data type for {dtype}", hint)


def fill_json(value: Any, dtype: np.dtype) -> Any:
    """Return the Zarr v3 ``fill_value`` for an array of ``dtype``; None means zero or an empty string."""
    kind = dtype.kind
    if kind in "OT":
        return (
            ""
            if value is None
            else value
            if isinstance(value, str)
            else bytes(value).decode("utf-8", "replace")
        )
    if value is None:
        value = np.zeros((), dtype)[()]
    if kind == "V" and dtype.names is not None:
        return {name: fill_json(value[name], dtype[name]) for name in dtype.names}
    if kind == "b":
        return bool(value)
    if kind in "iu":
        return int(value)
    if kind in "fc":
        parts = np.asarray(value, dtype).reshape(1).view(f"f{dtype.itemsize // (1 if kind == 'f' else 2)}")
        return _bits(parts[0]) if kind == "f" else [_bits(part) for part in parts]
    if kind in "mM":
        return int(np.asarray(value, dtype).view("i8"))
    if kind == "U":
        return str(value)
    return base64.standard_b64encode(bytes(value)).decode()


def _bits(value: np.floating[Any]) -> Any:
    """Return a float as strict JSON without losing bits; NaN with a payload becomes ``"0x7fc00001"``."""
    plain = np.asarray(np.nan, value.dtype).tobytes() == value.tobytes()
    if not np.isnan(value) or plain or value.dtype.itemsize > 8:
        return number(float(value))
    return f"0x{int(value.view(f'u{value.dtype.itemsize}')):0{2 * value.dtype.itemsize}x}"


def number(value: float) -> Any:
    """Return a float as strict JSON: a number, or Zarr's ``"NaN"``, ``"Infinity"``, ``"-Infinity"``."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def bytes_codec(dtype: np.dtype, big: bool = False) -> dict[str, Any]:
    """Return the array→bytes codec for elements of ``dtype``; single bytes have no byte order."""
    if dtype.kind in "OT":
        return {"name": "vlen-utf8", "configuration": {}}
    plain = dtype.kind in "SbV" and dtype.names is None
    if plain or dtype.itemsize == 1:
        return {"name": "bytes"}
    return {"name": "bytes", "configuration": {"endian": "big" if big else "little"}}


def copy_codecs(dtype: np.dtype) -> list[dict[str, Any]]:
    """Return the default codecs of a copied array: bytes and Zstandard."""
    return [bytes_codec(dtype), dict(ZSTD)]


def itemsize(dtype: np.dtype[Any]) -> int:
    """Return the bytes of an element for planning; a variable-length string counts as 16."""
    return 16 if dtype.kind in "OT" else dtype.itemsize


# Structured dtypes in Zarr's form: packed, little-endian, subarrays as fields ``"0"``, ``"1"``, …

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
