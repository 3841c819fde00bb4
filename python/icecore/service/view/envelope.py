"""Minimum, mean and maximum of equal windows: no peak is hidden however many samples a window has."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.array import Array
from icecore.repository.repo import Repo
from icecore.repository.time_axis import NS
from icecore.service.view.values import array_of, check

POINTS = 1000


def trend(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return windows between ``start`` and ``stop``: seconds where the array has a time axis, else indexes.

    Raises:
        Error: ``unsupported`` if the array isn't a series of numbers; ``memory`` if nothing is stored that
            summarizes its samples, and there are too many to be read.
    """
    array = array_of(repo, params)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise errors.make("unsupported", f"{array.path} is no series of numbers", "choose a slice of it")
    points = min(max(int(_number(params, "points", POINTS)), 1), 2 * POINTS)
    try:
        found = array.trend(params.get("start") or None, params.get("stop") or None, points)
    except errors.Error as error:
        if error.kind != "unsupported":
            raise
        return _of_indexes(array, params, points)
    return {
        "axis": f"{found.epoch} seconds",
        "source": found.source,
        "bytes_read": found.bytes_read,
        "span": [each / NS for each in found.span],
        "step": found.step,
        "t0": found.t0 / NS,
        **{name: _plain(getattr(found, name)) for name in ("min", "mean", "max")},
    }


def _of_indexes(array: Array, params: dict[str, str], points: int) -> dict[str, Any]:
    low = max(int(_number(params, "start", 0)), 0)
    high = min(int(np.ceil(_number(params, "stop", array.size))), array.size)
    if high <= low:
        raise errors.make(
            "selection", f"{array.path}: {low} to {high} has no samples", "give the start first"
        )
    check(array, (slice(low, high),))
    found = np.asarray(array[low:high]).astype(float)
    step = -(-len(found) // points)
    starts = np.arange(0, len(found), step)
    there = ~np.isnan(found)
    count = np.add.reduceat(there.astype(int), starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {
            "min": np.fmin.reduceat(found, starts),
            "mean": np.add.reduceat(np.where(there, found, 0.0), starts) / count,
            "max": np.fmax.reduceat(found, starts),
        }
    return {
        "axis": "index",
        "source": "samples",
        "bytes_read": int(found.nbytes),
        "span": [low, high],
        "step": step,
        "t0": low,
        **{name: _plain(column) for name, column in columns.items()},
    }


def _plain(column: np.ndarray) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in column.tolist()]


def _number(params: dict[str, str], name: str, default: float) -> float:
    try:
        found = float(params.get(name) or default)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise errors.make("invalid", f"{name}={params[name]}", "give a finite number")
    return found
