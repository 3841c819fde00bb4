"""Which versions an expiration keeps, and the report of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from icecore import errors
from icecore.display import text
from icecore.repository.results import Commit, _Value
from icecore.repository.selection import is_int


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
