"""Coordinates along the axes of a slice: numbers with units, or dates."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.export.matplotlib_dates import as_dates, elapsed
from icecore.export.picture import physical
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import along
from icecore.repository.repo import Repo
from icecore.service.view.physical import is_known, units
from icecore.service.view.values import array_of, check, parse


def axes(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return the coordinates of each axis of ``selection``; None for an axis without usable ones.

    An axis is ``{"units", "is_date", "is_down", "values"}``: dates are days since 1970, and the values of an
    axis that is shown are strictly monotonic.
    """
    array = array_of(repo, params)
    selection = parse(array, params.get("selection", ""))
    return {"axes": [_axis(array, axis, index) for axis, index in enumerate(selection)]}


def _axis(array: Array, axis: int, index: int | slice) -> dict[str, Any] | None:
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
