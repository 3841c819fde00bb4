"""Stretches of time as gwpy's TimeSeries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial, wraps
from os import PathLike, fspath
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
        raise errors.make("unsupported", "gwpy is not installed", "pip install gwpy") from None
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


def read_time_series(
    source: Repo | PathLike[str], path: str, start: Any = None, end: Any = None, **options: Any
) -> Any:
    """What ``TimeSeries.read(source, CHANNEL, start, end, format="icecore")`` calls.

    Args:
        source: a repository, or its location.
        path: a channel (``H1:GDS-CALIB_STRAIN``), or the path of an array.
        start: as in :func:`gwpy`.
        end: as in :func:`gwpy`.
        **options: those of :func:`gwpy`.
    """
    options.pop("cache", None)
    array = _opened(source)[path]
    if not isinstance(array, Array):
        raise errors.make("invalid", f"{path} is a group", "name one of its arrays")
    return gwpy(array, start, end, **options)


def register() -> None:
    """Add the format ``icecore`` to gwpy's registry: ``read`` and ``write`` of its series and dictionaries.

    Raises:
        Error: ``unsupported`` without gwpy.
    """
    try:
        from gwpy.io.registry import default_registry as registry
        from gwpy.timeseries import StateVector, StateVectorDict, TimeSeries, TimeSeriesDict
    except ModuleNotFoundError:
        raise errors.make("unsupported", "gwpy is not installed", "pip install gwpy") from None
    readers = {
        TimeSeries: read_time_series,
        StateVector: _read_state_vector,
        TimeSeriesDict: _read_dict,
        StateVectorDict: partial(_read_dict, state=True),
    }
    _let_repositories_pass()
    for kind, reader in readers.items():
        registry.register_reader("icecore", kind, reader, force=True)
        registry.register_writer("icecore", kind, _write, force=True)
        registry.register_identifier("icecore", kind, _is_ours, force=True)


def _let_repositories_pass() -> None:
    """Make gwpy pass locations of repositories to the reader; it opens every name as a file."""
    from gwpy.io import registry

    opened = getattr(registry, "open_remote_file", None)
    if opened is None or hasattr(opened, "__wrapped__"):
        return

    @wraps(opened)
    def unless_repository(name: Any, *arguments: Any, **options: Any) -> Any:
        from icecore.ingest.repository_source import is_repository

        is_local = "://" not in str(name) and is_repository(str(name))
        return nullcontext(name) if is_local else opened(name, *arguments, **options)

    registry.open_remote_file = unless_repository


def _opened(source: Repo | PathLike[str]) -> Repo:
    from icecore.repository.open import open
    from icecore.repository.repo import Repo

    return source if isinstance(source, Repo) else open(fspath(source))


def _read_state_vector(source: Any, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
    from icecore.integrations.gw_objects import state_vector

    options.pop("cache", None)
    return state_vector(_opened(source)._array(_opened(source)[path].path), start, end, **options)


def _read_dict(
    source: Any, channels: Sequence[str], start: Any = None, end: Any = None, **options: Any
) -> Any:
    from icecore.integrations.gw_objects import series_dict

    options.pop("cache", None)
    return series_dict(_opened(source), [str(name) for name in channels], start, end, **options)


def _write(series: Any, target: Any, path: str | None = None, **_options: Any) -> None:
    from icecore.integrations.gw_objects import write_series

    write_series(series, target, path)


def _is_ours(_origin: str, path: Any, file: Any, *arguments: Any, **_options: Any) -> bool:
    """Whether what is read or written is a repository: the object, or a name that ends in ``.icecore``."""
    from icecore.repository.repo import Repo

    known = [path, file, *arguments[:1]]
    return any(isinstance(each, Repo) or str(each).rstrip("/").endswith(".icecore") for each in known)
