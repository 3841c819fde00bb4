"""Convert variable-length strings and object references in records to strings of the longest length.

A record in Zarr has one size, so it includes the strings from the file's heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import h5py
import numpy as np
from h5py import h5r

from icecore.repository.json_attributes import text
from icecore.repository.structured_dtypes import packed_struct
from icecore.sources.mapping.array_map import Region

WORDS = "records with text of any length or references: copied, these as text as long as the longest"
Read = Callable[[Region], np.ndarray]
_BLOCK = 16 << 20


def has_objects(dtype: np.dtype) -> bool:
    """Whether a record type has fields of Python objects."""
    if dtype.base.names is None:
        return dtype.base.kind == "O"
    return any(has_objects(dtype.base[name]) for name in dtype.base.names)


def placed(dtype: np.dtype, path: tuple[str, ...], longest: int = 1) -> np.dtype:
    """Return the string type of a field, ``longest`` characters long.

    Raises:
        TypeError: for objects other than strings and object references.
    """
    if h5py.check_string_dtype(dtype) is None and h5py.check_ref_dtype(dtype) is not h5py.Reference:
        what = "region references" if h5py.check_ref_dtype(dtype) else "variable-length sequences"
        raise TypeError(f"its field {'.'.join(path)} holds {what}")
    return np.dtype(f"<U{longest}")


def measured(dtype: np.dtype, shape: tuple[int, ...], read: Read, fid: Any) -> np.dtype:
    """Return the packed record type of a dataset, with strings as long as the longest one.

    ``read`` returns the records of a region as h5py objects.
    """
    longest: dict[tuple[str, ...], int] = {}
    for region in _blocks(shape, dtype.itemsize):
        _measure(read(region), fid, longest, ())
    return packed_struct(dtype, lambda field, path: placed(field, path, longest.get(path, 1)))


def spelled(values: np.ndarray, fid: Any) -> np.ndarray:
    """Return strings, and references as paths (``""`` for null references), as ``str`` objects."""
    out = np.empty(values.shape, object)
    flat = out.reshape(-1)
    for i, item in enumerate(values.reshape(-1)):
        flat[i] = spell(item, fid)
    return flat.reshape(values.shape)


def spell(item: Any, fid: Any) -> str:
    """Return one string or reference as ``str``."""
    if isinstance(item, bytes):
        return text(item)
    if isinstance(item, h5py.Reference):
        return text(h5r.get_name(item, fid) or b"") if item else ""
    return item if isinstance(item, str) else ""


def _blocks(shape: tuple[int, ...], itemsize: int) -> Iterator[Region]:
    """Yield regions of about 16 MiB that cover all elements."""
    if not shape:
        yield ()
    elif prod(shape):
        step = max(_BLOCK // (prod(shape[1:]) * itemsize), 1)
        for start in range(0, shape[0], step):
            yield (slice(start, min(start + step, shape[0])), *(slice(0, n) for n in shape[1:]))


def _measure(
    values: np.ndarray, fid: Any, longest: dict[tuple[str, ...], int], path: tuple[str, ...]
) -> None:
    for name in values.dtype.names or ():
        field, here = values[name], (*path, name)
        if field.dtype.names is not None:
            _measure(field, fid, longest, here)
        elif field.dtype.kind == "O":
            most = max(len(spell(item, fid)) for item in field.reshape(-1))
            longest[here] = max(longest.get(here, 1), most)
