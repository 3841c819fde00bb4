"""Types of HDF5 as the JSON of the HDF REST API."""

from __future__ import annotations

from typing import Any

from h5py import h5t

from icecore.repository.json_attributes import text
from icecore.sources.hdf5.types import wider

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
