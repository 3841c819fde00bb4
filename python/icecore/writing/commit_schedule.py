"""Automatic commits: after a number of appends or seconds, and only between rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import SupportsFloat

from icecore import errors
from icecore.repository.selection import is_int


class Rounds:
    """Counts the appends to each growing array since the last commit.

    A simulation appends to several arrays in turn. In a useful version all of them have the same number of
    steps. A commit is therefore due when all have the same number of appends. If some arrays get fewer
    appends, it is due before the first array begins another round. Existing arrays join when rows are
    appended to them. The first round shows which arrays join, so no commit is due at its end.
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
        """Add an array that will be appended to."""
        self._counts.setdefault(path, 0)

    def opens(self) -> None:
        """Record that an existing array was opened; it joins when rows are appended to it."""
        self._known = False

    def leaves(self, path: str) -> None:
        """Remove an array."""
        self._counts.pop(path, None)

    def begins(self, path: str) -> bool:
        """Return whether to commit before this append."""
        if path != self._first:
            return False
        self._known = True
        return self._due(self._counts.get(path, 0))

    def ends(self, path: str) -> bool:
        """Count this append, and return whether to commit after it."""
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
