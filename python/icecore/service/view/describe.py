"""Groups and arrays as the page lists them."""

from __future__ import annotations

from typing import Any

from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.json_attributes import to_json
from icecore.repository.repo import Repo
from icecore.service.view.physical import is_known, units, wire_of
from icecore.service.view.points import coordinates
from icecore.service.view.wire import label, wire


def children(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return the members of a group, or an array itself as none."""
    found = repo[params["path"]]
    if not isinstance(found, Group):
        return {"path": found.path, "children": []}
    return {"path": found.path, "children": [_short(each) for each in found.values()]}


def node(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return what is known of a group or an array without reading values."""
    found = repo[params["path"]]
    short = {**_short(found), "attrs": to_json(found.attrs)}
    if isinstance(found, Group):
        return {**short, "coordinates": coordinates(found)}
    names = found.dtype.names or ()
    return {
        **short,
        "dims": list(found.dims),
        "chunks": None if found.chunks is None else list(found.chunks),
        "itemsize": max(found.dtype.itemsize, 8) if wire_of(found) == "f8" else found.dtype.itemsize,
        "units": units(found),
        "is_physical": is_known(found),
        "fields": {name: wire(found.dtype[name]) for name in names},
        "wire": wire_of(found),
        "nbytes": found.nbytes,
    }


def _short(found: Array | Group) -> dict[str, Any]:
    name = found.path.rsplit("/", 1)[-1] or "/"
    if isinstance(found, Group):
        return {"name": name, "path": found.path, "kind": "group"}
    return {
        "name": name,
        "path": found.path,
        "kind": "array",
        "shape": list(found.shape),
        "dtype": label(found.dtype),
    }
