"""Version commands of a repository: log, diff, tags, branches, garbage collection, verification."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display import text
from icecore.display.progress_bar import reported
from icecore.repository import address
from icecore.repository.nodes import Node, hidden
from icecore.repository.results import ArrayChange, Commit, Diff, GcReport, Problem, _Value
from icecore.repository.selection import is_int

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.display.progress import ProgressCall
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo


#: default age below which objects are not deleted: a writer may still need them
SPARED = timedelta(days=1)


class Versions:
    """Methods of :class:`icecore.Repo` for versions: log, diff, tags, branches, verify, gc."""

    if TYPE_CHECKING:
        _native: _icecore.Repo

        @property
        def snapshot_id(self) -> str: ...
        @property
        def _nodes(self) -> dict[str, Node]: ...
        @property
        def arrays(self) -> dict[str, Array]: ...
        def at(self, ref: str) -> Repo: ...

    def log(self, limit: int | None = None) -> list[Commit]:
        """List the commits that led to this version, newest first.

        Args:
            limit: the largest number of commits to return; None for all.

        Raises:
            Error: ``invalid`` for a negative ``limit``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer(message="first") as w:
            ...     w.array("/a", "i4", (3,))[...] = [1, 2, 3]
            >>> [commit.message for commit in repo.at("main").log(1)]
            ['first']
        """
        if limit is not None and limit < 0:
            raise errors.make("invalid", f"a limit of {limit} commits", "give 0 or more")
        found = self._native.log(None if limit is None else min(limit, sys.maxsize))
        return [Commit.of(commit) for commit in found]

    def diff(self, a: str, b: str | None = None, values: bool = False) -> Diff:
        """Compare two versions.

        Args:
            a: the older version: a branch, tag, snapshot id, time or revision (``main~1``).
            b: the newer one; this version by default.
            values: also read the written chunks of both versions and count the elements that differ.

        Returns:
            New, deleted and updated (metadata) groups and arrays, changed shapes, and the written boxes of
            elements per array.

        Raises:
            Error: ``not-found``; with ``values`` also the errors of a read.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/a", "i4", (3,))[...] = [1, 2, 3]
            >>> first = repo.at("main")
            >>> with first.writer() as w:
            ...     w["/a"][0] = 7
            >>> repo.at("main").diff(first.snapshot_id, values=True).chunks["/a"].differ
            1
        """
        from icecore.repository.history.changes import differing

        a, b = address.version(a), self._version(b)
        found = self._native.diff(a, b)
        old, new = self.at(a), self.at(b)
        written = found.pop("chunks")
        names = {field: [path for path in paths if not hidden(path)] for field, paths in found.items()}
        names = _with_moved(names, old._nodes, new._nodes)
        chunks = {path: change for path, change in written.items() if not hidden(path)}
        if values:
            for path, change in chunks.items():
                change["differ"] = differing(old, new, path, change["boxes"])
        changes = {path: ArrayChange(**change) for path, change in chunks.items()}
        return Diff(**names, shapes=_shapes(old._nodes, new._nodes), chunks=changes)

    @property
    def branches(self) -> dict[str, str]:
        """branch → the snapshot at its tip."""
        return self._native.branches()

    @property
    def tags(self) -> dict[str, str]:
        """tag → its snapshot."""
        return self._native.tags()

    def _version(self, ref: str | None) -> str:
        return self.snapshot_id if ref is None else address.version(ref)

    def tag(self, name: str, ref: str | None = None) -> None:
        """Create a tag: a permanent name for a version.

        Args:
            name: the name of the tag.
            ref: a branch, tag, snapshot id, time or revision; this version by default.

        Raises:
            Error: ``exists`` if a branch or tag has that name, or a deleted tag had it; ``not-found`` for
                ``ref``; ``invalid`` if ``name`` is not a valid name or is a time; ``read-only``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> repo.at("main").tag("v1")
            >>> repo.at("v1")["/t2m"][0].item()
            1.0
        """
        self._native.create_tag(address.version(name, "a tag"), self._version(ref))

    def branch(self, name: str, ref: str | None = None) -> None:
        """Create a branch at a version.

        Args:
            name: the name of the branch.
            ref: a branch, tag, snapshot id, time or revision; this version by default.

        Raises:
            Error: ``exists`` if a branch or tag has that name; otherwise as :meth:`tag`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> repo.branch("experiment")
            >>> sorted(repo.at("main").branches)
            ['experiment', 'main']
        """
        self._native.create_branch(address.version(name, "a branch"), self._version(ref))

    def delete_tag(self, name: str) -> None:
        """Delete a tag. Its name can't be used again.

        Args:
            name: the name of the tag.

        Raises:
            Error: ``not-found``, ``read-only``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> repo.tag("draft")
            >>> repo.delete_tag("draft")
            >>> repo.at("main").tags
            {}
        """
        self._native.delete_tag(address.version(name, "a tag"))

    def delete_branch(self, name: str) -> None:
        """Delete a branch. The next :meth:`gc` deletes the snapshots that belong only to this branch.

        Args:
            name: the name of the branch.

        Raises:
            Error: ``not-found``, ``read-only``; ``invalid`` for ``main``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> repo.branch("experiment")
            >>> repo.delete_branch("experiment")
            >>> list(repo.at("main").branches)
            ['main']
        """
        self._native.delete_branch(address.version(name, "a branch"))

    def expire(
        self, keep_last: int | None = None, keep_daily: int | None = None, dry_run: bool = False
    ) -> ExpireReport:
        """Take old versions out of the histories of all branches, so that :meth:`gc` can free their objects.

        A version stays if any rule keeps it. The tips of branches, versions with tags and the first version
        always stay. The differences between the remaining versions, and the conflicts of open writers, stay
        complete. ``gc`` keeps the objects of a released version for an hour, for programs that read it.

        Args:
            keep_last: number of newest versions of each branch to keep.
            keep_daily: number of newest days (UTC) with commits; the last version of each day is kept.
            dry_run: only report.

        Returns:
            The released versions, and the size of the objects that only these need.

        Raises:
            Error: ``invalid`` without a rule, or for a negative number; ``conflict`` if another process
                holds the repository's lock; ``permission``, ``io``, ``network``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> for step in range(3):
            ...     with repo.writer() as w:
            ...         w.group(f"/step{step}")
            >>> len(repo.expire(keep_last=1).released)
            2
        """
        keep = self._kept(keep_last, keep_daily)
        alone, released, nbytes = self._native.held(keep)
        if not dry_run:
            released = self._native.expire(keep)
        return ExpireReport(released, len(alone) - len(released), nbytes, dry_run)

    def held(self, keep_last: int | None = 30, keep_daily: int | None = 90) -> HeldBytes:
        """Return the bytes that each version alone holds, and those that :meth:`expire` would free.

        All references of all versions are read, and the objects are listed.

        Args:
            keep_last, keep_daily: as for :meth:`expire`.

        Raises:
            Error: as for :meth:`expire`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> repo.held().freed
            0
        """
        alone, expiring, freed = self._native.held(self._kept(keep_last, keep_daily))
        return HeldBytes(dict(alone), expiring, freed)

    def _kept(self, last: int | None, daily: int | None) -> list[str]:
        histories = [self.at(branch).log() for branch in self.branches]
        return sorted(kept(histories, last, daily))

    def gc(self, older_than: datetime | timedelta | None = None, dry_run: bool = False) -> GcReport:
        """Delete objects that no version refers to, and old copies of the root object.

        The root object lists all versions. Each commit copies it; garbage collection keeps the newest copy.
        After that, Icechunk's own list of operations (not the log) has at most a thousand entries.

        Args:
            older_than: a time or an age. Objects younger than that are not deleted, because a writer may
                still need them. One day by default.
            dry_run: only count the objects that would be deleted.

        Returns:
            The number and size of the deleted objects.

        Raises:
            Error: ``invalid`` for a time without a time zone; ``permission``, ``io``, ``network``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> repo.gc(dry_run=True).objects
            0
        """
        limit = _limit(SPARED if older_than is None else older_than)
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        found = self._native.gc(max((limit - epoch) // timedelta(microseconds=1), 0), dry_run)
        return GcReport(**found, spared_after=limit)

    def verify(
        self,
        deep: bool = False,
        progress: bool | Callable[[int, int], None] | None = None,
        history: bool = False,
    ) -> list[Problem]:
        """Check this version's own files, every reference and every linked file.

        Args:
            deep: also decode every chunk, and check the checksums that linked frame files have themselves.
            progress: true for a bar in a terminal or notebook; or a function that is called with (finished
                checks, total checks).
            history: check the repository's own files of all versions; linked files of this version only.

        Returns:
            The problems; an empty list if there are none.

        Example:
            >>> import icecore
            >>> icecore.create("memory://").verify(deep=True)
            []
        """
        from icecore.repository.history.changes import frame_problems

        with reported(_named(progress), "verify", nbytes=False) as call:
            count = None if call is None else lambda done, total: call("verify", done, total)
            problems = [Problem(**found) for found in self._native.verify(deep, count, history)]
        if deep:
            problems += frame_problems(self.arrays)
        return problems


def _named(progress: bool | Callable[[int, int], None] | None) -> bool | ProgressCall | None:
    return (lambda _, done, total: progress(done, total)) if callable(progress) else progress


def _limit(older_than: datetime | timedelta) -> datetime:
    if isinstance(older_than, timedelta):
        return datetime.now(UTC) - older_than
    if not isinstance(older_than, datetime) or older_than.tzinfo is None:
        raise errors.make(
            "invalid",
            f"older_than must be a timedelta or a datetime with a time zone (got {older_than!r})",
            "for example older_than=datetime.timedelta(days=7)",
        )
    return older_than


def _with_moved(
    names: dict[str, list[str]], old: dict[str, Node], new: dict[str, Node]
) -> dict[str, list[str]]:
    """Add moved nodes, which the engine's record of changes lists neither as new nor as deleted."""
    for change, here, there in (("new", new, old), ("deleted", old, new)):
        for node in here.values():
            if node.path not in there and node.path != "/" and not hidden(node.path):
                kind = "arrays" if node.is_array else "groups"
                if node.path not in names[f"{change}_{kind}"]:
                    names[f"{change}_{kind}"] = sorted([*names[f"{change}_{kind}"], node.path])
    return names


