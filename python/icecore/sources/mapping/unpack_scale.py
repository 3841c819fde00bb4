"""Convert numbers that files pack with different scales to unscaled floats for one common array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.mapping.array_map import ArrayEntry, Reader, Region
from icecore.sources.mapping.cf_compare import LIMITS, PACKED, SCALE, Sourced, unlike_scales


@dataclass(frozen=True)
class Unpacked:
    """Reader of ``packed * scale + offset``, computed in ``dtype`` as xarray does.

    Values equal to one of ``marks`` become NaN. Integers are read as
    ``packed``, which is unsigned if the file says so.
    """

    read: Reader
    packed: np.dtype
    dtype: np.dtype
    scale: Any
    offset: Any
    marks: np.ndarray

    def __call__(self, region: Region) -> np.ndarray:
        stored = self.read(region).view(self.packed)
        values = stored.astype(self.dtype)
        if self.scale is not None:
            values *= self.scale
        if self.offset is not None:
            values += self.offset
        if len(self.marks):
            values[np.isin(stored, self.marks)] = np.nan
        return values


def unpacked(arrays: Sequence[Sourced]) -> list[Sourced]:
    """Return the arrays, as unscaled floats (NaN for missing values) if their scales or offsets differ.

    They are only converted if no attribute unrelated to packing differs.
    """
    if not unlike_scales(arrays):
        return list(arrays)
    made = [_unpacked(array) for array in arrays]
    return list(arrays) if None in made else [array for array in made if array is not None]


def told(arrays: Sequence[Sourced], dtype: np.dtype) -> str:
    """Return the note for readers of the joined array."""
    limits = [name for name in LIMITS if any(name in array.entry.attrs for array in arrays)]
    left = f"; {', '.join(limits)} left out" if limits else ""
    return f"its files have different scales: unpacked to {dtype}, missing values are NaN{left}"


def _unpacked(array: Sourced) -> Sourced | None:
    """Return the unscaled array; None if an attribute is not a number."""
    entry = array.entry
    scale, offset = (_number(array, name) for name in SCALE)
    if scale is False or offset is False or entry.read is None:
        return None
    unsigned = entry.dtype.kind == "i" and str(array.attrs.get("_Unsigned")).lower() == "true"
    packed = np.dtype(f"u{entry.dtype.itemsize}") if unsigned else entry.dtype
    dtype = _float(packed, scale, offset)
    marks = array.explicit_marks.view(packed)
    attrs, types = (
        {k: v for k, v in each.items() if k not in PACKED} for each in (entry.attrs, entry.attr_types)
    )
    made: ArrayEntry = replace(
        entry,
        dtype=dtype,
        data_type=data_type(dtype),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(np.nan, dtype),
        attrs=attrs,
        attr_types=types,
        links=None,
        native={},
        held=None,
        read=Unpacked(entry.read, packed, dtype, scale, offset, marks),
    )
    return Sourced(array.source, made, {k: v for k, v in array.attrs.items() if k not in PACKED})


def _number(array: Sourced, name: str) -> Any:
    """Return an attribute in the file's type; None if it is missing, False if it is not a number."""
    value = array.said(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return np.dtype(array.entry.attr_types.get(name, np.asarray(value).dtype)).type(value)


def _float(packed: np.dtype, scale: Any, offset: Any) -> np.dtype:
    """Return the dtype of unpacked numbers (CF, 8.1): the type of the attributes.

    It is float64 if those are not floats, if a float32 would round integers of 32 bits or more, or (as in
    xarray) if there is only an offset.
    """
    given = [value.dtype for value in (scale, offset) if value is not None]
    wide = packed.kind in "iu" and packed.itemsize > 2
    if wide or any(dtype.kind != "f" for dtype in given) or (scale is None and offset is not None):
        return np.dtype("f8")
    return np.result_type(np.float32, *given, *([packed] if packed.kind == "f" else []))
