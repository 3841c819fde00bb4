"""State of an open writer: its arrays, its commits, and its ``with`` block."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsFloat

from icecore import errors
from icecore.display import text
from icecore.repository import address
from icecore.repository.nodes import SUMMARY
from icecore.repository.selection import is_int
from icecore.repository.typed_attributes import dump
from icecore.repository.upper_rooms import provider
from icecore.writing.array_writer import ArrayWriter
from icecore.writing.new_array import MemoryShares, NewArray
from icecore.writing.open_array import Repairs
from icecore.writing.synchronized import in_turn

#: largest size of rows of an array that a writer merges after its last commit (bytes)
_COMPACTED = 64 << 20

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.repo import Repo


#: largest size of old rows that are read together (bytes)
_TOGETHER = 64 << 20


class OpenWriter:
    """Part of :class:`icecore.Writer` that users don't call."""

    def __init__(
        self,
        repo: Repo,
        message: str,
        branch: str,
        memory: int | str | None = None,
        commit_every: int | None = None,
        commit_seconds: float | None = None,
        compact: str | None = None,
    ) -> None:
        if compact not in (None, "auto"):
            raise errors.make("invalid", f"compact must be 'auto' or None (got {compact!r})")
        self._compact = compact
        self._shares = MemoryShares(memory)
        self._repo = repo
        self.message = checked_message(message)
        self._turn = RLock()
        self._native = repo._native.writer(branch, self._shares.queue)
        self._arrays: dict[str, ArrayWriter] = {}
        #: array → first row that changed since its trends were written
        self._changed: dict[str, int] = {}
        self._rounds = Rounds(commit_every, commit_seconds)
        self._history = CommitHistory(repo, self._native)
        self._closed = False
        self._process = os.getpid()
        #: array whose change was interrupted
        self._torn: Repairs | None = None
        self.branch = branch
        self.snapshot_id: str | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{text.plural(len(self._arrays), 'array')} at hand"
        return f"<icecore.Writer {self._repo.url} {self.message!r}, {state}>"

    def __enter__(self) -> Self:
        self._open()
        return self

    @in_turn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed:
            return
        written = list(self._arrays)
        if kind is None:
            self._commit(is_last=True)
        self._close()
        if kind is None and self._compact is not None:
            self._merge_chunks(written)

    def _commit(self, message: str | None = None, is_last: bool = False) -> str:
        said = checked_message(message) if message is not None else self.message
        self._mend()
        for array in self._arrays.values() if is_last else ():
            array.shorten()
        self._finish()
        self._renew_trends()
        before = self._native.base()
        try:
            self.snapshot_id = self._native.commit(said)
        except KeyboardInterrupt:
            # Python raises KeyboardInterrupt after the commit, instead of returning its result.
            committed = self._native.base()
            if committed != before:
                self.snapshot_id = committed
                self._history.committed(before, self.snapshot_id)
            raise
        if not is_last:
            self._history.committed(before, self.snapshot_id)
        self._rounds.committed()
        return self.snapshot_id

    def _finish(self) -> None:
        """Write the rows that wait in all arrays. Old rows of their shards are read together:
        a request for each would make the commit as slow as the latency times the number of arrays.
        """
        left = list(reversed(self._arrays.values()))
        while left:
            group: list[ArrayWriter] = []
            size = 0
            while left and (not group or size + left[-1].border_bytes <= _TOGETHER):
                group.append(left.pop())
                size += group[-1].border_bytes
            borders = {array.path: border for array in group if (border := array.border) is not None}
            if len(borders) > 1:
                items = [(path, (slice(first, last),), None) for path, (first, last) in borders.items()]
                found = self._pending().read_many(items, False, None)
                for path, old in zip(borders, found, strict=True):
                    self._arrays[path].old_rows = old
            for array in group:
                array.finish()

    def _renew_trends(self) -> None:
        """Update stored trends of arrays that have changed."""
        changed = self._touched()
        if changed and self._native.exists(f"/{SUMMARY}"):
            provider("renew_trends")(self, changed)
            self._native.touched()  # the trends themselves
        self._changed = {}

    def _touched(self) -> dict[str, int]:
        """Return array → first changed row; the caller may remove arrays whose trends it has written."""
        for path, row in self._native.touched().items():
            self._changed[path] = min(row, self._changed.get(path, row))
        return self._changed

    def _close(self) -> None:
        self._closed = True
        self._torn = None
        self._arrays.clear()

    def _merge_chunks(self, paths: list[str]) -> None:
        """Merge short chunks after the last commit. If another writer is faster, they stay."""
        for path in paths:
            try:
                done = provider("compact")(self._repo, path, timedelta(0), _COMPACTED, self.branch)
            except errors.Error as error:
                if error.kind not in ("conflict", "not-found"):
                    raise
            else:
                self.snapshot_id = done.snapshot_id or self.snapshot_id

    def _base(self) -> Repo:
        """Return the base version of the changes."""
        base = self._native.base()
        return self._repo if base == self._repo.snapshot_id else self._repo.at(base)

    def _create(self, new: NewArray) -> ArrayWriter:
        plan = new.planner(self._shares)
        node = new.node(plan(None))
        self._parents(new.path)
        self._native.add_array(new.path, node.zarr_json)
        replan = new.replanning(plan)
        self._arrays[new.path] = ArrayWriter(self, node, new.dtype, replan, new=True)
        if new.grows:
            self._rounds.joins(new.path)
        return self._arrays[new.path]

    def _set_attrs(self, path: str, attrs: Mapping[str, Any]) -> None:
        try:
            self._native.set_attrs(path, dump(attrs))
        except errors.Error as error:
            # The root exists as the parent of other nodes, even without a document of its own.
            if path != "/" or error.kind != "not-found":
                raise
            self._native.add_group(path, dump(attrs))

    def _delete(self, path: str) -> None:
        for known in [known for known in self._arrays if known == path or known.startswith(path + "/")]:
            self._arrays.pop(known).is_deleted = True
            self._rounds.leaves(known)
        self._native.delete(path)
        self._history.deletes()
        summary = f"/{SUMMARY}{path}"
        if self._native.exists(summary):
            self._native.delete(summary)

    def _append_begins(self, path: str) -> None:
        self._open()
        if self._rounds.begins(path):
            self._commit()

    def _append_ends(self, path: str) -> None:
        if self._rounds.ends(path):
            self._commit()

    def _open(self) -> None:
        if self._closed:
            raise errors.make("invalid", "this writer is closed", "open another one: repo.writer()")
        if os.getpid() != self._process:
            self._native.base()  # raises an error in a forked process, whose rows would never be committed

    def __reduce__(self) -> NoReturn:
        raise errors.make(
            "unsupported",
            "a writer can't be copied or sent to another process",
            "open one there: repo.writer(); or let other processes compute and write their results here",
        )

    def _path(self, path: str) -> str:
        self._open()
        self._mend()
        return address.absolute(path)

    def _mend(self) -> None:
        if self._torn is not None:
            self._torn.mend()

    def _parents(self, path: str) -> None:
        parts = path.split("/")[1:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/" + "/".join(parts[:depth])
            if not self._native.exists(parent):
                self._native.add_group(parent, "{}")

    def _pending(self) -> _icecore.Repo:
        return self._repo._native.pending(self._native)

    def _view(self) -> Repo:
        """Return the version to be committed, including uncommitted data."""
        return self._repo._over(self._pending())


def checked_message(message: Any) -> str:
    """Return a commit message, checked before anything is written."""
    if not isinstance(message, str) or any("\ud800" <= letter <= "\udfff" for letter in message):
        raise errors.make(
            "invalid",
            f"the commit message must be a string of valid Unicode (got {message!a:.60})",
            "message='spin-up'",
        )
    return message


# Automatic commits: after a number of appends or seconds, and only between rounds.


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


# Commits of a writer, and whether other writers committed in between.


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
