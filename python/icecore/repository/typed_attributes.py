"""Convert attributes between NumPy types and JSON, which has only int64 and float64."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_attribute, nonfinite, to_json
from icecore.repository.nodes import OURS, Node


def typed(node: Node) -> dict[str, Any]:
    """Return a node's attributes with the NumPy dtypes they had in the source."""
    types = node.ours.get("attr_types", {})
    attrs: dict[str, Any] = {}
    for name, value in node.numbers.items():
        attrs[name] = _typed(value, types[name]) if name in types else value
    if "fill" in node.ours:
        attrs["_FillValue"] = node.ours["fill"]  # strings only: xarray's Zarr backend can't encode them
    return attrs


def _typed(value: Any, dtype: str) -> Any:
    # Convert directly: NumPy would infer float64 for a list with integers below and above 2**63.
    many = isinstance(value, (list, tuple))
    try:
        array = np.array(value if many else [value], dtype)
    except (TypeError, ValueError, OverflowError):
        return value
    return array if many else array[0]


#: types that can be stored besides NumPy's; other objects have only a repr
_STORABLE = (str, int, float, complex, bytes, np.generic, Decimal, date, time, timedelta, PurePath, np.dtype)


def storable(attrs: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the attributes of ``path`` after checking that JSON can represent them.

    Raises:
        Error: ``invalid``; the message names the attribute.
    """
    if not isinstance(attrs, Mapping):
        message = f"{path}: attributes must be a mapping (got {type(attrs).__name__})"
        raise errors.make("invalid", message, 'for example {"units": "K"}')
    for name, value in attrs.items():
        try:
            what = _unstorable(value) if isinstance(name, str) else f"a name of type {type(name).__name__}"
            if what is None:
                json.dumps([name, to_json(value)], ensure_ascii=False).encode()
        except RecursionError:
            what = "a value that contains itself or is nested too deeply"
        except UnicodeEncodeError:
            what = "a string with a lone surrogate"
        if what is not None:
            message = f"{path}: the attribute {name!a:.60} can't be stored: it is {what}"
            raise errors.make("invalid", message, "use strings, numbers, or lists and dictionaries of them")
    return attrs


def _unstorable(value: Any) -> str | None:
    """Describe a value that JSON can't represent; None if it can."""
    if isinstance(value, dict):
        items: Iterable[Any] = [*value.values()]
    elif isinstance(value, (list, tuple)):
        items = value
    elif isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return "a masked array"
    elif isinstance(value, np.ndarray):
        items = value.ravel() if value.dtype == object else ()
    else:
        items = ()
        if value is not None and not isinstance(value, _STORABLE):
            return f"of type {type(value).__name__}"
    return next((what for what in map(_unstorable, items) if what is not None), None)


def dump(attrs: Mapping[str, Any], ours: Mapping[str, Any] | None = None) -> str:
    """Return the stored JSON: the attributes and the internal attribute ``ours``."""
    document = {str(key): to_json(value) for key, value in attrs.items()}
    if ours:
        document[OURS] = to_json(dict(ours))
    types, kept = nonfinite(attrs), document.get(OURS, {})
    if types and isinstance(kept, dict):
        document[OURS] = {**kept, "attr_types": {**types, **kept.get("attr_types", {})}}
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def encoded(attrs: Mapping[str, Any], dtype: np.dtype[Any]) -> Mapping[str, Any]:
    """Return an array's attributes with ``_FillValue`` encoded for xarray: floats as base64 strings."""
    value = attrs.get("_FillValue")
    if dtype.kind not in "fc" or value is None or isinstance(value, (str, list, tuple)):
        return attrs
    form = fill_attribute(value, dtype)
    return attrs if form is None else {**attrs, "_FillValue": form}


def fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """Decode ``_FillValue`` of a Zarr attribute to a value of ``dtype``.

    Floats are base64 of a float64, complex numbers a pair of those, fixed-size strings become bytes; other
    values are returned unchanged.
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
        return exact(value, dtype) if dtype.kind in "iub" else value
    except (TypeError, ValueError, OverflowError, struct.error):
        return value


def marker(node: Node, name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return one value of ``_FillValue`` or ``missing_value`` in the dtype it had in the source.

    Without a recorded dtype it is a value of the array's ``dtype``, as :func:`fill` decodes it.
    """
    kind = node.ours.get("attr_types", {}).get(name)
    if kind is None:
        return fill(value, dtype)
    try:
        return np.dtype(kind).type(_double(value) if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError, struct.error):
        return fill(value, dtype)


def exact(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as an element of an integer ``dtype``; unchanged if it can't be represented.

    Examples are 1e20, 0.5, or -1 in an unsigned dtype.
    """
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "iufb":
        return dtype.type(value)
    with np.errstate(invalid="ignore"):
        made = number.astype(dtype)[()]
    return made if made == value else value


def _double(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return float(struct.unpack("<d", base64.standard_b64decode(value))[0])
