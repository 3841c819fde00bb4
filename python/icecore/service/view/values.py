"""A slice of an array, and the plan of its read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.export.decoded import physical
from icecore.export.picture import as_dates, elapsed
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import along
from icecore.repository.group import Group
from icecore.repository.json_attributes import to_json
from icecore.repository.missing_values import missing, nulls
from icecore.repository.repo import Repo

#: bytes of a reply, and of chunks decoded for it
SENT = 64 << 20
DECODED = 512 << 20
_SHOWN = 20


def values(repo: Repo, params: dict[str, str]) -> bytes | list[object]:
    """Return the physical values of ``selection``; ``field`` picks one of a record, as stored.

    Raises:
        Error: ``selection``; ``memory`` if the slice is larger than a page can show.
    """
    array = array_of(repo, params)
    selection = parse(array, params.get("selection", ""))
    grown = 1.0 if wire_of(array) != "f8" else 8 / array.dtype.itemsize
    check(array, selection, grown)
    found = np.asarray(array[selection])
    if field := params.get("field"):
        if field not in (found.dtype.names or ()):
            names = found.dtype.names
            fields = f"its fields: {', '.join(names)}" if names else "it has no fields"
            raise errors.make("not-found", f"{array.path} has no field {field!r}", fields)
        return sent(found[field])
    return sent(decoded(array, found))


def plan(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return requests, bytes and chunks that ``selection`` needs."""
    array = array_of(repo, params)
    found = asdict(array.plan(parse(array, params.get("selection", ""))))
    found["objects"] = [{**each, "name": shown(each["name"])} for each in found["objects"][:_SHOWN]]
    found["arrays"] = [{**each, "shape": str(each["shape"])} for each in found["arrays"]]
    return found


def shown(name: str) -> str:
    """Return the name of a file as clients get it: of a local one without its directories."""
    return name.rsplit("/", 1)[-1] if name.startswith(("/", "file://")) else name


def array_of(repo: Repo, params: dict[str, str]) -> Array:
    """Return the array that a request names."""
    found = repo[params["path"]]
    if isinstance(found, Group):
        raise errors.make("mismatch", f"{found.path} is a group", "name an array")
    return found


def parse(array: Array, given: str) -> tuple[int | slice, ...]:
    """Return the selection of ``0,:,10:20:2``; all of the array if empty."""
    parts = [part.strip() for part in given.split(",")] if given.strip() else [":"] * array.ndim
    if len(parts) != array.ndim:
        message = f"selection {given!r} has {len(parts)} axes, {array.path} has {array.ndim}"
        raise errors.make("selection", message, "give a number or start:stop:step for each axis")
    return tuple(_axis(part, given) for part in parts)


def _axis(part: str, given: str) -> int | slice:
    try:
        if ":" not in part:
            return int(part)
        return slice(*(int(each) if each.strip() else None for each in part.split(":")))
    except (ValueError, TypeError):
        raise errors.make(
            "selection", f"selection {given!r}: {part!r} is not a range", "give a number or start:stop:step"
        ) from None


def check(array: Array, selection: tuple[int | slice, ...], grown: float = 1.0) -> None:
    """Refuse a slice that is too large to be shown; what is sent has ``grown`` times its stored bytes.

    Raises:
        Error: ``memory``.
    """
    planned = array.plan(selection)
    for what, size, limit in (
        ("bytes", int(planned.bytes_out * grown), SENT),
        ("bytes of chunks", planned.bytes_decoded, DECODED),
    ):
        if size > limit:
            message = f"{array.path}: this slice needs {text.size(size)} ({what}; limit {text.size(limit)})"
            raise errors.make("memory", message, "choose a smaller range")


# Physical values of stored numbers, as CF's attributes define them: what a unit may be named for.

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


# Coordinates along the axes of a slice: numbers with units, or dates.


def axes(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return the coordinates of each axis of ``selection``; None for an axis without usable ones.

    An axis is ``{"units", "is_date", "is_down", "values"}``: dates are days since 1970, and the values of an
    axis that is shown are strictly monotonic.
    """
    array = array_of(repo, params)
    selection = parse(array, params.get("selection", ""))
    return {"axes": [_described_axis(array, axis, index) for axis, index in enumerate(selection)]}


def _described_axis(array: Array, axis: int, index: int | slice) -> dict[str, Any] | None:
    found = along(array, axis)
    if found is None or found.path == array.path or found.dtype.kind not in "iufmM" or not is_known(found):
        return None
    one = slice(index, index + 1 or None) if isinstance(index, int) else index
    try:
        check(found, (one,))
    except errors.Error:
        return None  # too many to be read: the axis counts
    raw = np.asarray(found[one])
    label = units(found)
    if found.dtype.kind in "mM":
        values, label = elapsed(raw)
    else:
        values = physical(found, raw)
    dates = as_dates(found, raw, values)
    values = values if dates is None else dates
    if not _ordered(values):
        return None
    return {
        "units": None if dates is not None else label,
        "is_date": dates is not None,
        "is_down": found.attrs.get("positive") == "down",
        "values": values.tolist(),
    }


def _ordered(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return bool(np.isfinite(values).all() and ((steps > 0).all() or (steps < 0).all()))


# How values travel to the page: little-endian numbers that JavaScript has, else JSON.

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
