"""Attributes between Python, where numbers have types, and JSON, which knows only int64 and float64."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from icecore.nodes import OURS, Node
from icecore.sources.attributes import fill_attribute, nonfinite, to_json


def typed(node: Node) -> dict[str, Any]:
    """A node's attributes with the numbers in the types they had in the source (JSON knows only int64 and
    float64).
    """
    types = node.ours.get("attr_types", {})
    attrs: dict[str, Any] = {}
    for name, value in node.numbers.items():
        attrs[name] = _typed(value, types[name]) if name in types else value
    if "fill" in node.ours:
        attrs["_FillValue"] = node.ours["fill"]  # of text, for which xarray's Zarr backend has no form
    return attrs


def _typed(value: Any, dtype: str) -> Any:
    # straight to its type: on the way through NumPy's guess integers of both halves of u64 become floats
    many = isinstance(value, (list, tuple))
    try:
        array = np.array(value if many else [value], dtype)
    except (TypeError, ValueError, OverflowError):
        return value
    return array if many else array[0]


def dump(attrs: Mapping[str, Any], ours: Mapping[str, Any] | None = None) -> str:
    """Attributes as the JSON that is stored, with what icecore keeps beside them."""
    document = {str(key): to_json(value) for key, value in attrs.items()}
    if ours:
        document[OURS] = to_json(dict(ours))
    types, kept = nonfinite(attrs), document.get(OURS, {})
    if types and isinstance(kept, dict):
        document[OURS] = {**kept, "attr_types": {**types, **kept.get("attr_types", {})}}
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def encoded(attrs: Mapping[str, Any], dtype: np.dtype[Any]) -> Mapping[str, Any]:
    """An array's attributes with ``_FillValue`` in the form that xarray reads: text for a float,
    a list for a complex number.
    """
    value = attrs.get("_FillValue")
    if dtype.kind not in "fc" or value is None or isinstance(value, (str, list, tuple)):
        return attrs
    form = fill_attribute(value, dtype)
    return attrs if form is None else {**attrs, "_FillValue": form}


def fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """``_FillValue`` as a number of ``dtype``, from the form it has in Zarr attributes: base64 of a float64
    for floats (a pair of them for complex numbers), else itself; of text of fixed size as bytes.
    """
    try:
        if dtype.kind == "S":
            utf8 = str(value).encode()
            return utf8 if len(utf8) <= dtype.itemsize else str(value).encode("latin-1")
        if dtype.kind == "f":
            return dtype.type(_double(value))
        if dtype.kind == "c":
            real, imaginary = value
            return dtype.type(complex(_double(real), _double(imaginary)))
        return dtype.type(value) if dtype.kind in "iub" else value
    except (TypeError, ValueError, OverflowError, struct.error):
        return value


def _double(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return float(struct.unpack("<d", base64.standard_b64decode(value))[0])
