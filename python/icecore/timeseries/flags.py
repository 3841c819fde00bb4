"""Valid samples: bits of mask channels named by CF's ``flag_meanings``, and ``dataValid`` of frame files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, takewhile
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.repository.cf_coordinates import names
from icecore.repository.time_axis import KEY, TimeAxis

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: name of a flag, several names, or ``PATH:NAME``
Valid = str | Sequence[str]
#: name of the validity that frame files state
DATA_VALID = "dataValid"
#: number of mask samples that are read at once
_BLOCK = 1 << 22
Runs = list[tuple[int, int]]


def valid_runs(array: Array, axis: TimeAxis, runs: Runs, valid: Valid) -> Runs:
    """Return the parts of sample ranges [first, last) that are valid.

    Args:
        array: time series.
        axis: time axis of the array.
        runs: ranges of its samples.
        valid: flags that must be set: ``"DATA"``, ``["DATA", "CBC_CAT1"]`` or ``"/H1/DQMASK:DATA"``. A name
            is searched in ``flag_meanings`` of the array's ``ancillary_variables``, then of the arrays of its
            group, then of the nearest other arrays. ``dataValid`` is the validity that frame files state, for
            a frame or in an auxiliary vector; it always applies.

    Raises:
        Error: ``not-found`` for a name that no mask has; ``invalid`` if several masks have it.
    """
    wanted = [valid] if isinstance(valid, str) else list(valid)
    found = _without(runs, axis, array.attrs.get("data_valid"))
    for mask in _beside(array):
        if DATA_VALID in _meanings(mask):
            bad = [part for run in found for part in _set_in(mask, DATA_VALID, axis, run, False)]
            found = _without(found, axis, [(axis.time(low), axis.time(high), 1) for low, high in bad])
    for name in wanted:
        if name != DATA_VALID:
            mask, word = _mask(array, name)
            found = [run for part in found for run in _set_in(mask, word, axis, part)]
    return found


def _without(runs: Runs, axis: TimeAxis, stated: object) -> Runs:
    """Return the ranges without the spans (start, stop, value) that frame files mark as invalid."""
    spans = stated if isinstance(stated, list) else []
    cuts = sorted((axis.first_at(start), axis.first_at(stop)) for start, stop, _ in spans)
    ends = list(accumulate((high for _, high in cuts), max))  # sorted, also if spans overlap
    found: Runs = []
    for first, last in runs:
        for low, high in cuts[bisect_right(ends, first) :]:
            if low >= last:
                break
            if first < low:
                found.append((first, low))
            first = max(first, high)
        if first < last:
            found.append((first, last))
    return found


def _mask(array: Array, name: str) -> tuple[Array, str]:
    """Return the mask that has the flag ``name``, and the flag's name."""
    path, _, word = name.rpartition(":")
    if path:
        mask = array.repo._array(path)
        if word not in _meanings(mask):
            has = ", ".join(_meanings(mask)) or "none"
            raise errors.make("not-found", f"{mask.path} has no flag {word}", f"it has: {has}")
        return mask, word
    beside = _beside(array)
    every = [each for each in array.repo.arrays.values() if word in _meanings(each)]
    named = [each for each in every if any(each.path == other.path for other in beside)]
    nearest = max((_shared(array, each) for each in every), default=0)
    found = named or [each for each in every if _shared(array, each) == nearest]
    if not found:
        hint = f"see flag_meanings: icecore info {quote(array.repo.url)} MASK"
        raise errors.make("not-found", f"{array.path}: no mask has the flag {word}", hint)
    if len(found) > 1:
        paths = " and ".join(each.path for each in found[:3])
        raise errors.make("invalid", f"{paths} have the flag {word}", f"name one: {found[0].path}:{word}")
    return found[0], word


def _beside(array: Array) -> list[Array]:
    """Return the arrays that ``ancillary_variables`` names."""
    group = array._node.parent.rstrip("/")
    every = (array.repo.get(f"{group}/{each}") for each in names(array.attrs, "ancillary_variables"))
    return [each for each in every if each is not None and hasattr(each, "dtype")]


def _shared(one: Array, other: Array) -> int:
    """Return the number of groups that contain both arrays."""
    pairs = zip(one.path.split("/")[:-1], other.path.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _meanings(array: Array) -> list[str]:
    attrs = array._node.attrs
    said = attrs.get("flag_meanings")
    return said.split() if isinstance(said, str) and KEY in attrs else []


def _set_in(mask: Array, word: str, axis: TimeAxis, run: tuple[int, int], wanted: bool = True) -> Runs:
    """Return the parts of a range in which the flag is set, or with ``wanted=False`` not set; a mask sample
    is valid until the next one.
    """
    own = TimeAxis.of(mask.attrs)
    assert own is not None  # _meanings returns flags only for arrays with a time axis
    low, high = own.index_before(axis.time(run[0])), own.first_at(axis.time(run[1] - 1) + 1)
    found: Runs = []
    for begin, end in _there(own, max(low, 0), min(high, mask.shape[0])):
        for at in range(begin, end, _BLOCK):
            stop = min(at + _BLOCK, end)
            is_set = _is_set(mask, word, mask[at:stop]) == wanted
            edges = np.diff(is_set.astype("i1"), prepend=0, append=0)
            for first, last in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
                part = axis.first_at(own.time(at + int(first))), axis.first_at(own.time(at + int(last)))
                part = max(part[0], run[0]), min(part[1], run[1])
                if found and found[-1][1] == part[0]:
                    found[-1] = (found[-1][0], part[1])
                elif part[0] < part[1]:
                    found.append(part)
    return found


def _there(axis: TimeAxis, low: int, high: int) -> Runs:
    every = ((max(axis.index(a), low), min(axis.index(b), high)) for a, b in axis.segments)
    return [(first, last) for first, last in every if first < last]


def _is_set(mask: Array, word: str, values: np.ndarray) -> np.ndarray:
    """Return where a flag is set (CF 1.12, 3.5: ``flag_masks``, ``flag_values``, or both)."""
    attrs, at = mask.attrs, _meanings(mask).index(word)
    bits, values_of = attrs.get("flag_masks"), attrs.get("flag_values")
    if bits is None and values_of is None:
        raise errors.make("format", f"{mask.path} has flag_meanings without flag_masks", "name another mask")
    if bits is not None and values.dtype.kind == "f":  # a mask averaged to a float: NaN has no bits
        values = np.where(np.isfinite(values), values, 0).astype("i8")
    masked = values & values.dtype.type(bits[at]) if bits is not None else values
    wanted = (values_of if values_of is not None else bits)[at]  # type: ignore[index]
    return masked == values.dtype.type(wanted)
