"""Plan the shards of a growing array again when the number of rows per commit is known."""

from __future__ import annotations

from collections.abc import Callable

from icecore.layout.layout import Layout
from icecore.writing.append_buffer import Tail

#: size in bytes below which an array gets chunks for its own size, not for a large array
_LITTLE = 16 << 10


class ShardReplan:
    """Planner for the shards of a growing array. A commit writes the incomplete shard again, so frequent
    commits need short shards: with one row per commit, a shard is written once for each of its rows. The
    frequency is known only after some commits.
    """

    def __init__(self, plan: Callable[[int | None], Layout]) -> None:
        """Set up the planner; ``plan`` maps the rows per commit to a layout."""
        self._plan = plan
        self._commits = 0

    def shorter(self, tail: Tail, unit: int, is_last: bool) -> Layout | None:
        """Return a layout with shorter shards than ``unit`` rows before a commit, or None. Before the last
        commit (``is_last``) only small arrays change.
        """
        if not tail.holds_all or (is_last and tail.nbytes > _LITTLE):
            return None
        self._commits += 1
        where = self._plan(max(tail.stop // self._commits, 1))
        return where if 2 * where.unit[0] <= unit else None

    def longer(self, tail: Tail, unit: int) -> Layout | None:
        """Return a layout with longer shards once the first shard is full, or None."""
        if not tail.holds_all:
            return None
        where = self._plan(max(tail.fresh, 1))
        return where if where.unit[0] >= 2 * unit else None
