"""Minimum, mean and maximum of equal windows: a peak is hidden only where the reply says so (``seen``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.export.decoded import physical
from icecore.export.picture import rows
from icecore.repository.array import Array
from icecore.repository.repo import Repo
from icecore.repository.time_axis import NS
from icecore.service.view.values import DECODED, array_of, check, is_known

POINTS = 1000
#: samples at the start of a window, where there are too many for all to be read
_STRETCH = 4096


def trend(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return windows between ``start`` and ``stop``: seconds where the array has a time axis, else indexes.

    Where nothing is stored that summarizes the samples, and there are too many to be read, the first
    ``seen`` of each window are.

    Raises:
        Error: ``unsupported`` if the array isn't a series of numbers; ``memory`` if one chunk is too large.
    """
    array = array_of(repo, params)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        got = f"{array.ndim} axes of {array.dtype}"
        raise errors.make(
            "unsupported",
            f"{array.path}: a trend needs one axis of numbers (got {got})",
            "open its heat map or values",
        )
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
    step = -(-(high - low) // points)
    plan = array.plan((slice(low, high),))
    seen = step
    if max(plan.bytes_out, plan.bytes_decoded) > DECODED:
        step, seen = _sampled(array, low, high, step)
    found = _windows(array, low, high, step, seen)
    return {
        "axis": "index",
        "source": "samples",
        "bytes_read": len(found["min"]) * seen * array.dtype.itemsize if seen < step else plan.bytes_out,
        "span": [low, high],
        "step": step,
        "seen": seen,
        "t0": low,
        **{name: _plain(column) for name, column in found.items()},
    }


def _sampled(array: Array, low: int, high: int, step: int) -> tuple[int, int]:
    """Return the length of windows, and of the stretch at the start of each, whose chunks can be decoded.

    Raises:
        Error: ``memory`` if one chunk is too large.
    """
    seen = min(step, _STRETCH)
    middle = low + (high - low) // 2
    check(array, (slice(middle, middle + seen),))
    one = array.plan((slice(middle, middle + seen),)).bytes_decoded
    count = max((DECODED // 2) // max(one, seen * array.dtype.itemsize), 1)
    return max(step, -(-(high - low) // count)), seen


def _windows(array: Array, low: int, high: int, step: int, seen: int) -> dict[str, np.ndarray]:
    """Reduce the first ``seen`` samples of each window; blocks bound the memory."""
    if seen < step:
        blocks: Any = (
            array.read((slice(first, min(first + seen, high)),))[None] for first in range(low, high, step)
        )
    else:
        blocks = rows(array, (slice(low, high),), 0, step)
    is_physical, parts = is_known(array), []
    for block in blocks:
        found = physical(array, block) if is_physical else block.astype(float)
        there = ~np.isnan(found)
        count = there.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(there, found, 0.0).sum(axis=1) / count
        parts.append((np.fmin.reduce(found, axis=1), mean, np.fmax.reduce(found, axis=1)))
    return dict(zip(("min", "mean", "max"), map(np.concatenate, zip(*parts, strict=True)), strict=True))


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
