"""Samples of a time series in blocks: unpacked, with NaN for gaps and missing values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.repository.missing_values import missing
from icecore.timeseries.sample_times import Times
from icecore.timeseries.window_sums import Sums, reduce

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: number of samples that are read at once
BLOCK = 1 << 22
_SCALE = ("scale_factor", "add_offset")


def check(array: Array) -> None:
    """Reject arrays for which trends are not defined.

    Raises:
        Error: ``dtype`` if the elements are not real numbers; ``unsupported`` if the number of axes is not
            one.
    """
    if array.dtype.kind not in "iuf":
        raise errors.make("dtype", f"{array.path}: trends need real numbers (got {array.dtype})")
    if array.ndim != 1:
        message = f"{array.path}: trends need an array with one axis (got {array.ndim})"
        raise errors.make("unsupported", message, "write a one-dimensional array, such as a mean over space")


def blocks(array: Array, times: Times, first: int, last: int, length: int = 0) -> Iterator[tuple[int, int]]:
    """Yield ranges of about :data:`BLOCK` samples that contain samples outside gaps.

    If ``length`` is not 0, ranges end at the ends of windows of ``length`` nanoseconds, for windows shorter
    than a block.
    """
    for low, high in _spans(times, first, last):
        at = low
        while at < high:
            end = min(at + BLOCK, high)
            if length and end < high:
                numbers, starts = times.windows(at, end, length)
                end = at + int(starts[-1]) if len(numbers) > 1 else end
            yield at, end
            at = end


def _spans(times: Times, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield parts of [first, last) without long gaps."""
    begin = end = first
    for low, high in times.runs(first, last):
        if low > end + BLOCK or begin == end:
            if begin < end:
                yield begin, end
            begin = low
        end = high
    if begin < end:
        yield begin, end


def sums(array: Array, times: Times, first: int, last: int, length: int) -> Iterator[Sums]:
    """Yield the sums of windows of ``length`` nanoseconds of the samples [first, last), block by block. A
    window in two blocks appears twice.
    """
    for low, high in blocks(array, times, first, last, length):
        numbers, starts = times.windows(low, high, length)
        yield reduce(samples(array, times, low, high), numbers, starts)


def samples(array: Array, times: Times, low: int, high: int) -> np.ndarray:
    """Return the samples [low, high): unchanged if all are valid, otherwise float64 with NaN for invalid
    ones.

    CF's ``scale_factor`` and ``add_offset`` are applied.
    """
    stored = array.read(slice(low, high))
    attrs = array.attrs
    gone = missing(array, stored) if "_FillValue" in attrs or "missing_value" in attrs else None
    runs = times.runs(low, high)
    if runs != [(low, high)]:
        there = np.zeros(high - low, bool)
        for begin, end in runs:
            there[begin - low : end - low] = True
        gone = ~there if gone is None else gone | ~there
    if any(key in attrs for key in _SCALE):
        stored = stored * np.float64(attrs.get("scale_factor", 1)) + np.float64(attrs.get("add_offset", 0))
    if gone is None or not gone.any():
        return stored
    return np.where(gone, np.nan, stored.astype("f8"))
