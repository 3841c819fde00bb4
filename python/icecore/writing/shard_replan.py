"""Shards that suit the commits: planned again while all that an array holds is in its first one."""

from __future__ import annotations

from collections.abc import Callable

from icecore.layout.layout import Layout
from icecore.writing.append_buffer import Tail

#: bytes of an array whose chunks, were they planned for a big one, would hold next to nothing
_LITTLE = 16 << 10


class Suiting:
    """A commit writes the shard again that isn't full yet, so where commits come often shards are to be
    short; how often they come shows only when they do. With a row a commit, a shard would be written once for
    each row that it holds.
    """

    def __init__(self, plan: Callable[[int | None], Layout]) -> None:
        """``plan``: the layout for so many rows a commit."""
        self._plan = plan
        self._commits = 0

    def shorter(self, tail: Tail, unit: int, is_last: bool) -> Layout | None:
        """Before a commit: the layout to change to from shards of ``unit`` rows. ``is_last``: no other will
        follow that shows how often they come; only little data then isn't kept in chunks that are empty but
        for it.
        """
        if not tail.holds_all or (is_last and tail.nbytes > _LITTLE):
            return None
        self._commits += 1
        where = self._plan(max(tail.stop // self._commits, 1))
        return where if 2 * where.unit[0] <= unit else None

    def longer(self, tail: Tail, unit: int) -> Layout | None:
        """The same when the first shard is full: more came without a commit than it was planned for."""
        if not tail.holds_all:
            return None
        where = self._plan(max(tail.fresh, 1))
        return where if where.unit[0] >= 2 * unit else None
