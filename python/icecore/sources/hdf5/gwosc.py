"""Strain files of the GW Open Science Center: a GPS time axis for series and masks, names for mask bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.time_axis import KEY, NS
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap
from icecore.sources.mapping.bit_masks import flags

#: mask → dataset with the names of its bits
_NAMES = {"DQmask": "DQShortnames", "Injmask": "InjShortnames"}
_AXIS = ("Xstart", "Xspacing", "Npoints")


def add_time_axes(result: ArrayMap) -> None:
    """Give arrays that state ``Xstart`` (GPS s), ``Xspacing`` (s) and ``Npoints`` a time axis."""
    for path, entry in result.arrays.items():
        axis = _axis(entry)
        if axis is None:
            continue
        entry.attrs[KEY] = axis
        folder, _, name = path.rpartition("/")
        names = result.arrays.get(f"{folder}/{_NAMES[name]}") if name in _NAMES else None
        if names is not None and (bits := _bits(names)):
            entry.attrs.update(flags(bits, entry.dtype))


def _axis(entry: ArrayEntry) -> dict[str, Any] | None:
    values = [value for name in _AXIS if isinstance(value := entry.attrs.get(name), (int, float))]
    if len(entry.shape) != 1 or len(values) != len(_AXIS):
        return None
    start, spacing, count = values
    if entry.attrs.get("Xunits") != "second" or count != entry.shape[0] or not spacing > 0:
        return None
    rate = round(1 / spacing)
    step = Fraction(1, rate) if rate and abs(rate * spacing - 1) < 1e-9 else Fraction(spacing)
    t0 = round(Fraction(start) * NS)
    stop = t0 + round(count * step * NS)
    return {
        "epoch": "GPS",
        "t0_ns": t0,
        "step": [step.numerator, step.denominator],
        "segments": [[t0, stop]],
    }


def _bits(names: ArrayEntry) -> list[tuple[int, str]]:
    if names.read is None or len(names.shape) != 1:
        return []
    try:
        values = names.read((slice(0, names.shape[0]),))
    except errors.Error:
        return []  # reading the array itself reports the error
    texts = [v.decode("utf-8", "replace") if isinstance(v, (bytes, np.bytes_)) else str(v) for v in values]
    return list(enumerate(texts))
