"""Describe an HDF5 file's objects as the service sends them: links of all classes, typed attributes.

The index of a file holds arrays and groups. This description holds what they can't: committed types,
datasets of types that Zarr lacks (without their values), soft and external links, several links to one
group, exact types and shapes of attributes, and dimension scales.
"""

from __future__ import annotations

import base64
import json
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5r, h5s, h5t

from icecore.repository.json_attributes import text
from icecore.repository.zarr_dtypes import number
from icecore.sources.hdf5.file import FAULTS, guard, open_file
from icecore.sources.hdf5.types import memory_type, plan_type, wider

#: longest description (bytes); the service keeps it in memory
MOST_BYTES = 64 << 20
#: largest attribute (bytes)
_MOST_VALUE = 1 << 20
_UNREAD = "it can't be read; compare the file with its original"


def write(source: str, target: Path) -> None:
    """Write the description of a file's objects as JSON.

    Args:
        source: an HDF5 file.
        target: the file to write; none is written for a description of more than 64 MiB.

    Raises:
        Error: ``corrupt`` if the HDF5 library can't open the source.
    """
    file = open_file(source)
    try:
        with guard(source, "/"):
            described = Objects(file.id).all()
    finally:
        file.close()
    _rename(described)
    document = json.dumps(described, separators=(",", ":"), allow_nan=False)
    if len(document) <= MOST_BYTES:
        target.write_text(document, encoding="utf-8")


def _rename(described: dict[str, dict[str, Any]]) -> None:
    """Name arrays whose paths in the index are others: netCDF variables beside a dimension of their name."""
    for path in [path for path in described if "/_nc4_non_coord_" in path]:
        node = path.replace("/_nc4_non_coord_", "/")
        described[path]["node"] = node
        if node in described:
            described[node]["node"] = ""


