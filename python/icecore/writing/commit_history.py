"""Commits of a writer, and whether other writers committed in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icecore import errors

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.repo import Repo


class CommitHistory:
    """Counts the commits of a writer and detects those of others.

    An array that was used before a commit needs to be looked up again only if others may have changed it.
    """

    def __init__(self, repo: Repo, native: _icecore.Writer) -> None:
        self._repo, self._native = repo, native
        #: number of commits of this writer
        self.count = 0
        #: value of ``count`` when commits of others were last detected
        self._met = 0
        #: id of the version that was committed last
        self._known = native.base()
        self._stored, self._deleted = 0, False

    def deletes(self) -> None:
        """Record a deletion: the next commit has changes even if it stores no bytes."""
        self._deleted = True

    def committed(self, before: str, snapshot: str) -> None:
        """Record the commit ``snapshot`` of changes to version ``before``; detect commits of others."""
        if before != self._known:  # arrays used since the last commit have seen the others' changes
            self._met = self.count
        self.count += 1
        # A commit without own changes returns the id of another writer's commit.
        is_ours = self._native.bytes_stored > self._stored and not self._deleted
        self._stored, self._deleted = self._native.bytes_stored, False
        self._known = snapshot
        if self._known == before or (is_ours and self._parent() == before):
            return
        self._met = self.count

    def met_others(self, seen: int) -> bool:
        """Return whether arrays may have changed since this writer's commit number ``seen``."""
        return seen < self._met or self._native.base() != self._known

    def _parent(self) -> str | None:
        """Return the parent of the version that was committed last; None if it can't be read now."""
        try:
            return self._repo.at(self._known).log(1)[0].parent
        except errors.Error:
            return None
