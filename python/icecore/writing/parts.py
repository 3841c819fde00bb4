"""Blocks of one step that several processes write: the ranks of an MPI or multiprocessing model.

The process that commits prepares the arrays and sends :class:`Parts` to the others. Each writes its blocks
to the store and returns where they are; the data does not pass through the process that commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.codecs.rounding import Rounding
from icecore.repository import address
from icecore.repository.nodes import Node
from icecore.writing.fork import Chunks, Fork, taken
from icecore.writing.row_grid import RowGrid, unit_of

if TYPE_CHECKING:
    from icecore.writing.writer import Writer


@dataclass(frozen=True)
class Written:
    """What one process wrote: a plain value, to be sent to the process that commits."""

    chunks: dict[str, Chunks] = field(default_factory=dict)


@dataclass(frozen=True)
class Parts:
    """The arrays of a writer, for processes that write blocks of them; can be pickled.

    Attributes:
        fork: where the blocks go.
        arrays: path of an array → its metadata document and dtype.
    """

    fork: Fork
    arrays: Mapping[str, tuple[str, np.dtype[Any]]]

    def open(self) -> PartWriter:
        """Return a writer of blocks, in the process that has them."""
        return PartWriter(self)


class PartWriter:
    """Writes blocks of arrays; :meth:`close` returns where they are.

    Example:
        >>> import icecore, numpy as np, tempfile
        >>> repo = icecore.create(tempfile.mkdtemp() + "/r")
        >>> with repo.writer("step 0") as w:
        ...     _ = w.array("/t", "f4", (1, 4, 6), chunks=(1, 2, 6), shards=(1, 2, 6), codec="zstd")
        ...     parts = w.parts()  # send it to the other processes
        ...     found = []
        ...     for rank in range(2):  # each in a process of its own
        ...         part = parts.open()
        ...         part.write("/t", (0, 2 * rank, 0), np.full((1, 2, 6), rank, "f4"))
        ...         found.append(part.close())
        ...     w.merge(found)
        >>> repo.at("main")["/t"][0, :, 0].tolist()
        [0.0, 0.0, 1.0, 1.0]
    """

    def __init__(self, parts: Parts) -> None:
        self._writer = parts.fork.writer()
        self._nodes: dict[str, Node] = {}
        self._dtypes = {path: dtype for path, (_, dtype) in parts.arrays.items()}
        for path, (document, _) in parts.arrays.items():
            if self._writer._native.exists(path):
                self._writer._native.update_array(path, document)
            else:
                self._writer._parents(path)
                self._writer._native.add_array(path, document)
            self._nodes[path] = Node(path, True, document)

    def write(self, path: str, start: Sequence[int], block: Any) -> None:
        """Write a block that consists of whole shards (or chunks), but for the ends of the array.

        Args:
            path: the path of the array.
            start: index of its first element, per axis.
            block: array of as many axes; it is converted to the dtype of the array.

        Raises:
            Error: ``not-found`` for an array that the writer did not use; ``invalid`` for a block that begins
                or ends inside a shard, which two processes would write.
        """
        path = address.absolute(path)
        node = self._nodes.get(path)
        if node is None:
            known = ", ".join(self._nodes) or "none"
            raise errors.make("not-found", f"the parts have no array {path}", f"they have {known}")
        values = np.array(block, self._dtypes[path], order="C")  # a copy: the caller may change its block
        low = tuple(int(n) for n in start)
        _check(node, low, values.shape)
        rule = Rounding.of(node.ours)
        if rule is not None:
            fill = node.document.get("fill_value")
            values = rule.apply(values, [fill] if isinstance(fill, int | float) and fill else [])
        self._writer._native.write(path, low, values)

    def close(self) -> Written:
        """Wait until all blocks are stored; return where they are.

        Raises:
            Error: the first failure.
        """
        for _, error in self._writer._native.failed(True):
            raise error
        found = Written(taken(self._writer))
        self._writer.abort()
        return found


def _check(node: Node, start: tuple[int, ...], shape: tuple[int, ...]) -> None:
    unit = unit_of(node)
    if unit is None or len(start) != len(node.shape) or len(shape) != len(node.shape):
        axes = f"{len(node.shape)} axes, the block has {len(shape)}, its start {len(start)}"
        raise errors.make("invalid", f"{node.path} has {axes}", "give a start and a length for each axis")
    rows = RowGrid.of(node.document, unit[0]) if unit else None
    for axis, (first, n, full) in enumerate(zip(start, shape, node.shape, strict=True)):
        stop, length = first + n, unit[axis]
        if first < 0 or stop > full:
            message = (
                f"{node.path}: the block is {first} to {stop} along axis {axis}, which has {full} elements"
            )
            raise errors.make("invalid", message, "resize the array before the parts are made")
        if axis == 0 and rows is not None:
            is_whole = rows.floor(first) == first and (stop == full or rows.ceil(stop) == stop)
        else:
            is_whole = first % length == 0 and (stop == full or stop % length == 0)
        if not is_whole:
            message = (
                f"{node.path}: the block is {first} to {stop} along axis {axis}, its shards have {length}"
            )
            hint = "write whole shards: choose shards= (and chunks=) that divide the blocks of all processes"
            raise errors.make("invalid", message, hint)


def parts_of(writer: Writer) -> Parts:
    """Return the arrays that a writer used so far, for other processes; see :meth:`icecore.Writer.parts`."""
    arrays = {}
    for path, array in writer._arrays.items():
        array._fresh()
        array.finish()
        array._check()
        array._adapting = None  # the other processes use the codecs as they are now
        arrays[path] = str(writer._native.document(path)), array.dtype
    return Parts(Fork.of(writer), arrays)


def merge(writer: Writer, written: Iterable[Written]) -> None:
    """Add blocks to a writer's changes; see :meth:`icecore.Writer.merge`.

    Raises:
        Error: ``invalid`` if two processes wrote one chunk.
    """
    seen: dict[str, set[int]] = {}
    every = list(written)
    for each in every:
        for path, chunks in each.chunks.items():
            numbers = {int(place[0]) for place in chunks.places}
            both = seen.setdefault(path, set()) & numbers
            if both:
                message = f"{path}: chunk {min(both)} was written by two processes"
                raise errors.make("invalid", message, "give each chunk to one process")
            seen[path] |= numbers
    for each in every:
        for path, chunks in each.chunks.items():
            chunks.merge(writer, path)
