"""Time series of a product's sources: files are joined in time, valid samples are found, blocks are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from icecore import errors
from icecore.products.inputs import Inputs
from icecore.products.signature import Field
from icecore.repository.array import Array
from icecore.repository.time_axis import TimeAxis, seconds_text
from icecore.timeseries import sample_blocks, spectra
from icecore.timeseries.sample_times import Times, sample_times
from icecore.timeseries.stretch import axis_of, locate

ARRAY = Annotated[str, Field("Channel or path of a time series in each source: H1:GDS-CALIB_STRAIN.")]
START = Annotated[Any, Field("Start: GPS seconds, or UTC as 2015-09-14T09:50:29.")]
STOP = Annotated[Any, Field("End, not included.")]
LENGTH = Annotated[float, Field("Length of a transform.", unit="s", low=1e-6, high=100_000)]
OVERLAP = Annotated[
    float | None,
    Field("Overlap of transforms; default: what the window needs, half of a Hann window.", unit="s", low=0),
]
WINDOW = Annotated[str, Field("Window.", names={name: name for name in spectra.OVERLAPS})]
METHOD = Annotated[
    str,
    Field(
        "Average: median (corrected for its bias), welch (mean), or bartlett (mean, without overlap).",
        names={name: name for name in spectra.METHODS},
    ),
]
VALID = Annotated[
    list[str] | None,
    Field("Flags of a mask that must be set, as DATA or /H1/DQMASK:DATA; other samples count as missing."),
]
LOW = Annotated[float, Field("Lowest frequency of the result.", unit="Hz", low=0)]
HIGH = Annotated[
    float | None, Field("Highest frequency; default: half of the sampling rate.", unit="Hz", low=0)
]


@dataclass(frozen=True)
class Stretch:
    """A stretch of a time series.

    Attributes:
        name: name of its source.
        array: the array.
        axis: its time axis.
        first, last: range of its samples; may lie outside the array.
        runs: the parts of it that exist and are valid.
    """

    name: str
    array: Array
    axis: TimeAxis
    times: Times
    first: int
    last: int
    runs: list[tuple[int, int]]

    def read(self, first: int, last: int) -> np.ndarray:
        """Return samples as float64, scaled by CF's attributes."""
        found = sample_blocks.samples(self.array, self.times, first, last)
        return found.astype("f8", copy=False)

    def time(self, index: int) -> int:
        """Return the nanoseconds of a sample."""
        return self.axis.time(index)


def stretches(
    inputs: Inputs, path: str, t0: Any, t1: Any, valid: list[str] | None = None
) -> Iterator[Stretch]:
    """Yield the stretch of a time series in each source; files are one source, joined in time."""
    for source in inputs.joined():
        yield stretch(source.name, source.series(path), t0, t1, valid)


def stretch(name: str, array: Array, t0: Any, t1: Any, valid: list[str] | None = None) -> Stretch:
    """Return the stretch of an array; its runs are sample ranges without gaps and invalid samples.

    Raises:
        Error: ``dtype`` for elements that are not real numbers; ``unsupported`` without a time axis.
    """
    sample_blocks.check(array)
    axis, times = axis_of(array), sample_times(array)
    low, high = times.span
    start = seconds_text(low) if t0 is None else t0
    stop = seconds_text(high) if t1 is None else t1
    found = locate(array, start, stop, "ignore", valid)
    return Stretch(name, array, axis, times, found.first, found.last, found.runs)


def common(one: Stretch, other: Stretch) -> list[tuple[int, int]]:
    """Return the runs, in samples of ``one``, that two series with the same grid of samples have in common.

    Raises:
        Error: ``mismatch`` for other rates or samples at other times.
    """
    shift = other.axis.index(one.axis.t0)
    if one.axis.step != other.axis.step or abs(other.axis.time(shift) - one.axis.t0) > 1:
        rates = f"{one.axis.rate:g} and {other.axis.rate:g} Hz"
        message = f"{one.array.path} and {other.array.path} have samples at other times ({rates})"
        raise errors.make("mismatch", message, "name channels with the same rate")
    theirs = [(low - shift, high - shift) for low, high in other.runs]
    found, i, j = [], 0, 0
    while i < len(one.runs) and j < len(theirs):
        low, high = max(one.runs[i][0], theirs[j][0]), min(one.runs[i][1], theirs[j][1])
        if low < high:
            found.append((low, high))
        if one.runs[i][1] < theirs[j][1]:
            i += 1
        else:
            j += 1
    return found


def band(frequencies: np.ndarray, low: float, high: float | None) -> slice:
    """Return the frequencies [low, high].

    Raises:
        Error: ``invalid`` if there are none.
    """
    first = int(np.searchsorted(frequencies, low))
    last = len(frequencies) if high is None else int(np.searchsorted(frequencies, high, "right"))
    if first >= last:
        message = f"no frequencies from {low:g} to {high or frequencies[-1]:g} Hz"
        raise errors.make("invalid", message, f"the spectrum ends at {frequencies[-1]:g} Hz")
    return slice(first, last)