def _shapes(old: dict[str, Node], new: dict[str, Node]) -> dict[str, Any]:
    """Return array → (older shape, newer shape) for arrays that were resized."""
    found = {}
    for path, node in new.items():
        before = old.get(path)
        both = before is not None and before.is_array and node.is_array and not hidden(path)
        if both and before is not None and before.zarr_json != node.zarr_json and before.shape != node.shape:
            found[path] = (before.shape, node.shape)
    return found


# Which versions an expiration keeps, and the report of one.


@dataclass(frozen=True)
class ExpireReport(_Value):
    """Result of :meth:`icecore.Repo.expire`.

    Attributes:
        released: ids of the versions that left the histories, or would leave them.
        kept: number of versions that stay.
        bytes: size of the objects that only released versions need; ``gc`` deletes them after an hour.
        dry_run: true if nothing was changed.
    """

    released: list[str]
    kept: int
    bytes: int
    dry_run: bool

    def __str__(self) -> str:
        verb = "would expire" if self.dry_run else "expired"
        what = f"{verb} {text.plural(len(self.released), 'version')}, kept {self.kept:,}"
        freed = f"; gc frees {text.size(self.bytes)} an hour after that"
        return what + (freed if self.released else "")


@dataclass(frozen=True)
class HeldBytes(_Value):
    """Bytes that versions hold.

    Attributes:
        alone: version → size of the objects that no other version needs; the newest version first.
        expiring: ids of the versions that :meth:`icecore.Repo.expire` would release.
        freed: size of the objects that only those need.
    """

    alone: dict[str, int]
    expiring: list[str]
    freed: int


def kept(histories: Iterable[list[Commit]], last: int | None, daily: int | None) -> set[str]:
    """Return the ids of the versions to keep, of several histories.

    Args:
        histories: the commits of each branch, newest first.
        last: number of newest versions of each branch.
        daily: number of newest days (UTC) with commits; the last version of each day is kept.

    Raises:
        Error: ``invalid`` if neither is given, or for a negative number.
    """
    for name, count in (("keep_last", last), ("keep_daily", daily)):
        if count is not None and not (is_int(count) and count >= 0):
            raise errors.make("invalid", f"{name} must be a whole number, 0 or more (got {count!r})")
    if last is None and daily is None:
        raise errors.make(
            "invalid", "expire needs to know what to keep", "for example keep_last=30, keep_daily=90"
        )
    found: set[str] = set()
    for commits in histories:
        found.update(commit.id for commit in commits[: last or 0])
        days: dict[Any, str] = {}
        for commit in commits:
            days.setdefault(commit.time.date(), commit.id)
        found.update(list(days.values())[: daily or 0])
    return found
