"""Points of a table with two coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from icecore import errors
from icecore.export.decoded import physical
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.repo import Repo
from icecore.service.view.values import check, is_known, units
from icecore.tables.query.region import X, Y

POINTS = 20_000
#: longitude, and latitude as a word inside a name (``lat`` in ``lat_ph`` or ``geolat2``, not in ``flat``)
_LATITUDE = re.compile(r"(^|_|\d|^c|^geo|^sc|^sub)latitude(?=$|_|\d|s$)", re.IGNORECASE)
_LAT = re.compile(r"(^|_|\d|^c|^geo|^sc|^sub)lat(?=$|_|\d|s$)", re.IGNORECASE)
_WORDS = (("longitude", _LATITUDE), ("lon", _LAT), ("long", _LAT), ("lng", _LAT))


def coordinates(group: Group) -> dict[str, Any] | None:
    """Return the columns of a map: x, y and those for its colour; None without two coordinates."""
    arrays = [each for each in group.values() if isinstance(each, Array) and each.ndim == 1]
    numbers = {each.name: each for each in arrays if each.dtype.kind in "iuf"}
    for x, y in _pairs(numbers):
        if numbers[x].shape == numbers[y].shape:
            others = [name for name, each in numbers.items() if each.shape == numbers[x].shape]
            others = [name for name in others if name not in (x, y)]
            return {"x": x, "y": y, "rows": numbers[x].size, "others": others}
    return None


def _pairs(columns: dict[str, Array]) -> Iterator[tuple[str, str]]:
    """Yield pairs that may be longitude and latitude, the surest first: known names, CF's attributes, then
    names that differ only in these words (``lon_ph`` and ``lat_ph``).
    """
    lower = {name.lower(): name for name in columns}
    for east, north in zip(X, Y, strict=True):
        if east in lower and north in lower and len(east) > 1:
            yield lower[east], lower[north]
    yield from product(_stated(columns, "longitude", "east"), _stated(columns, "latitude", "north"))
    for name in columns:
        for word, pattern in _WORDS:
            twin = lower.get(pattern.sub(rf"\g<1>{word}", name).lower())
            if pattern.search(name) and twin is not None:
                yield twin, name
    if "x" in lower and "y" in lower:
        yield lower["x"], lower["y"]


def _stated(columns: dict[str, Array], name: str, side: str) -> list[str]:
    """Return the columns whose attributes say that they are this coordinate (CF conventions 4.1, 4.2)."""
    ends = (f"_{side}", f"_{side[0].upper()}", side[0].upper())
    words = {f"degree{plural}{end}" for plural in ("", "s") for end in ends}
    return [
        key
        for key, each in columns.items()
        if each.attrs.get("standard_name") == name or str(each.attrs.get("units", "")) in words
    ]


def points(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return every ``step``-th row of a table, at most 20,000: x, y and the column ``color``.

    Raises:
        Error: ``unsupported`` if the group has no coordinates; ``not-found`` for an unknown column.
    """
    group = repo[params["path"]]
    found = coordinates(group) if isinstance(group, Group) else None
    if not isinstance(group, Group) or found is None:
        raise errors.make("unsupported", f"{params['path']} has no coordinates", "choose a table with them")
    step = max(-(-found["rows"] // POINTS), 1)
    color = params.get("color") or (found["others"] or [found["y"]])[0]
    if color not in (*found["others"], found["x"], found["y"]):
        raise errors.make("not-found", f"{group.path} has no column {color!r}", ", ".join(found["others"]))
    columns = {
        key: _column(group, name, step) for key, name in (("x", found["x"]), ("y", found["y"]), ("z", color))
    }
    return {
        "rows": found["rows"],
        "step": step,
        "names": [found["x"], found["y"], color],
        "units": units(group.arrays[color]),
        **columns,
    }


def _column(group: Group, name: str, step: int) -> list[float | None]:
    array = group[name]
    if not isinstance(array, Array):
        raise errors.make("mismatch", f"{name} is a group", "choose a column")
    selection = (slice(None, None, step),)
    check(array, selection)
    raw = np.asarray(array[selection])
    column = physical(array, raw) if is_known(array) else raw.astype(float)
    return [value if np.isfinite(value) else None for value in column.tolist()]
