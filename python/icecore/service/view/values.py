"""A slice of an array, and the plan of its read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.repo import Repo
from icecore.service.view.physical import decoded, wire_of
from icecore.service.view.wire import sent

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
