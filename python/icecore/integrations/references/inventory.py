"""The nodes of a group as references need them: linked chunks as places in files, small arrays as values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from icecore import _icecore, errors
from icecore.codecs.readers import icecore_only
from icecore.repository.array import Array
from icecore.repository.link_table import LinkTable, places
from icecore.repository.nodes import OURS

if TYPE_CHECKING:
    from icecore.repository.nodes import Node
    from icecore.repository.repo import Repo

#: bytes of an array that is written with its values, decoded, if it isn't linked
INLINE = 1 << 20
#: bytes of chunks of a linked array that the repository holds itself, decoded
_HELD = 8 << 20


@dataclass
class Exported:
    """What was written, and the arrays that the format can't express.

    Attributes:
        linked: number of arrays whose chunks are references to files.
        inline: number of arrays whose values were written.
        left_out: path → reason, for all other arrays.
    """

    linked: int = 0
    inline: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """A group or an array below the exported group.

    Attributes:
        name: path relative to the exported group, without a leading ``/``; empty for the group itself.
        node: its metadata.
        array: the array; None for a group.
        links: its linked chunks; None for an array that is written with its values.
    """

    name: str
    node: Node
    array: Array | None = None
    links: LinkTable | None = None

    def key(self, key: str) -> str:
        """Return the key of a document or a chunk in the exported hierarchy."""
        return f"{self.name}/{key}" if self.name else key

    @property
    def document(self) -> dict[str, Any]:
        """The Zarr v3 metadata document without the attribute that only icecore reads."""
        found: dict[str, Any] = json.loads(self.node.zarr_json) if self.node.zarr_json.strip() else {}
        attributes = {key: value for key, value in found.get("attributes", {}).items() if key != OURS}
        return {**found, "attributes": attributes}

    def held(self) -> Iterator[tuple[tuple[int, ...], bytes]]:
        """Yield the chunks of a linked array that the repository holds itself, encoded as the linked ones."""
        assert self.array is not None
        assert self.links is not None
        array, links = self.array, self.links
        numbers = np.setdiff1d(_stored(array), links.chunks)
        chunk = array.chunks or ()
        chain = _icecore.Chain(json.dumps(array.codecs), json.dumps(array._node.document["data_type"]))
        for place in places(numbers, links.counts).tolist():
            box = tuple(
                slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(place, chunk, array.shape, strict=True)
            )
            whole = np.full(chunk, array.fill_value, array.dtype)
            whole[tuple(slice(0, part.stop - part.start) for part in box)] = array.read(box)
            yield tuple(place), chain.encode(whole.reshape(-1).view("u1"), chunk)


def items(repo: Repo, path: str, result: Exported) -> Iterator[Item]:
    """Yield everything at and below a group that references can express; report the rest in ``result``.

    Raises:
        Error: ``not-found``; any error of reading the references.
    """
    root = repo[path]
    for node in [root._node, *repo._below(root.path)]:
        name = node.path[len(root.path) :].strip("/")
        if not node.is_array:
            yield Item(name, node)
            continue
        array = Array(repo, node)
        reason = _unlinked(array)
        if not reason:
            yield Item(name, node, array, LinkTable.of(array))
        elif array.nbytes <= INLINE:
            yield Item(name, node, array)
        else:
            result.left_out[node.path] = reason


def _unlinked(array: Array) -> str:
    """Return why an array's chunks can't be references to files; empty if they can."""
    if own := icecore_only(array.codecs):
        return f"only icecore decodes {', '.join(own)}"
    unit = array.shards or array.chunks
    if unit is None:
        return "its chunks differ in shape"
    stored = array.storage
    inside = stored.inline + stored.native
    fits = (
        array.shards is None
        and array.dtype.kind != "O"
        and inside * prod(unit) * array.dtype.itemsize <= _HELD
    )
    if inside and not (stored.linked and fits):
        return f"{inside:,} of its {stored.references:,} stored chunks are in the repository"
    return ""


def _stored(array: Array) -> np.ndarray:
    found = array._native.held()
    assert found is not None
    return found[1]


def plain_address(url: str) -> str:
    """Return the address of a file as fsspec needs it, which escapes nothing in paths and keys."""
    return url if url.startswith(("http://", "https://")) else unquote(url)


def unsupported(reason: str) -> errors.Error:
    """Return the error for an array that a format can't express; ``reason`` is for the user."""
    return errors.make("unsupported", reason)
