"""Groups and arrays as the page lists them."""

from __future__ import annotations

from typing import Any

from icecore.codecs.rounding import Rounding
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.json_attributes import to_json
from icecore.repository.repo import Repo
from icecore.service.view.points import coordinates
from icecore.service.view.values import array_of, is_known, label, shown, units, wire, wire_of


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


# How an array is compressed and where its chunks are.

_SHOWN = 20


def report(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return codecs, sizes and places of an array's chunks."""
    array = array_of(repo, params)
    found = array.storage
    return {
        "bytes": array.nbytes,
        "bytes_stored": found.bytes_stored,
        "ratio": array.nbytes / found.bytes_stored if found.bytes_stored else None,
        "chunks": None if array.chunks is None else list(array.chunks),
        "shards": None if array.shards is None else list(array.shards),
        "codecs": [
            *_rounding(array),
            *(
                {"name": each["name"], "configuration": each.get("configuration", {})}
                for each in array.codecs
            ),
        ],
        **{
            name: getattr(found, name)
            for name in ("cells", "references", "missing", "inline", "native", "linked")
        },
        "files": [
            {"name": shown(url), "chunks": chunks, "bytes": size}
            for url, (chunks, size) in list(found.urls.items())[:_SHOWN]
        ],
    }


def _rounding(array: Array) -> list[dict[str, Any]]:
    """Return the rounding that came before the codecs, with its bound."""
    rule = Rounding.of(array._node.ours)
    return [] if rule is None else [{"name": "rounded", "configuration": {"with": str(rule)}}]


# Versions of a repository.

_VERSIONS = 100


def versions(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return branches, tags and the newest commits."""
    return {
        "shown": repo.snapshot_id,
        "branches": repo.branches,
        "tags": repo.tags,
        "commits": [
            {"id": each.id, "message": each.message, "time": each.time.isoformat()}
            for each in repo.log(_VERSIONS)
        ],
    }
