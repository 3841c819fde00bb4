"""Codec choice for a growing array: measured on the first write, checked again as the array grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from icecore.analyzer.choose_codec import Subject, plan
from icecore.analyzer.drift_monitor import Watch, choice, goal_of, is_choice
from icecore.analyzer.measure import Goal
from icecore.analyzer.sample import Kind, Reader
from icecore.codecs.spec import Codec
from icecore.layout import layout
from icecore.repository import zarr_dtypes
from icecore.repository.nodes import Node

#: codecs chosen on a part of the first shard are chosen again when it has grown by this factor
_MORE = 4
#: writers measure a growing array once for so many chunks, so that measuring costs a small part of encoding
_EVERY = 32
#: key of the record: consecutive times that another codec was better
_BEHIND = "behind"


class Adapting:
    """Chooses the codecs of an array's chunks.

    The codecs are chosen on the first write. They are chosen again when a later write replaces everything
    that is stored, as in the first shard of a growing array. A growing array gets an ``icecore.choice`` codec
    whose list has one codec at first. Codecs that suit later data better are added to the list.
    """

    def __init__(self, node: Node, dtype: np.dtype[Any], goal: Goal, portable: bool, new: bool) -> None:
        """Set up the choice; ``new`` means that nothing has been written yet."""
        document = node.document
        self._kind = Kind(document["data_type"], dtype, document.get("fill_value"))
        self._chunk = _chunk(node)
        self._goal, self._portable = goal, portable
        self._grows = bool(node.shape) and node.shape[0] == 0 and not portable and dtype.kind not in "OT"
        self._decided = 0 if new else None
        self._written = 0
        self._watch: Watch | None = None
        #: bytes of the array, and whether another codec was better when it was measured last
        self._size, self._behind = prod(node.shape) * zarr_dtypes.itemsize(dtype), 0
        #: whether measuring waits for enough bytes
        self._waits = not new
        if not new:
            self._behind = _count(node.ours.get("codec", {}).get(_BEHIND))
            self._look_from(node.codecs)

    @classmethod
    def of(cls, node: Node, dtype: np.dtype[Any], stored: Callable[[], int]) -> Adapting | None:
        """Return the codec chooser of an array, or None if its attributes request none.

        Args:
            stored: returns the number of bytes that the array already stores. If there are any, another
                writer encoded them with the present codecs, which must not change then.
        """
        wished = node.ours.get(layout.WISH) or {}
        goal = None if wished and stored() else goal_of(wished)
        if goal is not None:
            return cls(node, dtype, goal, wished.get("portable") is True, new=True)
        goal = goal_of(node.ours.get("codec"))
        if goal is not None and is_choice(node.codecs):
            return cls(node, dtype, goal, portable=False, new=False)
        return None

    def regridded(self, node: Node) -> None:
        """Adopt the new chunk shape of the array."""
        self._chunk = _chunk(node)
        if self._watch is not None:
            self._look_from(node.codecs)

    def settled(self) -> None:
        """Fix the codecs, because the next write may leave stored chunks unchanged. The list of an
        ``icecore.choice`` codec may still grow. No effect if nothing has been written yet.
        """
        if self._decided != 0:
            self._decided = None

    def before(
        self, shape: Sequence[int], read: Reader, whole: bool
    ) -> tuple[list[Codec], dict[str, Any]] | None:
        """Return new codecs for the array and the record to keep about them, or None if the codecs stay.

        With an empty list of codecs, only the record changes. Call this before each write.

        Args:
            shape: shape of the box to write.
            read: returns the elements of a region of the box.
            whole: whether the box covers the whole array.
        """
        nbytes = prod(shape) * zarr_dtypes.itemsize(self._kind.dtype)
        if self._decided == 0 or (self._decided and whole and nbytes >= _MORE * self._decided):
            return self._decide(shape, read, nbytes)
        if not whole:
            self.settled()
        found = self._looked(shape, read, nbytes)
        self._written = nbytes if whole else self._written + nbytes
        return found

    def _looked(
        self, shape: Sequence[int], read: Reader, nbytes: int
    ) -> tuple[list[Codec], dict[str, Any]] | None:
        """Measure, as far as the watch's share of time allows. The first time in a writer of a stored array,
        enough bytes must have been added since writers measured last: writers may be short-lived.
        """
        every = _EVERY * max(prod(self._chunk) * zarr_dtypes.itemsize(self._kind.dtype), 1)
        is_due = self._behind > 0 or self._size // every != (self._size + nbytes) // every
        self._size += nbytes
        if self._watch is None or (self._waits and not is_due):
            return None
        self._waits = False
        found = self._watch.look(shape, read, self._written)
        record: dict[str, Any] = {"drift": found.note} if found is not None else {}
        if self._watch.behind != self._behind:
            self._behind = self._watch.behind
            record[_BEHIND] = self._behind
        codecs = (found.codecs or []) if found is not None else []
        return (codecs, record) if record else None

    def _decide(self, shape: Sequence[int], read: Reader, nbytes: int) -> tuple[list[Codec], dict[str, Any]]:
        began = time.perf_counter()
        planned = plan(Subject(self._kind, shape, self._chunk, read, self._portable), self._goal)
        found = planned.codecs
        if self._grows and planned.record and not is_choice(found):
            found = choice([found])
        self._decided = self._written = nbytes
        if planned.record:
            self._look_from(found, time.perf_counter() - began)
        return found, planned.record

    def _look_from(self, found: list[Codec], spent: float = 0.0) -> None:
        # Without a list there is no other codec to switch to, and a writer can't use a note.
        watch = Watch(self._kind, self._chunk, found, self._goal, spent=spent, behind=self._behind)
        self._watch = watch if is_choice(found) else None


def wish(goal: Goal, portable: bool) -> dict[str, Any]:
    """Return the attributes that request a codec choice on the array's first write."""
    return {layout.WISH: {"goal": goal.name, "bandwidth": goal.bandwidth, "portable": portable}}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 100 else 0


def _chunk(node: Node) -> tuple[int, ...]:
    """Return the usual shape of a chunk."""
    return node.grid[0] or tuple(node.ours.get("grown", {}).get("chunk", ()))
