"""Readers of copied branches and columns: decoded by the engine, one whole branch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.list_columns import JAGGED
from icecore.sources.files.byte_source import for_parser
from icecore.sources.files.identity import Identity, unchanged
from icecore.sources.mapping.array_map import Region

if TYPE_CHECKING:
    from icecore import _icecore


@lru_cache(maxsize=128)
def root_file(path: str, identity: Identity) -> _icecore.RootFile:
    """Return the open file; it stays open: a chain reads each branch from all of its files in turn."""
    from icecore import _icecore

    unchanged(path, identity)
    return _icecore.RootFile(for_parser(path))


@dataclass(frozen=True)
class BranchReader:
    """Reader for one array of a branch; can be pickled.

    Attributes:
        path: the file.
        identity: identity of the file when it was indexed.
        tree: the tree's path in the file.
        number: number of the branch in the tree.
        part: ``values``, ``content``, ``counts``, ``offsets`` or ``text``.
        shape: shape of the array.
        dtype: dtype of the array.
        member: number of the field in a record.
    """

    path: str
    identity: Identity
    tree: str
    number: int
    part: str
    shape: tuple[int, ...]
    dtype: np.dtype
    member: int = 0

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        content, counts = _values(self.path, self.identity, self.tree, self.number, self.member)
        return np.ascontiguousarray(part(self.part, content, counts, self.shape, self.dtype)[region])


@lru_cache(maxsize=2)
def _values(
    path: str, identity: Identity, tree: str, number: int, member: int
) -> tuple[np.ndarray, np.ndarray | None]:
    return root_file(path, identity).values(tree, number, member)


def part(
    name: str, content: np.ndarray, counts: np.ndarray | None, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """Build one array from the content bytes and the counts of the entries."""
    known = np.empty(0, "u4") if counts is None else counts
    if name == "counts":
        return known
    if name == "offsets":
        return offsets_of(known)
    if name == "text":
        return texts(content, offsets_of(known))
    values = content.view(dtype)
    if values.size != int(np.prod(shape, dtype="i8")):
        message = f"{values.size:,} values, expected an array of shape {shape}"
        raise errors.make("corrupt", message, "compare the file with its original")
    return values.reshape(shape)


def offsets_of(counts: np.ndarray) -> np.ndarray:
    """Return the start of each entry and the end: int64, one more than ``counts``."""
    result = np.zeros(len(counts) + 1, "i8")
    np.cumsum(counts, out=result[1:])
    return result


def texts(content: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return strings as objects; bytes that are not UTF-8 are decoded as Latin-1."""
    raw = content.tobytes()
    result = np.empty(len(offsets) - 1, object)
    for i, (low, high) in enumerate(zip(offsets.tolist(), offsets[1:].tolist(), strict=False)):
        try:
            result[i] = raw[low:high].decode()
        except UnicodeDecodeError:
            result[i] = raw[low:high].decode("latin-1")
    return result


# Groups that hold jagged arrays, and the attribute that names their arrays (docs/format.md).

#: the attribute of a tree's group with its number of entries
ENTRIES = "entries"


def attribute(
    lengths: str,
    of: str,
    content: str,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
    optional: bool = False,
) -> dict[str, Any]:
    """Return the attributes of a group of lists.

    Args:
        lengths: ``offsets``, ``counts`` or ``ends``: the kind of the array ``of``.
        of: path of the array of lengths, relative to the group.
        content: path of the elements, relative to the group.
        bounds: entries and elements at which parts (baskets, clusters) begin, and their ends.
        optional: whether each list is a value that may be missing.
    """
    stated: dict[str, Any] = {lengths: of, "content": content}
    if optional:
        stated["optional"] = True
    if bounds is not None:
        stated["bounds"] = [bounds[0].tolist(), bounds[1].tolist()]
    return {JAGGED: stated}


def edges(lengths: np.ndarray) -> np.ndarray:
    """Return 0 and the running sums of ``lengths``."""
    return np.concatenate([np.zeros(1, "i8"), np.cumsum(np.asarray(lengths, "i8"))])