class Objects:
    """The objects that hard links of a file lead to, each once, under the first path that was found."""

    def __init__(self, fid: Any) -> None:
        self._fid = fid
        self._paths: dict[tuple[int, int], str] = {}

    def all(self) -> dict[str, dict[str, Any]]:
        """Return path → description."""
        found: list[tuple[str, Any]] = []
        links: dict[str, dict[str, Any]] = {}
        open_: list[tuple[str, Any]] = [("/", h5g.open(self._fid, b"/"))]
        self._paths[_key(open_[0][1])] = "/"
        while open_:
            path, oid = open_.pop()
            found.append((path, oid))
            if isinstance(oid, h5g.GroupID):
                members: list[tuple[str, Any]] = []
                links[path] = self._links(path, oid, members)
                open_.extend(reversed(members))
        described = {path: self._object(path, oid) for path, oid in found}
        for path, own in links.items():
            described[path]["links"] = own
        return described

    def _links(self, path: str, gid: Any, members: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the links of a group by title; objects that are found for the first time are appended."""
        named: list[tuple[bytes, int]] = []
        with _unless_damaged():
            gid.links.iterate(lambda name, info: named.append((name, info.type)), info=True)
        links: dict[str, Any] = {}
        for name, kind in named:
            title = text(name)
            own = posixpath.join(path, title)
            with _unless_damaged():
                if kind == h5l.TYPE_HARD:
                    oid = h5o.open(gid, name)
                    first = self._paths.setdefault(_key(oid), own)
                    if first == own:
                        members.append((own, oid))
                    links[title] = {"path": first}
                elif kind == h5l.TYPE_SOFT:
                    to = text(gid.links.get_val(name))
                    links[title] = {"h5path": to, "node": own}
                elif kind == h5l.TYPE_EXTERNAL:
                    file, to = map(text, gid.links.get_val(name))
                    links[title] = {"h5path": to, "h5domain": file, "node": own}
        return links

    def _object(self, path: str, oid: Any) -> dict[str, Any]:
        described: dict[str, Any] = {"class": "groups"}
        with _unless_damaged():
            if isinstance(oid, h5t.TypeID):
                described |= {"class": "datatypes", "type": rest_type(oid)}
            elif isinstance(oid, h5d.DatasetID):
                kind = oid.get_type()
                described |= {"class": "datasets", "shape": _space(oid.get_space())}
                described["type"] = rest_type(kind)
                why = plan_type(kind).refused
                described["why"] = why or "its values are not in the index"
        attributes, lost = self._attributes(oid)
        described["attributes"] = attributes
        if lost:
            described["left_out"] = lost
        return described

    def _attributes(self, oid: Any) -> tuple[dict[str, Any], dict[str, str]]:
        names: list[bytes] = []
        found: dict[str, Any] = {}
        lost: dict[str, str] = {}
        with _unless_damaged():
            h5a.iterate(oid, names.append)
        for name in names:
            try:
                found[text(name)] = self._attribute(h5a.open(oid, name))
            except FAULTS as error:
                lost[text(name)] = (
                    str(error) if isinstance(error, (TypeError, NotImplementedError)) else _UNREAD
                )
        return found, lost

    def _attribute(self, aid: Any) -> dict[str, Any]:
        tid, space = aid.get_type(), aid.get_space()
        described = {"type": rest_type(tid), "shape": _space(space)}
        if space.get_simple_extent_type() == h5s.NULL:
            return described
        shape = space.get_simple_extent_dims()
        if prod(shape) * tid.get_size() > _MOST_VALUE:
            raise NotImplementedError(f"{prod(shape)} elements of {tid.get_size()} bytes, more than 1 MiB")
        wide = wider(tid)
        array = np.empty(shape, tid.dtype if wide is None else wide)
        if array.size:
            aid.read(array, mtype=memory_type(tid) if wide is None else h5t.py_create(wide))
        return {**described, "value": self._value(array if array.ndim else array[()])}

    def _value(self, value: Any) -> Any:
        """Return a value as the JSON of the HDF REST API; records are lists, references ``{"ref": PATH}``."""
        if isinstance(value, np.void) and value.dtype.names is not None:
            return [self._value(value[name]) for name in value.dtype.names]
        if isinstance(value, np.ndarray):
            return [self._value(item) for item in value] if value.ndim else self._value(value[()])
        if isinstance(value, h5r.Reference):
            return {"ref": self._target(value)}
        if isinstance(value, np.void):
            return base64.standard_b64encode(value.tobytes()).decode()
        if isinstance(value, bytes):
            return text(value)
        if isinstance(value, np.longdouble):
            value = float(value)
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, complex):
            return [number(value.real), number(value.imag)]
        return number(value) if isinstance(value, float) else value

    def _target(self, reference: Any) -> str:
        if not reference:
            return ""
        try:
            return self._paths.get(_key(h5r.dereference(reference, self._fid)), "")
        except FAULTS:
            return ""  # the object was deleted


def _key(oid: Any) -> tuple[int, int]:
    info = h5o.get_info(oid)
    return info.fileno, info.addr


def _space(space: Any) -> dict[str, Any]:
    kind = space.get_simple_extent_type()
    if kind == h5s.NULL:
        return {"class": "H5S_NULL"}
    dims = space.get_simple_extent_dims()
    if not dims:
        return {"class": "H5S_SCALAR"}
    limits = [0 if n == h5s.UNLIMITED else int(n) for n in space.get_simple_extent_dims(True)]
    simple: dict[str, Any] = {"class": "H5S_SIMPLE", "dims": [int(n) for n in dims]}
    return simple if limits == simple["dims"] else {**simple, "maxdims": limits}


@contextmanager
def _unless_damaged() -> Iterator[None]:
    """Leave out what the HDF5 library can't read; the index of the file reports it."""
    try:
        yield
    except FAULTS:
        return


# Types of HDF5 as the JSON of the HDF REST API.

_PADDING = {
    h5t.STR_NULLTERM: "H5T_STR_NULLTERM",
    h5t.STR_NULLPAD: "H5T_STR_NULLPAD",
    h5t.STR_SPACEPAD: "H5T_STR_SPACEPAD",
}


def rest_type(tid: Any) -> dict[str, Any]:
    """Return a type as JSON. Numbers inside other types are declared little-endian: their values are JSON.

    Raises:
        TypeError: for a type that the API has no name for.
    """
    kind = tid.get_class()
    if kind in (h5t.INTEGER, h5t.FLOAT, h5t.BITFIELD) and tid.get_order() == h5t.ORDER_BE:
        return _number(tid, "BE")
    return _any(tid)


def _any(tid: Any) -> dict[str, Any]:
    kind = tid.get_class()
    if kind in (h5t.INTEGER, h5t.FLOAT, h5t.BITFIELD):
        return _number(tid, "LE")
    if kind == h5t.STRING:
        return _string(tid)
    if kind == h5t.ENUM:
        names = [tid.get_member_name(i) for i in range(tid.get_nmembers())]
        mapping = {text(name): int(tid.get_member_value(i)) for i, name in enumerate(names)}
        return {"class": "H5T_ENUM", "base": _number(tid.get_super(), "LE"), "mapping": mapping}
    if kind == h5t.OPAQUE:
        return {"class": "H5T_OPAQUE", "size": tid.get_size(), "tag": text(tid.get_tag())}
    if kind == h5t.REFERENCE:
        return {
            "class": "H5T_REFERENCE",
            "base": "H5T_STD_REF_OBJ" if _is_object(tid) else "H5T_STD_REF_DSETREG",
        }
    if kind == h5t.VLEN:
        return {"class": "H5T_VLEN", "size": "H5T_VARIABLE", "base": _any(tid.get_super())}
    if kind == h5t.ARRAY:
        dims = [int(n) for n in tid.get_array_dims()]
        return {"class": "H5T_ARRAY", "base": _any(tid.get_super()), "dims": dims}
    if kind == h5t.COMPOUND:
        members = range(tid.get_nmembers())
        fields = [
            {"name": text(tid.get_member_name(i)), "type": _any(tid.get_member_type(i))} for i in members
        ]
        return {"class": "H5T_COMPOUND", "fields": fields}
    if tid.dtype.kind == "c":
        part = {"class": "H5T_FLOAT", "base": f"H5T_IEEE_F{min(tid.dtype.itemsize * 4, 64)}LE"}
        return {"class": "H5T_COMPOUND", "fields": [{"name": name, "type": part} for name in "ri"]}
    raise TypeError(f"HDF5's class of types {kind} has no name in the HDF REST API")


def _number(tid: Any, order: str) -> dict[str, Any]:
    if tid.get_class() == h5t.FLOAT:
        return {"class": "H5T_FLOAT", "base": f"H5T_IEEE_F{min(8 * tid.dtype.itemsize, 64)}{order}"}
    dtype = wider(tid) or tid.dtype
    return {
        "class": "H5T_INTEGER",
        "base": f"H5T_STD_{'U' if dtype.kind in 'ub' else 'I'}{8 * dtype.itemsize}{order}",
    }


def _string(tid: Any) -> dict[str, Any]:
    is_utf8 = tid.get_cset() == h5t.CSET_UTF8
    described: dict[str, Any] = {
        "class": "H5T_STRING",
        "charSet": f"H5T_CSET_{'UTF8' if is_utf8 else 'ASCII'}",
    }
    if tid.is_variable_str():
        return {**described, "strPad": "H5T_STR_NULLTERM", "length": "H5T_VARIABLE"}
    return {**described, "strPad": _PADDING[tid.get_strpad()], "length": tid.get_size()}


def _is_object(tid: Any) -> bool:
    return bool(tid.equal(h5t.STD_REF_OBJ))
