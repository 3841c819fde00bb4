"""Convert NumPy dtypes to Zarr v3 ``data_type``, ``fill_value`` and ``bytes`` codec."""

from __future__ import annotations

import base64
import math
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
