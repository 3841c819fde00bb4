"""When a writer commits by itself: after so many appends or seconds, and never in the middle of a round."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import SupportsFloat

from icecore import errors
from icecore.repository.selection import is_int


class Rounds:
    """Counts the appends to each growing array since the last commit.

    A simulation appends to several arrays in turn; a version in which some of them are a step ahead of the
    others would be of no use. So a commit is due when all of them had equally many appends, or, where
    some get fewer, before the first of them begins another round. Which arrays that were there before take
    part shows in a round: until one is over no commit is due at its end.
    """

    def __init__(
        self, every: int | None, seconds: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if every is not None and not (is_int(every) and every >= 1):
            raise errors.make("invalid", f"a commit every {every!r} appends", "a whole number, 1 or more")
        if seconds is not None and not (isinstance(seconds, SupportsFloat) and float(seconds) >= 0):
            raise errors.make("invalid", f"a commit every {seconds!r} seconds", "a number, 0 or more")
        self._every, self._seconds, self._clock = every, seconds, clock
        self._counts: dict[str, int] = {}
        self._first: str | None = None
        self._known = True
        self._began = clock()

    def joins(self, path: str) -> None:
        """An array that will be appended to."""
        self._counts.setdefault(path, 0)

    def opens(self) -> None:
        """An array that was there before: it joins when it is appended to, if it ever is."""
        self._known = False

    def leaves(self, path: str) -> None:
        """An array is gone."""
        self._counts.pop(path, None)

    def begins(self, path: str) -> bool:
        """Whether to commit before this append."""
        if path != self._first:
            return False
        self._known = True
        return self._due(self._counts.get(path, 0))

    def ends(self, path: str) -> bool:
        """Count this append; whether to commit after it."""
        if self._every is None and self._seconds is None:
            return False
        self._counts[path] = self._counts.get(path, 0) + 1
        self._first = self._first or path
        fewest = min(self._counts.values())
        return self._known and fewest == max(self._counts.values()) and self._due(fewest)

    def committed(self) -> None:
        """Reset the counts after a commit."""
        self._counts = dict.fromkeys(self._counts, 0)
        self._first = None
        self._began = self._clock()

    def _due(self, appends: int) -> bool:
        if appends < 1:
            return False
        enough = self._every is not None and appends >= self._every
        return enough or (self._seconds is not None and self._clock() - self._began >= self._seconds)
