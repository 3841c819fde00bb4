"""The codecs of an array in the making: measured on what is written first, looked at again as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from icecore.analyzer.choose_codec import plan
from icecore.analyzer.drift_monitor import Watch, choice, goal_of, is_choice
from icecore.analyzer.measure import Goal
from icecore.analyzer.sample import Kind, Reader
from icecore.codecs.spec import Codec
from icecore.layout import layout
from icecore.repository import zarr_dtypes
from icecore.repository.nodes import Node

#: how much more of the first shard must come before codecs chosen on part of it are chosen anew
_MORE = 4


class Adapting:
    """Chooses for one array what its chunks are encoded with.

    The choice is made on the first thing that is written, and made again while everything that is stored is
    about to be written again anyway, as the first shard of a growing array is. An array that grows gets a
    list (``icecore.choice``), of one codec at first: others join it where what comes later wants them.
    """

    def __init__(self, node: Node, dtype: np.dtype[Any], goal: Goal, portable: bool, new: bool) -> None:
        """``new``: nothing was written yet."""
        document = node.document
        self._kind = Kind(document["data_type"], dtype, document.get("fill_value"))
        self._chunk = node.grid[0] or ()
        self._goal, self._portable = goal, portable
        self._grows = bool(node.shape) and node.shape[0] == 0 and not portable and dtype.kind not in "OT"
        self._decided = 0 if new else None
        self._written = 0
        self._watch: Watch | None = None
        if not new:
            self._look_from(node.codecs)

    @classmethod
    def of(cls, node: Node, dtype: np.dtype[Any], stored: Callable[[], int]) -> Adapting | None:
        """What an array asks for: codecs for its first data, or more of them in its list; None if nothing.

        Args:
            stored: gives the bytes that it has already: others may have written them without a look at what
                it asks for, and other codecs couldn't read them.
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
        """The array has other chunks now."""
        self._chunk = node.grid[0] or ()
        if self._watch is not None:
            self._look_from(node.codecs)

    def settled(self) -> None:
        """From now on the codecs stay what they are, but for a list that may grow: something is stored that
        the next write may leave as it is, unless nothing was written yet.
        """
        if self._decided != 0:
            self._decided = None

    def before(
        self, shape: Sequence[int], read: Reader, whole: bool
    ) -> tuple[list[Codec], dict[str, Any]] | None:
        """Other codecs for the array (none: as they are), and what to keep about them, where the box that is
        about to be written asks for it.

        Args:
            shape: of the box.
            read: gives parts of it.
            whole: whether it is all of the array.
        """
        nbytes = prod(shape) * zarr_dtypes.itemsize(self._kind.dtype)
        if self._decided == 0 or (self._decided and whole and nbytes >= _MORE * self._decided):
            return self._decide(shape, read, nbytes)
        if not whole:
            self.settled()
        found = self._watch.look(shape, read, self._written) if self._watch is not None else None
        self._written = nbytes if whole else self._written + nbytes
        return None if found is None else (found.codecs or [], {"drift": found.note})

    def _decide(self, shape: Sequence[int], read: Reader, nbytes: int) -> tuple[list[Codec], dict[str, Any]]:
        began = time.perf_counter()
        planned = plan(self._kind, shape, self._chunk, read, self._goal, self._portable)
        found = planned.codecs
        if self._grows and planned.record and not is_choice(found):
            found = choice([found])
        self._decided = self._written = nbytes
        if planned.record:
            self._look_from(found, time.perf_counter() - began)
        return found, planned.record

    def _look_from(self, found: list[Codec], spent: float = 0.0) -> None:
        # Without a list there is no other codec to switch to, and a writer can't use a note.
        watch = Watch(self._kind, self._chunk, found, self._goal, spent=spent)
        self._watch = watch if is_choice(found) else None


def wish(goal: Goal, portable: bool) -> dict[str, Any]:
    """What an array keeps until its first data are there."""
    return {layout.WISH: {"goal": goal.name, "bandwidth": goal.bandwidth, "portable": portable}}
