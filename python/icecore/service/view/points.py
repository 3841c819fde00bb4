"""Points of a table with two coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.repo import Repo
from icecore.service.view.values import check

POINTS = 20_000
_X = ("lon", "longitude", "x", "longitude_deg")
_Y = ("lat", "latitude", "y", "latitude_deg")


def coordinates(group: Group) -> dict[str, Any] | None:
    """Return the columns of a map: x, y and what can colour it. None if the group is no such table."""
    arrays = [each for each in group.values() if isinstance(each, Array) and each.ndim == 1]
    numbers = [each for each in arrays if each.dtype.kind in "iuf"]
    x, y = _named(numbers, _X, "east"), _named(numbers, _Y, "north")
    if x is None or y is None or x.shape != y.shape:
        return None
    others = [each.name for each in numbers if each.shape == x.shape and each.name not in (x.name, y.name)]
    return {"x": x.name, "y": y.name, "rows": x.size, "others": others}


def _named(arrays: list[Array], names: tuple[str, ...], unit: str) -> Array | None:
    for each in arrays:
        if each.name.lower() in names or str(each.attrs.get("units", "")) == f"degrees_{unit}":
            return each
    return None


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
    return {"rows": found["rows"], "step": step, "names": [found["x"], found["y"], color], **columns}


def _column(group: Group, name: str, step: int) -> list[float | None]:
    array = group[name]
    if not isinstance(array, Array):
        raise errors.make("mismatch", f"{name} is a group", "choose a column")
    selection = (slice(None, None, step),)
    check(array, selection)
    column = np.asarray(array[selection], float)
    fill = array.attrs.get("_FillValue")
    if isinstance(fill, (int, float)):
        column[column == fill] = np.nan
    return [value if np.isfinite(value) else None for value in column.tolist()]
