"""``spectrogram``: power spectral densities of consecutive parts of a time series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from icecore import errors
from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.series import (
    ARRAY,
    HIGH,
    LOW,
    METHOD,
    OVERLAP,
    START,
    STOP,
    VALID,
    WINDOW,
    Stretch,
    band,
    stretches,
)
from icecore.products.signature import Field
from icecore.repository.time_axis import NS
from icecore.tables.query.scan import arrow
from icecore.timeseries import spectra
from icecore.timeseries.spectra import Transform

#: most rows of a batch
_ROWS = 1 << 17


def spectrogram(
    inputs: Inputs,
    array: ARRAY,
    stride: Annotated[float, Field("Length of the samples of one spectrum.", unit="s", low=1e-6)] = 60.0,
    t0: START = None,
    t1: STOP = None,
    fftlength: Annotated[
        float | None, Field("Length of a transform; default: 4 s, at most the stride.", unit="s", low=1e-6)
    ] = None,
    overlap: OVERLAP = None,
    window: WINDOW = "hann",
    method: METHOD = "median",
    valid: VALID = None,
    flow: LOW = 0.0,
    fhigh: HIGH = None,
) -> Rows:
    """Power spectral densities of the strides of a time series; one row for each stride and frequency.

    As gwpy's TimeSeries.spectrogram defines it. Strides with missing or invalid samples have null values.
    """
    length = min(4.0, stride) if fftlength is None else fftlength
    if length > stride:
        message = f"fftlength ({length:g} s) must not exceed stride ({stride:g} s)"
        raise errors.make("invalid", message, "a longer stride")
    pa, is_named = arrow(), inputs.are_joined_several
    origin = [pa.field("source", pa.large_string())] if is_named else []
    times = [pa.field("gps", pa.float64()), pa.field("gps_ns", pa.int64())]
    values = [pa.field("frequency", pa.float64()), pa.field("psd", pa.float64())]
    schema = pa.schema([*origin, *times, *values])

    def batches() -> Iterator[Any]:
        for found in stretches(inputs, array, t0, t1, valid):
            transform = Transform.of(found.axis.rate, length, overlap, window, method)
            part = band(transform.frequencies, flow, fhigh)
            name = found.name if is_named else None
            yield from _batches(schema, name, found, transform, round(stride * found.axis.rate), part, method)

    return Rows(schema, batches())


spectrogram.picture = "icecore.products.spectrum_pictures:spectrogram"  # type: ignore[attr-defined]


def _batches(
    schema: Any,
    name: str | None,
    found: Stretch,
    transform: Transform,
    stride: int,
    part: slice,
    method: str,
) -> Iterator[Any]:
    pa, chosen = arrow(), transform.frequencies[part]
    if stride > found.last - found.first:
        message = f"the stride ({stride} samples) is longer than the stretch ({found.last - found.first})"
        raise errors.make("invalid", message, "a shorter stride, or a longer stretch")
    most = max(_ROWS // len(chosen), 1)

    def batch(starts: list[int], rows: list[np.ndarray]) -> Any:
        ns = np.repeat(np.array(starts, "i8"), len(chosen))
        values = np.concatenate(rows)
        columns = [pa.array(ns / NS), pa.array(ns), pa.array(np.tile(chosen, len(starts)))]
        columns.append(pa.array(values, from_pandas=True))
        if name is not None:
            columns.insert(0, pa.array([name] * len(values), pa.large_string()))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    starts: list[int] = []
    rows: list[np.ndarray] = []
    for begin, runs in spectra.columns(transform, found.first, found.last, found.runs, stride):
        starts.append(found.time(begin))
        rows.append(
            spectra.power(transform, found.read, runs, method)[part] if runs else np.full(len(chosen), np.nan)
        )
        if len(rows) == most:
            yield batch(starts, rows)
            starts, rows = [], []
    if rows:
        yield batch(starts, rows)
