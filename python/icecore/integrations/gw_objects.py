"""Objects of gravitational-wave packages: state vectors, dictionaries of series, segments, LAL and PyCBC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from icecore import errors
from icecore.integrations.gwpy_series import gwpy
from icecore.repository.array import Array
from icecore.repository.channel_names import array_path
from icecore.repository.open import create, open
from icecore.repository.repo import Repo
from icecore.repository.time_axis import GPS, KEY, NS, TimeAxis, seconds_text
from icecore.timeseries.flags import Valid, valid_runs
from icecore.timeseries.stretch import axis_of, indexes, locate


def state_vector(array: Array, start: Any = None, end: Any = None, gaps: str = "raise") -> Any:
    """Read a stretch of a mask as ``gwpy.timeseries.StateVector``, with the names of its bits.

    Args:
        array: integers with a GPS time axis; ``flag_masks`` and ``flag_meanings`` name the bits.
        start: GPS seconds or UTC; the array's start if omitted.
        end: not included; the array's end if omitted.
        gaps: as in ``Array.between``.

    Raises:
        Error: ``unsupported`` without gwpy; ``dtype`` for an array that has no integers.
    """
    found = _module("gwpy.timeseries", "gwpy").StateVector
    if array.dtype.kind not in "iu":
        message = f"{array.path}: bits need integers (got {array.dtype})"
        raise errors.make("dtype", message, "icecore.gwpy reads other channels")
    series = gwpy(array, start, end, gaps, scaled=False)
    return found(
        series.value, bits=_bits(array), t0=series.t0, dt=series.dt, name=series.name, channel=series.channel
    )


def series_dict(
    repo: Repo, channels: Sequence[str], start: Any = None, end: Any = None, state: bool = False
) -> Any:
    """Read many channels as ``gwpy.timeseries.TimeSeriesDict``, with one plan of reads.

    Args:
        repo: the repository.
        channels: names (``H1:GDS-CALIB_STRAIN``) or paths.
        start: GPS seconds or UTC; each channel's start if omitted.
        end: not included; each channel's end if omitted.
        state: return ``StateVectorDict``.

    Raises:
        Error: ``selection`` for missing samples; errors of :func:`icecore.gwpy`.
    """
    package = _module("gwpy.timeseries", "gwpy")
    arrays = {name: _array(repo, name) for name in channels}
    ranges = {name: _complete(array, start, end) for name, array in arrays.items()}
    read = repo.read({array.path: slice(*ranges[name]) for name, array in arrays.items()})
    made = package.StateVectorDict() if state else package.TimeSeriesDict()
    for name, array in arrays.items():
        axis, first, attrs = axis_of(array), ranges[name][0], array.attrs
        given: dict[str, Any] = {"t0": axis.time(first) / NS, "dt": float(axis.step)}
        given |= {"name": attrs.get("channel"), "channel": channel(array)}
        samples = read[array.path]
        made[name] = (
            package.StateVector(samples, bits=_bits(array), **given)
            if state
            else package.TimeSeries(_scaled(samples, attrs), unit=attrs.get("units") or "", **given)
        )
    return made


def channel(array: Array) -> Any:
    """Return ``gwpy.detector.Channel`` of an array: name, rate, unit and dtype."""
    made = _module("gwpy.detector", "gwpy").Channel
    axis, attrs = axis_of(array), array.attrs
    unit = attrs.get("units") or None
    return made(attrs.get("channel") or array.path, sample_rate=axis.rate, unit=unit, dtype=array.dtype)


def segment_list(array: Array, valid: Valid | None = None) -> Any:
    """Return the spans in which an array has samples, or valid ones, as ``igwn_segments.segmentlist``.

    Args:
        array: with a GPS time axis.
        valid: flags that must be set, as in ``Array.between``.

    Raises:
        Error: ``unsupported`` without igwn-segments or for times in UTC; errors of ``Array.between``.
    """
    package = _module("igwn_segments", "igwn-segments")
    axis = _gps_axis(array)
    runs = [(axis.index(low), axis.index(high)) for low, high in axis.segments]
    runs = runs if valid is None else valid_runs(array, axis, runs, valid)
    spans = ((_seconds(axis.time(low)), _seconds(axis.time(high))) for low, high in runs)
    return package.segmentlist(package.segment(*span) for span in spans).coalesce()


def quality_flag(array: Array, flag: str | None = None, name: str | None = None) -> Any:
    """Return ``gwpy.segments.DataQualityFlag``: known where there are samples, active where a flag is set.

    Args:
        array: a channel, or a mask.
        flag: the flag, as in ``Array.between``; without it all samples are active.
        name: name of the result: ``H1:DMT-ANALYSIS_READY:1``; that of channel and flag by default.

    Raises:
        Error: ``unsupported`` without gwpy; errors of ``Array.between``.
    """
    package = _module("gwpy.segments", "gwpy")
    label = name or ":".join(each for each in (array.attrs.get("channel") or array.path, flag) if each)
    known, active = segment_list(array), segment_list(array, flag)
    return package.DataQualityFlag(
        label,
        known=[tuple(map(float, each)) for each in known],
        active=[tuple(map(float, each)) for each in active],
    )


def lal(array: Array, start: Any = None, end: Any = None) -> Any:
    """Read a stretch as a LAL series (``REAL8TimeSeries``, …); needs lalsuite and gwpy."""
    _module("lal", "lalsuite")
    return gwpy(array, start, end).to_lal()


def pycbc(array: Array, start: Any = None, end: Any = None) -> Any:
    """Read a stretch as ``pycbc.types.TimeSeries``; needs PyCBC.

    Raises:
        Error: ``unsupported`` without PyCBC; errors of ``Array.between``.
    """
    types = _module("pycbc.types", "PyCBC")
    axis = _gps_axis(array)
    first, last = _complete(array, start, end)
    samples = _scaled(array.read(slice(first, last)), array.attrs)
    samples = samples if samples.dtype.kind in "fc" else samples.astype("f8")
    return types.TimeSeries(samples, delta_t=float(axis.step), epoch=seconds_text(axis.time(first)))


def write_series(series: Any, target: Any, path: str | None = None) -> None:
    """Write a gwpy series (or a dictionary of them) into a repository, which is created if it does not exist.

    Args:
        series: ``TimeSeries``, ``StateVector``, or a dictionary of them.
        target: the repository or its location.
        path: path of the array; by default that of the channel's name.

    Raises:
        Error: ``exists`` for an existing array; ``invalid`` for a series without a name and without ``path``.
    """
    every = list(series.values()) if isinstance(series, Mapping) else [series]
    repo = target if isinstance(target, Repo) else _repository(os.fspath(target))
    with repo.writer(message="gwpy") as writer:
        for each in every:
            name = str(each.channel or each.name or "")
            place = path or (array_path(name) if name else "")
            if not place:
                raise errors.make("invalid", "the series has no name", 'give path="/H1/NAME"')
            values = np.asarray(each.value)
            attrs: dict[str, Any] = {KEY: _axis(each, len(values)).attribute()}
            attrs |= {"channel": name} if name else {}
            unit = str(each.unit) if str(each.unit) not in ("", "dimensionless") else ""
            attrs |= {"units": unit} if unit else {}
            writer.array(place, values.dtype, values.shape, ("time",), attrs=attrs)[...] = values


def _repository(place: str) -> Repo:
    return open(place) if os.path.exists(place) else create(place)


def _axis(series: Any, count: int) -> TimeAxis:
    rate = float(series.sample_rate.to("Hz").value)
    step = (
        Fraction(1, round(rate))
        if rate >= 1 and abs(rate - round(rate)) < 1e-9 * rate
        else Fraction(1 / rate)
    )
    step = step if rate >= 1 else Fraction(float(series.dt.to("s").value)).limit_denominator(10**6)
    start = round(Fraction(str(series.t0.to("s").value)) * NS)
    axis = TimeAxis(start, step, (), GPS)
    return TimeAxis(start, step, ((start, axis.time(count)),), GPS)


def _array(repo: Repo, name: str) -> Array:
    found = repo[name]
    if not isinstance(found, Array):
        raise errors.make("invalid", f"{name} is a group", "name one of its arrays")
    return found


def _gps_axis(array: Array) -> TimeAxis:
    axis = axis_of(array)
    if axis.epoch != GPS:
        message = f"{array.path}: times in {axis.epoch}, these objects count GPS"
        raise errors.make("unsupported", message, "array.segments has the times as they are")
    return axis


def _complete(array: Array, start: Any, end: Any) -> tuple[int, int]:
    axis = _gps_axis(array)
    low = seconds_text(axis.time(0)) if start is None else start
    high = seconds_text(axis.time(array.shape[0])) if end is None else end
    locate(array, low, high)
    return indexes(axis, low, high)


def _scaled(samples: np.ndarray, attrs: Mapping[str, Any]) -> np.ndarray:
    if "scale_factor" not in attrs and "add_offset" not in attrs:
        return samples
    found: np.ndarray = samples * float(attrs.get("scale_factor", 1)) + float(attrs.get("add_offset", 0))
    return found


def _bits(array: Array) -> list[str | None] | None:
    """Return the name of each bit."""
    masks, meanings = array.attrs.get("flag_masks"), array.attrs.get("flag_meanings")
    if not isinstance(masks, list) or not isinstance(meanings, str):
        return None
    places = [abs(int(mask)).bit_length() - 1 for mask in masks]
    names: list[str | None] = [None] * (max(places, default=-1) + 1)
    for place, name in zip(places, meanings.split(), strict=False):
        names[place] = name
    return names


def _seconds(time: int) -> Any:
    """Return nanoseconds as LIGOTimeGPS, which has all of them."""
    return _module("ligotimegps", "ligotimegps").LIGOTimeGPS(time // NS, time % NS)


def _module(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != name.split(".")[0]:
            raise
        raise errors.needs(errors.extra_of(name), f"{package} is not installed") from None
