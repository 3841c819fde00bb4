"""Kerchunk references of a repository: linked chunks as file, offset and length, small arrays inline.

The result has the keys of a Zarr v3 hierarchy. fsspec's ``reference`` file system and zarr-python read it
without icecore. Source: Kerchunk's references specification, version 1.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.codecs.readers import icecore_only
from icecore.integrations.zarr_view import DecodedStore
from icecore.repository.array import Array
from icecore.repository.nodes import OURS

if TYPE_CHECKING:
    from icecore.repository.nodes import Node
    from icecore.repository.repo import Repo

#: bytes of an array that is written into the references, decoded, if it isn't linked
INLINE = 1 << 20
#: ``[url, offset, length]``, or the bytes of a key as text
Reference = list[Any] | str


@dataclass
class References:
    """References, and the arrays that they can't express.

    Attributes:
        refs: key of the Zarr v3 hierarchy → reference.
        linked: number of arrays whose chunks are references to files.
        inline: number of arrays whose values are in the references.
        left_out: path → reason, for all other arrays.
    """

    refs: dict[str, Reference] = field(default_factory=dict)
    linked: int = 0
    inline: int = 0
    left_out: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the document of the references."""
        return json.dumps({"version": 1, "refs": self.refs}, separators=(",", ":"))


def references(repo: Repo, path: str = "/") -> References:
    """Return the references of everything at and below a group.

    Args:
        repo: the repository, at a version.
        path: path of the group that becomes the root.

    Raises:
        Error: ``not-found``; any error of reading the references or the values of small arrays.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
        >>> sorted(references(repo.at("main")).refs)
        ['t2m/c/0', 't2m/zarr.json', 'zarr.json']
    """
    root = repo[path]
    result, plain = References(), DecodedStore(repo)
    for node in [root._node, *repo._below(root.path)]:
        name = node.path[len(root.path) :].strip("/")
        if not node.is_array:
            result.refs[_key(name, "zarr.json")] = json.dumps(_document(node))
            continue
        array = Array(repo, node)
        if reason := _unlinked(array):
            if array.nbytes > INLINE:
                result.left_out[node.path] = reason
                continue
            result.inline += 1
            for key in plain._keys(f"{node.path.strip('/')}/"):
                data = plain._bytes(key)
                if data is not None:
                    result.refs[_key(name, key[len(node.path.strip("/")) + 1 :])] = _text(data)
        else:
            result.linked += 1
            result.refs[_key(name, "zarr.json")] = json.dumps(_document(node))
            result.refs.update((_key(name, key), place) for key, place in _chunks(array))
    return result


def _key(name: str, key: str) -> str:
    return f"{name}/{key}" if name else key


def _document(node: Node) -> dict[str, Any]:
    """Return the metadata document without the attribute that only icecore reads."""
    document: dict[str, Any] = json.loads(node.zarr_json) if node.zarr_json.strip() else {}
    attributes = {key: value for key, value in document.get("attributes", {}).items() if key != OURS}
    return {**document, "attributes": attributes}


def _unlinked(array: Array) -> str:
    """Return why an array's chunks can't be references to files; empty if they can."""
    if own := icecore_only(array.codecs):
        return f"only icecore decodes {', '.join(own)}"
    if _grid(array) is None:
        return "its chunks differ in shape"
    stored = array.storage
    inside = stored.inline + stored.native
    return f"{inside:,} of its {stored.references:,} stored chunks are in the repository" if inside else ""


def _grid(array: Array) -> tuple[int, ...] | None:
    return array.shards or array.chunks


def _chunks(array: Array) -> Iterator[tuple[str, Reference]]:
    """Yield the key of each linked chunk and its place in a file."""
    unit = _grid(array)
    assert unit is not None
    counts = tuple(-(-n // c) if c else 0 for n, c in zip(array.shape, unit, strict=True))
    files, numbers, chunks, offsets, lengths = array._native.links()
    urls = [url for url, _ in files]
    places = (
        np.stack(np.unravel_index(chunks.astype("i8"), counts), 1)
        if counts
        else np.zeros((len(chunks), 0), "i8")
    )
    columns = (places.tolist(), numbers.tolist(), offsets.tolist(), lengths.tolist())
    for place, number, offset, length in zip(*columns, strict=True):
        yield "/".join(["c", *map(str, place)]), [urls[number], offset, length]


def _text(data: bytes) -> str:
    """Return bytes as the specification writes them: text, or base64."""
    return f"base64:{base64.b64encode(data).decode()}"
