"""Policy for failed sources: when to commit despite failures, when to retry without damaged files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from icecore import errors
from icecore.ingest.plan.resolve_sources import Source, Sources
from icecore.ingest.report import Report
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import DamagedSource


def without_damaged(
    attempt: Callable[[Sources], Report],
    sources: Sources,
    keep_going: bool,
) -> Report:
    """Call ``attempt``; with ``keep_going``, repeat it without sources that turn out damaged during a join.

    A joined file contributes its rows to all arrays or to none.
    """
    while True:
        try:
            return attempt(sources)
        except DamagedSource as error:
            damaged = {each.source: each for each in (error, *error.others)}
            rest = _rest(sources.indexed, set(damaged))
            if not keep_going or rest == sources.indexed:
                raise (errors.or_rest(error) if rest and not keep_going else error) from error
            more = [Failure.of(name, each) for name, each in damaged.items()]
            sources = Sources(rest, [*sources.failures, *more], sources.notes)


def _rest(sources: list[Source], damaged: set[str]) -> list[Source]:
    """Return the sources without the damaged ones; of a source of several files the others are kept."""
    kept = []
    for source in sources:
        inside = damaged & set(source.arrays.files)
        if source.arrays.without is not None and inside and inside != set(source.arrays.files):
            kept.append(replace(source, arrays=source.arrays.without(inside)))
        elif not inside and not damaged & _places(source):
            kept.append(source)
    return kept


def _places(source: Source) -> set[str]:
    """Return the names of a source in error messages: each member of an archive has its own name."""
    return {source.name, *(table.place for table in source.arrays.tables.values())}


def may_commit(report: Report, anything: bool, keep_going: bool) -> bool:
    """Return whether to commit.

    Raises:
        Error: the first failure, with the names of the others, if failures forbid a commit, or nothing
            is left to write and nothing was there already; ``unsupported`` if the sources contain only
            what can't be written.
    """
    if report.failures and (not keep_going or not (anything or report.rows)):
        first = report.failures[0]
        rest = [item for item in report.failures[1:] if item.message != first.message]
        more = "".join(f"\n  also {one_line(item)}" for item in rest[:4])
        more += f"\n  and {len(rest) - 4:,} more" if len(rest) > 4 else ""
        error = errors.make(first.kind, f"{one_line(first)}{more}", first.hint)
        is_rest = anything and not keep_going and (first.kind == "corrupt" or not first.hint)
        raise errors.or_rest(error) if is_rest else error
    objects = [note for note in report.notes if note.kind == "object"]
    if objects and not anything and not report.rows:
        more = f" and {len(objects) - 1:,} more" if len(objects) > 1 else ""
        message = f"the sources have no tree: {objects[0].name} is {objects[0].message}{more}"
        failure = Failure(
            objects[0].name, "unsupported", message, "name a file with trees: `icecore ls FILE`"
        )
        if not keep_going:
            raise errors.make(failure.kind, failure.message, failure.hint)
        report.failures.append(failure)
        return True
    return anything


def one_line(failure: Failure) -> str:
    """Return a failure as one line that names the source."""
    return failure.message if failure.name in failure.message else f"{failure.name}: {failure.message}"
