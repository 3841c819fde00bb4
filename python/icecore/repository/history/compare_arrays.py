"""Compare two arrays by values, for example two versions of a channel, aligned in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.results import ValueComparison
from icecore.repository.time_axis import NS, TimeAxis

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: bytes of each array that are compared at a time
_BLOCK = 32 << 20


@dataclass(frozen=True)
class _Overlap:
    """The common part of two arrays: start in each, and shape."""

    one: tuple[int, ...]
    other: tuple[int, ...]
    shape: tuple[int, ...]


def compare(one: Array, other: Array) -> ValueComparison:
    """Compare the elements that both arrays have.

    Arrays with a time axis are aligned by GPS time, others by index. Elements of one dtype are compared bit
    for bit: NaN equals NaN, 0.0 differs from -0.0. Elements of two dtypes are compared as numbers.

    Args:
        one, other: arrays of the same rank; with time axes also of the same rate.

    Raises:
        Error: ``mismatch`` for different ranks or rates, or samples that are not on a common grid.
    """
    overlap = _overlap(one, other)
    differ, first, largest = 0, None, None
    for start, shape in _blocks(overlap.shape, max(one.dtype.itemsize, other.dtype.itemsize)):
        parts = [
            _region(array, begin, start, shape)
            for array, begin in ((one, overlap.one), (other, overlap.other))
        ]
        unequal = _unequal(*parts)
        if unequal.any():
            if first is None:
                at = np.unravel_index(int(unequal.reshape(-1).argmax()), unequal.shape)
                first = [int(i) + s + b for i, s, b in zip(at, start, overlap.one, strict=True)]
            differ += int(np.count_nonzero(unequal))
            largest = _larger(largest, parts, unequal)
    elements = prod(overlap.shape)
    axis = TimeAxis.of(one.attrs) if TimeAxis.of(other.attrs) is not None else None
    stretch = None
    if axis is not None and elements:
        stretch = (axis.time(overlap.one[0]), axis.time(overlap.one[0] + overlap.shape[0]))
    return ValueComparison(
        elements, differ, one.size - elements, other.size - elements, first, largest, stretch,
        axis.time(first[0]) if axis is not None and first is not None else None,
    )  # fmt: skip


def _overlap(one: Array, other: Array) -> _Overlap:
    if one.ndim != other.ndim:
        message = f"{one.path} has {one.ndim} dimensions, {other.path} has {other.ndim}"
        raise errors.make("mismatch", message, "compare arrays of the same rank")
    shift = _shift(one, other)
    starts = [max(s, 0) for s in shift]
    begins = [max(-s, 0) for s in shift]
    shape = [
        max(min(n - a, m - b), 0) for n, m, a, b in zip(one.shape, other.shape, starts, begins, strict=True)
    ]
    return _Overlap(tuple(starts), tuple(begins), tuple(shape))


def _shift(one: Array, other: Array) -> list[int]:
    """Return the index in ``one`` of the first element of ``other``, along each axis."""
    shift = [0] * one.ndim
    first, second = TimeAxis.of(one.attrs), TimeAxis.of(other.attrs)
    if first is None or second is None or not shift:
        return shift
    if first.step != second.step:
        message = f"{one.path} has {first.rate:g} Hz, {other.path} has {second.rate:g} Hz"
        raise errors.make("mismatch", message, "compare channels of the same rate")
    exact = Fraction(second.t0 - first.t0, NS) / first.step
    shift[0] = round(exact)
    if abs(first.time(shift[0]) - second.t0) > 1:
        between = f"the samples of {other.path} lie between those of {one.path}"
        message = f"{between}: they start {float(exact):g} samples apart"
        raise errors.make("mismatch", message, "compare channels whose samples have the same times")
    return shift


def _blocks(shape: Sequence[int], itemsize: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield start and shape of parts along the first axis."""
    if not shape or not prod(shape):
        if not shape:
            yield (), ()
        return
    rows = max(_BLOCK // max(prod(shape[1:]) * itemsize, 1), 1)
    rest = tuple(0 for _ in shape[1:])
    for low in range(0, shape[0], rows):
        yield (low, *rest), (min(rows, shape[0] - low), *shape[1:])


def _region(array: Array, begin: Sequence[int], start: Sequence[int], shape: Sequence[int]) -> Any:
    lows = [b + s for b, s in zip(begin, start, strict=True)]
    return np.asarray(array[tuple(slice(low, low + n) for low, n in zip(lows, shape, strict=True))])


def _unequal(one: Any, other: Any) -> Any:
    if one.dtype == other.dtype and one.dtype.kind not in "OT":
        size = max(one.dtype.itemsize, 1)
        words = [
            np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, size) for a in (one, other)
        ]
        return (words[0] != words[1]).any(axis=1).reshape(one.shape)
    both_nan = (one != one) & (other != other)
    return (one != other) & ~both_nan


def _larger(largest: float | None, parts: Sequence[Any], unequal: Any) -> float | None:
    """Return the largest absolute difference of finite numbers so far."""
    if any(part.dtype.kind not in "iufc" for part in parts):
        return None
    wide = "c16" if any(part.dtype.kind == "c" for part in parts) else "f8"
    one, other = (part[unequal].astype(wide) for part in parts)
    finite = np.isfinite(one) & np.isfinite(other)
    found = float(np.abs(one[finite] - other[finite]).max()) if finite.any() else None
    return found if largest is None else largest if found is None else max(largest, found)
