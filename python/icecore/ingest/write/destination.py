"""The repository that ``link`` and ``pack`` write to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from icecore import errors
from icecore.ingest.plan.assembly import Assembly
from icecore.ingest.plan.resolve_sources import Source
from icecore.ingest.plan.shared_arrays import replaced_columns
from icecore.redaction import redact, unsigned
from icecore.repository import address
from icecore.repository.open import create, open
from icecore.repository.repo import Repo
from icecore.sources.failure import Failure
from icecore.writing.writer import Writer


def destination(
    into: Repo | str | os.PathLike[str], storage: Mapping[str, Any] | None, durability: str | None = None
) -> Repo | None:
    """Return the repository, or None if it does not exist yet."""
    if isinstance(into, Repo):
        return into
    place, ref = address.repository(into)
    try:
        return open(f"{place}@{ref}" if ref else place, storage=storage, durability=durability)
    except FileNotFoundError:
        if ref is not None:
            raise
        return None


@dataclass(frozen=True)
class Target:
    """The repository to write to.

    Attributes:
        into: a repository or its address.
        base: the version that the plan is made for; None if there is no repository yet.
        writer: writer on ``base``; None if the repository is not created yet, or for a dry run.
        storage: credentials of the object store.
        message: the commit message.
        memory: bytes that the writer may hold.
        durability: of the commits; None: as the repository was opened.
    """

    into: Repo | str | os.PathLike[str]
    base: Repo | None = None
    writer: Writer | None = None
    storage: Mapping[str, Any] | None = None
    message: str = ""
    memory: int | None = None
    durability: str | None = None


def open_target(
    into: Repo | str | os.PathLike[str],
    storage: Mapping[str, Any] | None,
    message: str,
    memory: int | None = None,
    dry_run: bool = False,
    durability: str | None = None,
) -> Target:
    """Open the repository, and a writer on it unless this is a ``dry_run``.

    The plan is made for the version that the writer is based on, even if ``into`` is older. A later commit
    by another process to the same arrays is a conflict.
    """
    repo = destination(into, storage, durability)
    if repo is None or dry_run:
        return Target(into, repo, None, storage, message, memory, durability)
    writer = repo.writer(message, memory=memory, durability=durability if repo is into else None)
    return Target(into, writer.base(), writer, storage, message, memory, durability)


@contextmanager
def writing(target: Target) -> Iterator[Writer]:
    """Yield the target's writer, or the writer of a new repository, and commit at the end of the block.

    An error before the first commit of a new repository removes that repository.

    Raises:
        Error: ``conflict`` if another process created the repository after :func:`open_target` and it
            already contains the arrays to write.
        KeyboardInterrupt: its message says whether anything was committed.
    """
    writer, made, is_ours = target.writer, None, False
    try:
        if writer is None:
            made, is_ours = _make(target)
            writer = made.writer(target.message, memory=target.memory)
        with writer:
            yield writer
    except BaseException as error:
        if made is not None and is_ours:
            _remove(made)
        elif made is not None and isinstance(error, errors.Error) and error.kind == "exists":
            message = f"someone else made {made.url} at the same time: {error.message}"
            raise errors.make("conflict", message, "try again, to meet what is there now") from None
        if isinstance(error, KeyboardInterrupt):
            raise _stopped(writer) from None
        raise


def _make(target: Target) -> tuple[Repo, bool]:
    """Create a repository, or open one that another process created meanwhile; return whether it is new."""
    into, storage, durability = target.into, target.storage, target.durability
    assert not isinstance(into, Repo)
    place, _ = address.split_ref(into)
    try:
        return create(place, storage=storage, durability=durability), True
    except errors.Error as error:
        found = destination(into, storage, durability) if error.kind == "exists" else None
        if found is None:
            raise
        return found, False


def _stopped(writer: Writer | None) -> KeyboardInterrupt:
    """Return an interrupt whose message says whether a version was committed (commits always finish)."""
    if writer is None or writer.snapshot_id is None:
        return KeyboardInterrupt("stopped: nothing was committed")
    return KeyboardInterrupt(f"stopped, but version {writer.snapshot_id} was committed before")


def _remove(made: Repo) -> None:
    """Remove a new repository unless another process committed to it or holds its lock."""
    with suppress(errors.Error):  # the first error is the one to report
        made._native.remove(only_if_bare=True)


def commit_message(verb: str, sources: Sequence[Source]) -> str:
    """Return a message such as ``pack a.nc, b.nc, c.nc and 4 more``."""
    names = [os.path.basename(redact(unsigned(source.name)).rstrip("/")) for source in sources]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"{verb} {shown}"


def write_groups(writer: Writer, assembly: Assembly, replace: bool) -> None:
    """Create the groups of the sources; attributes of existing groups change only if ``replace`` is true."""
    for path, attrs in sorted(assembly.groups.items()):
        if replace:
            _drop_columns(writer, path, attrs)
        blank_root = path == "/" and not writer.base().attrs
        changes = replace or blank_root or path in assembly.grown
        if not writer._native.exists(path) or (attrs and changes):
            writer.group(path, attrs)


def _drop_columns(writer: Writer, path: str, attrs: Mapping[str, Any]) -> None:
    """Delete columns of a replaced table that the new table does not have: their length would differ."""
    for column in replaced_columns(writer.base()._nodes, path, attrs):
        if writer._native.exists(column):
            writer.delete(column)


def source_notes(sources: Sequence[Source]) -> list[Failure]:
    """Notes on parts of the sources that are not stored exactly as they are."""
    return [
        Failure(f"{source.name}:{note.path}", note.kind, note.message)
        for source in sources
        for note in source.arrays.dropped
    ]
