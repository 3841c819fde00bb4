"""``q-transform``: time-frequency energies of a stretch, computed by gwpy."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Annotated, Any

import numpy as np

from icecore import errors
from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.series import ARRAY, VALID, Stretch, stretches
from icecore.products.signature import Field
from icecore.repository.time_axis import GPS, NS, seconds_text
from icecore.tables.query.scan import arrow
from icecore.timeseries.gps import gps_ns

#: longest stretch in seconds: the transform holds it as a whole
_MOST = 4096
#: most energies of a result: times by frequencies
_ENERGIES = 1 << 24


def q_transform(
    inputs: Inputs,
    array: ARRAY,
    t0: Annotated[Any, Field("Start: GPS seconds, or UTC as 2015-09-14T09:50:29.")],
    t1: Annotated[Any, Field("End, not included.")],
    qlow: Annotated[float, Field("Lowest quality factor.", low=1, high=1024)] = 4.0,
    qhigh: Annotated[float, Field("Highest quality factor.", low=1, high=1024)] = 64.0,
    flow: Annotated[float, Field("Lowest frequency; 0: what the stretch allows.", unit="Hz", low=0)] = 0.0,
    fhigh: Annotated[
        float | None, Field("Highest frequency; default: what the rate allows.", unit="Hz", low=0)
    ] = None,
    pad: Annotated[
        float,
        Field(
            "Samples before and after the stretch, where there are some, for whitening.",
            unit="s",
            low=0,
            high=_MOST,
        ),
    ] = 4.0,
    tres: Annotated[
        float | None, Field("Distance of times; default: 1/1000 of the stretch.", unit="s", low=1e-9)
    ] = None,
    fres: Annotated[
        float | None, Field("Distance of frequencies; default: 1000 of them.", unit="Hz", low=1e-9)
    ] = None,
    logf: Annotated[bool, Field("Space frequencies logarithmically.")] = False,
    whiten: Annotated[bool, Field("Whiten with the stretch's own spectrum.")] = True,
    valid: VALID = None,
) -> Rows:
    """Q-transform (multi-resolution time-frequency energies); one row for each time and frequency.

    Computed by gwpy's TimeSeries.q_transform, which must be installed, with normalised energies. A stretch
    with missing or invalid samples is rejected.
    """
    low, high = gps_ns(t0), gps_ns(t1)
    if not 0 < high - low <= _MOST * NS:
        message = f"a q-transform takes more than 0 and at most {_MOST} s (got {(high - low) / NS:g})"
        raise errors.make("invalid", message, "t0 and t1 around an event")
    pa, is_named = arrow(), inputs.are_joined_several
    origin = [pa.field("source", pa.large_string())] if is_named else []
    names = ("gps", "frequency", "energy")
    schema = pa.schema([*origin, *(pa.field(name, pa.float64()) for name in names)])

    def batches() -> Iterator[Any]:
        for found in stretches(inputs, array, None, None, valid):
            series = _series(found, low, high, round(pad * NS))
            frequencies = (flow, np.inf if fhigh is None else fhigh)
            _bounded(found, (high - low) / NS, tres, frequencies, fres)
            options = {"tres": tres or (high - low) / NS / 1000, "fres": fres, "logf": logf, "whiten": whiten}
            if fres is None and not logf:
                del options["fres"]
            duration = float(series.duration.value)
            if whiten and duration < 2 * max(2, ceil(2048 / found.axis.rate)):  # gwpy's transforms don't fit
                options["fftlength"] = duration / 2
            made = series.q_transform(
                qrange=(qlow, qhigh), frange=frequencies, outseg=(low / NS, high / NS), **options
            )
            yield _batch(schema, found.name if is_named else None, made)

    return Rows(schema, batches())


q_transform.picture = "icecore.products.spectrum_pictures:q_transform"  # type: ignore[attr-defined]


def _bounded(
    found: Stretch, seconds: float, tres: float | None, frequencies: tuple[float, float], fres: float | None
) -> None:
    """Reject a result that would not fit into memory."""
    wide = min(frequencies[1], found.axis.rate / 2) - frequencies[0]
    count = (seconds / tres if tres else 1000) * (wide / fres if fres else 1000)
    if count > _ENERGIES:
        message = f"the q-transform would have {count:,.0f} energies, more than {_ENERGIES:,}"
        raise errors.make("invalid", message, "larger tres and fres, or a shorter stretch")


def _series(found: Stretch, low: int, high: int, pad: int) -> Any:
    """Return the stretch, and what there is of ``pad`` around it, as gwpy's TimeSeries."""
    try:
        from gwpy.timeseries import TimeSeries
    except ModuleNotFoundError:
        raise errors.needs("gw", "q-transform needs gwpy") from None
    if found.axis.epoch != GPS:
        raise errors.make("unsupported", f"{found.array.path} counts UTC, gwpy GPS", "name a channel in GPS")
    first, last = found.axis.first_at(low), found.axis.first_at(high)
    run = next((run for run in found.runs if run[0] <= first and run[1] >= last), None)
    if run is None or first >= last:
        message = f"{found.array.path}: samples are missing in GPS {seconds_text(low)}..{seconds_text(high)}"
        raise errors.make("selection", message, "another stretch: see array.segments")
    begin = max(found.axis.first_at(low - pad), run[0])
    end = min(found.axis.first_at(high + pad), run[1])
    attrs = found.array.attrs
    return TimeSeries(
        found.read(begin, end),
        t0=found.time(begin) / NS,
        dt=float(found.axis.step),
        unit=attrs.get("units") or "",
        name=attrs.get("channel"),
    )


def _batch(schema: Any, name: str | None, made: Any) -> Any:
    pa = arrow()
    values = np.asarray(made.value, "f8")
    times = np.repeat(np.asarray(made.times.value, "f8"), values.shape[1])
    frequencies = np.tile(np.asarray(made.frequencies.value, "f8"), values.shape[0])
    columns = [pa.array(times), pa.array(frequencies), pa.array(values.reshape(-1), from_pandas=True)]
    if name is not None:
        columns.insert(0, pa.array([name] * len(times), pa.large_string()))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
