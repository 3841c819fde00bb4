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

from icecore.filesystem.atomic_output import landing
from icecore.integrations.references.inventory import Exported, Item, items, plain_address
from icecore.integrations.zarr_view import DecodedStore

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

#: ``[url, offset, length]``, or the bytes of a key as text
Reference = list[Any] | str


@dataclass
class References(Exported):
    """References, and the arrays that they can't express.

    Attributes:
        refs: key of the Zarr v3 hierarchy → reference.
    """

    refs: dict[str, Reference] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the document of the references."""
        return json.dumps({"version": 1, "refs": self.refs}, separators=(",", ":"))


def write(repo: Repo, path: str, output: str) -> Exported:
    """Write the references of a group to a file; see :func:`references`."""
    found = references(repo, path)
    with landing(output) as place, open(place, "w", encoding="utf-8") as file:
        file.write(found.to_json())
    return found


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
    result, plain = References(), DecodedStore(repo)
    for item in items(repo, path, result):
        if item.array is not None and item.links is None:
            result.inline += 1
            result.refs.update((key, _text(data)) for key, data in values(plain, item))
            continue
        result.refs[item.key("zarr.json")] = json.dumps(item.document)
        if item.links is not None:
            result.linked += 1
            result.refs.update(_chunks(item))
    return result


def values(plain: DecodedStore, item: Item) -> Iterator[tuple[str, bytes]]:
    """Yield the keys of an array that is written with its values, in Zarr v3 without compression."""
    inside = f"{item.node.path.strip('/')}/"
    for key in plain._keys(inside):
        data = plain._bytes(key)
        if data is not None:
            yield item.key(key[len(inside) :]), data


def _chunks(item: Item) -> Iterator[tuple[str, Reference]]:
    """Yield the key of each stored chunk of a linked array and its place in a file, or its bytes."""
    links = item.links
    assert links is not None
    urls = [plain_address(url) for url in links.urls]
    columns = (links.places.tolist(), links.files.tolist(), links.offsets.tolist(), links.lengths.tolist())
    for place, number, offset, length in zip(*columns, strict=True):
        yield item.key("/".join(["c", *map(str, place)])), [urls[number], offset, length]
    for index, data in item.held():
        yield item.key("/".join(["c", *map(str, index)])), _text(data)


def _text(data: bytes) -> str:
    """Return bytes as the specification writes them: text, or base64."""
    return f"base64:{base64.b64encode(data).decode()}"
