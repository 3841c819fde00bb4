"""Stretches of time as gwpy's TimeSeries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.array import Array
from icecore.repository.time_axis import GPS, NS
from icecore.timeseries.stretch import axis_of, indexes, locate

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


def gwpy(
    array: Array,
    start: Any = None,
    end: Any = None,
    gaps: str = "raise",
    valid: str | Sequence[str] | None = None,
    scaled: bool | None = None,
) -> Any:
    """Read a stretch of an array as ``gwpy.timeseries.TimeSeries``, with t0, dt, unit and channel.

    Args:
        array: with a time axis.
        start: GPS seconds or UTC; the array's start if omitted.
        end: not included; the array's end if omitted.
        gaps: as in ``Array.between``.
        valid: as in ``Array.between``.
        scaled: whether to apply the slope and bias of ADC channels. By default as gwpy does: not of LIGO's
            channels (``adc_slope`` and ``adc_bias``), whose frames state wrong ones, but of all others
            (``scale_factor`` and ``add_offset``).

    Raises:
        Error: ``unsupported`` without gwpy or without a time axis; those of ``Array.between``.

    Example:
        >>> import icecore
        >>> axis = {"epoch": "GPS", "t0_ns": 0, "step": [1, 4], "segments": [[0, 2_000_000_000]]}
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:  # 2 s at 4 Hz, as linked frames have them
        ...     w.array("/H1/X", "f4", (8,), ("time",), attrs={"icecore_time": axis})[...] = range(8)
        >>> icecore.gwpy(repo.at("main")["/H1/X"], 0.5, 1.0).value.tolist()
        [2.0, 3.0]
    """
    try:
        from gwpy.timeseries import TimeSeries
    except ModuleNotFoundError:
        raise errors.needs("gw", "gwpy is not installed") from None
    if gaps == "ignore":
        message = "gaps='ignore' gives samples without one time axis"
        raise errors.make("invalid", message, "gaps='pad', or read each of array.segments")
    axis = axis_of(array)
    if axis.epoch != GPS:
        message = f"{array.path}: times in {axis.epoch}, gwpy counts GPS"
        raise errors.make("unsupported", message, "array.between(start, stop) reads it")
    start = axis.time(0) / NS if start is None else start
    end = axis.time(array.shape[0]) / NS if end is None else end
    first, _ = indexes(axis, start, end)
    attrs = array.attrs
    stretch = locate(array, start, end, gaps, valid)
    samples = _scaled(stretch.read(array), attrs, scaled)
    if stretch.fill is not None and samples.dtype != array.dtype:  # the fill value was scaled
        gone = np.ones(len(samples), bool)
        for low, high in stretch.runs:
            gone[low - stretch.first : high - stretch.first] = False
        samples[gone] = np.nan
    return TimeSeries(
        samples,
        t0=axis.time(first) / NS,
        dt=float(axis.step),
        unit=attrs.get("units") or "",
        channel=attrs.get("channel"),
        name=attrs.get("channel"),
    )


def _scaled(samples: np.ndarray, attrs: dict[str, Any], scaled: bool | None) -> np.ndarray:
    keys = ("scale_factor", "add_offset")
    if scaled and not any(key in attrs for key in keys):
        keys = ("adc_slope", "adc_bias")
    if scaled is False or not any(key in attrs for key in keys):
        return samples
    return samples * float(attrs.get(keys[0], 1)) + float(attrs.get(keys[1], 0))


def read_time_series(source: Repo, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
    """What ``TimeSeries.read(source, CHANNEL, start, end, format="icecore")`` calls.

    Args:
        source: a repository; not its path: gwpy opens paths as files.
        path: a channel (``H1:GDS-CALIB_STRAIN``), or the path of an array.
        start: as in :func:`gwpy`.
        end: as in :func:`gwpy`.
        **options: those of :func:`gwpy`.
    """
    array = source[path]
    if not isinstance(array, Array):
        raise errors.make("invalid", f"{path} is a group", "name one of its arrays")
    return gwpy(array, start, end, **options)


def register() -> None:
    """Add the format ``icecore`` to gwpy's registry.

    Raises:
        Error: ``unsupported`` without gwpy.
    """
    try:
        from gwpy.io.registry import default_registry
        from gwpy.timeseries import TimeSeries
    except ModuleNotFoundError:
        raise errors.needs("gw", "gwpy is not installed") from None
    default_registry.register_reader("icecore", TimeSeries, read_time_series, force=True)
