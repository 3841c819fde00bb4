"""The repository that ``link`` and ``pack`` write to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from icecore import errors
from icecore.ingest.placement import Assembly
from icecore.ingest.report import Report
from icecore.ingest.resolve_sources import Source
from icecore.repository import address
from icecore.repository.open import create, open
from icecore.repository.repo import Repo
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import DamagedSource
from icecore.writing.writer import Writer


def destination(into: Repo | str | os.PathLike[str], storage: Mapping[str, str] | None) -> Repo | None:
    """The repository, or None where there is none."""
    if isinstance(into, Repo):
        return into
    place, ref = address.repository(into)
    try:
        return open(f"{place}@{ref}" if ref else place, storage=storage)
    except FileNotFoundError:
        if ref is not None:
            raise
        return None


def begin(
    into: Repo | str | os.PathLike[str],
    storage: Mapping[str, str] | None,
    message: str,
    memory: int | None = None,
) -> tuple[Repo | None, Writer | None]:
    """A writer, and the version that it builds on: neither where there is no repository yet.

    What is planned for that version holds, however old ``into`` is: what others commit to the same arrays
    from now on is a conflict.
    """
    repo = destination(into, storage)
    if repo is None:
        return None, None
    writer = repo.writer(message, memory=memory)
    return writer.base(), writer


@contextmanager
def writing(
    writer: Writer | None,
    into: Repo | str | os.PathLike[str],
    storage: Mapping[str, str] | None,
    message: str,
    memory: int | None = None,
) -> Iterator[Writer]:
    """``writer``, which commits at the end; or else one of a new repository, of which nothing is left where
    an error comes before its first commit.

    Raises:
        Error: ``conflict`` where someone else made the repository since :func:`begin` saw none, and what is
            written is there already.
        KeyboardInterrupt: which says what became of what was written.
    """
    made, is_ours = None, False
    try:
        if writer is None:
            made, is_ours = _make(into, storage)
            writer = made.writer(message, memory=memory)
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


def _make(into: Repo | str | os.PathLike[str], storage: Mapping[str, str] | None) -> tuple[Repo, bool]:
    """A new repository, or the one that someone made meanwhile; and whether it is new."""
    assert not isinstance(into, Repo)
    place, _ = address.split_ref(into)
    try:
        return create(place, storage=storage), True
    except errors.Error as error:
        found = destination(into, storage) if error.kind == "exists" else None
        if found is None:
            raise
        return found, False


def _stopped(writer: Writer | None) -> KeyboardInterrupt:
    """What became of what was written: a commit that has begun goes on to its end."""
    if writer is None or writer.snapshot_id is None:
        return KeyboardInterrupt("stopped: nothing was committed")
    return KeyboardInterrupt(f"stopped, but version {writer.snapshot_id} was committed before")


def _remove(made: Repo) -> None:
    """Unless others committed to it meanwhile, or keep it locked."""
    with suppress(errors.Error):  # the error that led here is the one to tell about
        made._native.remove(only_if_bare=True)


def without_damaged(
    attempt: Callable[[list[Source], list[Failure]], Report],
    sources: list[Source],
    failures: list[Failure],
    keep_going: bool,
) -> Report:
    """What ``attempt`` makes of sources; with ``keep_going`` again without those that are found to be damaged
    while they are joined to others: rows of all its arrays, or of none.
    """
    while True:
        try:
            return attempt(sources, failures)
        except DamagedSource as error:
            damaged = {each.source: each for each in (error, *error.others)}
            rest = [source for source in sources if not damaged.keys() & _places(source)]
            if not keep_going or len(rest) == len(sources):
                raise (errors.or_rest(error) if rest and not keep_going else error) from error
            sources, failures = rest, [*failures, *(Failure.of(name, each) for name, each in damaged.items())]


def _places(source: Source) -> set[str]:
    """What a source is called in errors: of an archive's members each has its own name."""
    return {source.name, *(table.place for table in source.arrays.tables.values())}


def may_commit(report: Report, anything: bool, keep_going: bool) -> bool:
    """Whether to commit.

    Raises:
        Error: the first failure, naming the others, where a failure forbids it or nothing is left to do.
    """
    if report.failures and (not keep_going or not anything):
        first = report.failures[0]
        rest = [item for item in report.failures[1:] if item.message != first.message]
        more = "".join(f"\n  also {about(item)}" for item in rest[:4])
        more += f"\n  and {len(rest) - 4:,} more" if len(rest) > 4 else ""
        error = errors.make(first.kind, f"{about(first)}{more}", first.hint)
        is_rest = anything and not keep_going and (first.kind == "corrupt" or not first.hint)
        raise errors.or_rest(error) if is_rest else error
    return anything


def about(failure: Failure) -> str:
    """A failure in one line that names the source."""
    return failure.message if failure.name in failure.message else f"{failure.name}: {failure.message}"


def summary(verb: str, sources: Sequence[Source]) -> str:
    """A commit message: what was linked or packed."""
    names = [os.path.basename(source.name.rstrip("/")) for source in sources]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"{verb} {shown}"


def groups(writer: Writer, assembly: Assembly, replace: bool) -> None:
    """Make the groups of the sources; the attributes of those that exist stay unless they are replaced."""
    for path, attrs in sorted(assembly.groups.items()):
        blank_root = path == "/" and not writer.base().attrs
        if not writer._native.exists(path) or (attrs and (replace or blank_root)):
            writer.group(path, attrs)


def notes(sources: Sequence[Source]) -> list[Failure]:
    """What the sources have that was not taken over."""
    return [
        Failure(f"{source.name}:{note.path}", note.kind, note.message)
        for source in sources
        for note in source.arrays.dropped
    ]
