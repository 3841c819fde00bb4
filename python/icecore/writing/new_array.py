"""Metadata of a new array: dtype, chunks, shards and codecs from the caller's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from icecore import errors
from icecore.analyzer import adaptive_codec
from icecore.analyzer.measure import Goal
from icecore.codecs import spec as codecspec
from icecore.display import text
from icecore.layout import layout
from icecore.layout.access_pattern import Query, check, parse, queries
from icecore.layout.access_pattern import Spec as Access
from icecore.layout.layout import Layout
from icecore.repository import zarr_dtypes
from icecore.repository.nodes import Node
from icecore.repository.selection import is_int
from icecore.repository.typed_attributes import encoded, storable
from icecore.repository.zarr_dtypes import data_type, fill_json
from icecore.writing.append_buffer import Tail


@dataclass(frozen=True)
class NewArray:
    """Checked arguments of :meth:`icecore.Writer.array` for a new array.

    Create it with :meth:`of`.
    """

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dims: Sequence[str | None] | None
    chunks: Sequence[int] | None
    shards: Sequence[int] | None
    codec: codecspec.Spec
    fill_value: Any
    attrs: Mapping[str, Any]
    portable: bool
    access: Access | None
    goal: Goal

    @classmethod
    def of(
        cls,
        path: str,
        dtype: Any,
        shape: Any,
        goal: str,
        bandwidth: str | float | None,
        attrs: Mapping[str, Any] | None,
        **asked: Any,
    ) -> NewArray:
        """Check the arguments, and create the object.

        Raises:
            Error: ``invalid`` for invalid lengths or goals, ``dtype`` for an invalid dtype.
        """
        lengths = _lengths(path, shape)
        layout.check(asked["chunks"], asked["shards"])
        wished = Goal.of(goal, bandwidth)
        named = _dtype(dtype, path)
        native = np.dtype("O") if named.kind == "T" else named.newbyteorder("=")
        dims = asked["dims"]
        if dims is not None and len(dims) != len(lengths):
            raise errors.make("invalid", f"{len(dims)} dimension names for {len(lengths)} axes of {path}")
        return cls(path, native, lengths, goal=wished, attrs=attrs or {}, **asked)

    @property
    def grows(self) -> bool:
        """Whether rows will be appended."""
        return bool(self.shape) and self.shape[0] == 0

    def planner(self, shares: MemoryShares) -> Callable[[int | None], layout.Layout]:
        """Return a function from the number of rows per commit (None if unknown) to a layout."""
        return partial(
            layout.plan,
            self.shape,
            zarr_dtypes.itemsize(self.dtype),
            self.chunks,
            self.shards,
            None,
            reads=self._reads(),
            inner_bytes=codecspec.chunk_bytes(self.codec, self.dtype),
            rows_bytes=shares.rows,
            shard_bytes=shares.shard,
        )

    def node(self, where: layout.Layout) -> Node:
        """Return the array's metadata document for a layout."""
        kind = data_type(self.dtype)
        codecs = codecspec.resolve(self.codec, kind, self.dtype, where.chunk, self.portable)
        codecspec.fit(codecs, kind, self.dtype, self.path, len(self.shape))
        ours = adaptive_codec.wish(self.goal, self.portable) if self.codec == "auto" else {}
        if self.grows and (self.portable or self.shards is not None):
            ours["growth"] = layout.REGULAR
        fill = fill_json(self.fill_value, self.dtype)
        attrs = encoded(storable(self.attrs, self.path), self.dtype)
        document = layout.document(self.shape, kind, fill, where, codecs, self.dims, attrs, ours)
        return Node(self.path, True, document)

    def replanning(self, plan: Callable[[int | None], layout.Layout]) -> ShardReplan | None:
        """Return a planner that adapts shards to the commits, for growing arrays without given shards."""
        return ShardReplan(plan) if self.grows and self.shards is None else None

    def _reads(self) -> list[Query]:
        patterns = parse(self.access)
        names = self.dims if self.dims is not None else [None] * len(self.shape)
        check(patterns, [(self.path, self.shape, names)])
        return queries(patterns, self.shape, names)


def _lengths(path: str, shape: Any) -> tuple[int, ...]:
    lengths = tuple(shape) if isinstance(shape, Iterable) else None
    if lengths is None or not all(map(is_int, lengths)):
        message = f"{path}: shape must be a sequence of integers (got {shape!r})"
        raise errors.make("invalid", message, "give a length for each axis: (0, 138)")
    return tuple(map(int, lengths))


def _dtype(given: Any, path: str) -> np.dtype[Any]:
    try:
        found = np.dtype(given)
        # NumPy's string dtype without a length, also as "str" and "U": no array has strings of length 0
        return np.dtype("O") if found.kind == "U" and not found.itemsize else found
    except (TypeError, ValueError) as error:
        hint = "use a NumPy dtype: 'f4', 'int16', 'datetime64[s]', …, or str for strings"
        message = f"{path}: dtype {given!r:.60} is not valid: {error}"
        raise errors.make("dtype", message, hint) from None


# Division of a writer's memory between waiting rows, the encoders' queue and copies.

#: default memory in bytes: enough for the largest shards that are planned
_DEFAULT = 1 << 30
#: largest block in bytes that is read, patched or copied at once
_BLOCK = 64 << 20


class MemoryShares:
    """Shares of a writer's memory, in bytes.

    A quarter is for rows that wait until their shard is full, and a quarter for the encoders' queue. Encoded
    data may use as much as the queue. The rest is for copies.
    """

    def __init__(self, memory: int | str | None) -> None:
        total = text.parse_size(memory) if memory is not None else _DEFAULT
        if total < 1:
            raise errors.make("invalid", f"a writer needs memory (got {memory!r})", "memory='256MiB'")
        #: bytes for rows that wait until their shards are full
        self.rows = total // 4
        #: bytes for data in the encoders' queue
        self.queue = total // 4
        #: largest shard in bytes
        self.shard = total // 8
        #: bytes for data that is read, patched or copied at once; a single shard may be larger
        self.box = min(_BLOCK, total // 8)

    def tail(self, arrays: int) -> int:
        """Return the bytes for the waiting rows of one of ``arrays`` arrays."""
        return self.rows // max(arrays, 1)


# Plan the chunks of a small growing array again when its writer ends: they were planned for a large one.

#: size in bytes below which an array gets chunks for its own size, not for a large array
_LITTLE = 16 << 10


class ShardReplan:
    """Planner for a growing array that may stay small."""

    def __init__(self, plan: Callable[[int | None], Layout]) -> None:
        """Set up the planner; ``plan`` maps the rows per commit to a layout."""
        self._plan = plan

    def shorter(self, tail: Tail, unit: int) -> Layout | None:
        """Return a layout with shorter shards than ``unit`` rows for a small array, or None."""
        if not tail.holds_all or tail.nbytes > _LITTLE:
            return None
        where = self._plan(max(tail.stop, 1))
        return where if 2 * where.unit[0] <= unit else None
