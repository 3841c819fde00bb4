"""Metadata documents as any program may have written them, checked before anything is built on them.

Only the forms that the Python side looks into are checked here: the engine decides
whether an array can be read.
"""

from __future__ import annotations

import json
from typing import Any

from icecore import errors


def parse(path: str, text: str, is_array: bool) -> dict[str, Any]:
    """The document of the node at ``path``; codecs that are only a name are written out.

    Raises:
        Error: ``corrupt`` where it isn't JSON, ``format`` where a part of it isn't what Zarr v3 says.
    """
    try:
        document = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        message = f"{path}: its metadata are not JSON: {error}"
        raise errors.make("corrupt", message, "see `icecore verify`") from None
    if not isinstance(document, dict) or not isinstance(document.get("attributes", {}), dict):
        raise _format(path, "no object, or attributes that are none")
    if is_array:
        _axes(path, document.get("shape"), document.get("dimension_names"))
        kind, grid = document.get("data_type"), document.get("chunk_grid")
        if not isinstance(kind, str) and not _named(kind):
            raise _format(path, f"the data type {kind!r}")
        if not isinstance(grid, dict) or not _named(grid):
            raise _format(path, f"the chunk grid {grid!r}")
        if not _lengths(grid.get("configuration", {}).get("chunk_shape", [])):
            raise _format(path, f"the chunk grid {grid!r}")
        document["codecs"] = _codecs(path, document.get("codecs"))
    return document


def _axes(path: str, shape: Any, names: Any) -> None:
    if not _lengths(shape):
        raise _format(path, f"the shape {shape!r}")
    if names is None:
        return
    if not isinstance(names, list) or len(names) != len(shape):
        raise _format(path, f"the dimension names {names!r} for the shape {shape!r}")
    if not all(name is None or isinstance(name, str) for name in names):
        raise _format(path, f"the dimension names {names!r}")


def _codecs(path: str, codecs: Any) -> list[dict[str, Any]]:
    if not isinstance(codecs, list):
        raise _format(path, f"the codecs {codecs!r}")
    result: list[Any] = [{"name": codec} if isinstance(codec, str) else codec for codec in codecs]
    for codec in result:
        if not _named(codec):
            raise _format(path, f"the codec {codec!r}")
        if codec["name"] == "sharding_indexed":
            inside = codec.get("configuration", {})
            if not _lengths(inside.get("chunk_shape")):
                raise _format(path, f"shards of the chunks {inside.get('chunk_shape')!r}")
            inside["codecs"] = _codecs(path, inside.get("codecs"))
    return result


def _named(item: Any) -> bool:
    """Whether an extension is an object with a name and, if any, a configuration that is an object."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return False
    return isinstance(item.get("configuration", {}), dict)


def _lengths(item: Any) -> bool:
    return isinstance(item, list) and all(type(n) is int and n >= 0 for n in item)


def _format(path: str, what: str) -> errors.Error:
    return errors.make("format", f"{path}: its metadata have {what}", "see the Zarr v3 specification")
