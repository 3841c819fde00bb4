"""Attributes of HDF5 objects, read once each through the low-level interface."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from h5py import h5a, h5o, h5r, h5s, h5t

from icecore.repository.json_attributes import text
from icecore.repository.nodes import OURS
from icecore.sources.hdf5.types import memory_type, wider

#: internal attributes of netCDF-4 and of dimension scales, which netCDF libraries hide
HIDDEN = {
    "REFERENCE_LIST",
    "DIMENSION_LIST",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
}
_SKIPPED = {b"REFERENCE_LIST", b"_nc3_strict"}
_MAX_BYTES = 64 << 20


class References:
    """Paths of object references, cached per object: the library searches the whole file for a name."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, int], str] = {}

    def path(self, reference: Any, fid: Any) -> str:
        """Return the path of the object that a reference points to; "" if there is none."""
        if not reference:
            return ""
        try:
            info = h5o.get_info(h5r.dereference(reference, fid))
        except (KeyError, ValueError, RuntimeError, OSError, TypeError):
            return ""  # the object was deleted
        key = (info.fileno, info.addr)
        if key not in self.names:
            self.names[key] = text(h5r.get_name(reference, fid) or b"")
        return self.names[key]


def read_attributes(oid: Any, fid: Any, references: References) -> tuple[dict[str, Any], dict[str, str]]:
    """Return all attributes of an object, and the reasons for those left out.

    The values are str, NumPy scalar or array, list or dict, by name.
    """
    names: list[bytes] = []
    h5a.iterate(oid, names.append)
    values: dict[str, Any] = {}
    lost: dict[str, str] = {}
    for name in names:
        if name in _SKIPPED:
            continue
        if name == OURS.encode():
            lost[OURS] = "icecore has one of its own by this name"
            continue
        aid = h5a.open(oid, name)
        try:
            value = _value(aid, lambda item: references.path(item, fid))
        except (TypeError, NotImplementedError) as error:
            lost[text(name)] = str(error)
            continue
        label = text(name)
        values[label] = value if label in HIDDEN else _single(value)
    return values, lost


def _value(aid: Any, name_of: Callable[[Any], str]) -> Any:
    tid = aid.get_type()
    space = aid.get_space()
    kind = tid.get_class()
    if space.get_simple_extent_type() == h5s.NULL:
        return "" if kind == h5t.STRING else np.empty(0, tid.dtype if kind != h5t.VLEN else "f8")
    shape = space.get_simple_extent_dims()
    count = prod(shape)
    if count * tid.get_size() > _MAX_BYTES:
        raise NotImplementedError(f"{count} elements of {tid.get_size()} bytes, more than 64 MiB")
    wide = wider(tid)
    array = np.empty(shape, tid.dtype if wide is None else wide)
    if count == 0:
        return array
    aid.read(array, mtype=memory_type(tid) if wide is None else h5t.py_create(wide))
    return _plain(array, name_of)


def _single(value: Any) -> Any:
    # netCDF has no scalars: one element is a scalar.
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return value[0] if len(value) == 1 else value
    return value


def _plain(value: Any, name_of: Callable[[Any], str]) -> Any:
    """Return NumPy data with strings decoded and references converted to paths."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None or value.dtype.kind in "SO":
            if value.ndim == 0:
                return _plain(value[()], name_of)
            return [_plain(item, name_of) for item in value]
        return value[()] if value.ndim == 0 else value
    if isinstance(value, np.void) and value.dtype.names is not None:
        return {name: _plain(value[name], name_of) for name in value.dtype.names}
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, h5r.Reference):
        return name_of(value)
    return value
