"""Plan the chunks of a small growing array again when its writer ends: they were planned for a large one."""

from __future__ import annotations

from collections.abc import Callable

from icecore.layout.layout import Layout
from icecore.writing.append_buffer import Tail

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
