"""Parse and check Zarr v3 metadata documents, which any program may have written.

Only the parts that Python code uses are checked here. The engine decides whether an array can be read.
"""

from __future__ import annotations

import json
from typing import Any

from icecore import errors


def parse(path: str, text: str, is_array: bool) -> dict[str, Any]:
    """Return the document of the node at ``path``; a codec given as a string becomes an object.

    Raises:
        Error: ``corrupt`` if it is not JSON; ``format`` if a part violates the Zarr v3 specification.
    """
    try:
        document = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        message = f"{path}: the metadata document is not JSON: {error}"
        raise errors.make("corrupt", message, "see `icecore verify`") from None
    if not isinstance(document, dict) or not isinstance(document.get("attributes", {}), dict):
        raise _format(path, "a document or attributes that are not a JSON object")
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
    """Whether an extension is an object with a name; its configuration, if present, must be an object."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return False
    return isinstance(item.get("configuration", {}), dict)


def _lengths(item: Any) -> bool:
    return isinstance(item, list) and all(type(n) is int and n >= 0 for n in item)


def _format(path: str, what: str) -> errors.Error:
    return errors.make(
        "format", f"{path}: invalid metadata document: {what}", "see the Zarr v3 specification"
    )
