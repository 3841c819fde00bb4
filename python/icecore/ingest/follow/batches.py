"""Link many files in several commits, each of a number of files, and resume where an earlier run stopped.

Files are recorded in the same commit as their references (see :mod:`icecore.ingest.follow.ledger`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from icecore import errors
from icecore.ingest.follow import ledger
from icecore.ingest.follow.ledger import Seen
from icecore.ingest.options import LinkOptions
from icecore.ingest.plan.resolve_sources import names
from icecore.ingest.report import Report
from icecore.ingest.write.destination import destination
from icecore.sources.failure import Failure
from icecore.sources.files.identity import is_remote, local_path

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer

#: called with the options of one commit and a function that records its files; returns its report
LinkOnce = Callable[[LinkOptions, Callable[["Writer", set[str]], None]], Report]
#: rows that a report holds; further ones are counted only
_ROWS = 100_000


def run(options: LinkOptions, link_once: LinkOnce) -> Report:
    """Link the sources in commits of ``options.commit_every`` files; skip files that were committed before.

    Raises:
        Error: the error of the first commit that failed; its message says how many files were committed.
    """
    size = options.commit_every
    if size is None or size < 1:
        raise errors.make("invalid", f"commit_every must be at least 1 (got {size})", "commit_every=100")
    if options.dry_run:
        raise errors.make("invalid", "a dry run makes no commits", "leave out commit_every")
    files, failures = names(options)
    total, group = len(files), _group(options)
    repo = destination(options.into, options.storage)
    known = {} if repo is None else ledger.taken(repo, group)
    files = [file for file in files if known.get(_name(file)) != _seen(file)]
    report, done, began = Report(failures=failures), total - len(files), repo is not None and bool(known)
    for batch in _batches(files, size):
        chosen = replace(
            options,
            sources=list(batch),
            commit_every=None,
            progress=None,
            append=options.append or (options.joined is not None and began),
        )
        try:
            made = link_once(chosen, partial(_record, group, batch))
        except errors.Error as error:
            if options.keep_going and error.kind not in ("network", "permission", "conflict"):
                report.failures += [Failure.of(name, error) for name in batch]
                continue
            raise errors.make(error.kind, _where(error, done, total), _hint(error, done)) from error
        done, began = done + len(batch), True
        _add(report, made)
        if options.call is not None:
            options.call(str(batch[-1]), done, total)
    if total and not began and report.failures:
        raise errors.make(report.failures[0].kind, report.failures[0].message, report.failures[0].hint)
    if done == total and not report.rows and total:
        report.notes.append(Failure("/", "links", f"all {total:,} files were committed before"))
    return report


def _batches(files: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    rest = iter(files)
    while batch := tuple(islice(rest, size)):
        yield batch


def _group(options: LinkOptions) -> str:
    """The ledger's key: files that are linked to one group, joined along one dimension or not."""
    return f"link {options.group or ''} {options.joined or ''}".strip()


def _name(file: str) -> str:
    return file if is_remote(file) else os.path.abspath(local_path(file))


def _seen(file: str) -> Seen:
    """State of a file; of remote ones only the name, because a request for each would be needed."""
    if is_remote(file):
        return Seen(file, -1, -1)
    try:
        status = os.stat(local_path(file))
    except OSError:
        return Seen(_name(file), -1, -1)  # the error is raised when it is opened
    return Seen(_name(file), status.st_size, status.st_mtime_ns)


def _record(group: str, batch: Sequence[str], writer: Writer, failed: set[str]) -> None:
    base: Repo = writer.base()
    files = [_seen(file) for file in batch if file not in failed]
    ledger.take(writer, group, files, ledger.length(base))


def _add(report: Report, made: Report) -> None:
    room = _ROWS - len(report.rows)
    report.rows += made.rows if len(made.rows) <= room else made.rows[: max(room, 0)]
    report.failures += made.failures
    report.notes += made.notes[: _ROWS - len(report.notes)]
    report.snapshot = made.snapshot or report.snapshot
    report.bytes_stored += made.bytes_stored


def _where(error: errors.Error, done: int, total: int) -> str:
    return f"{error.message} ({done:,} of {total:,} files are committed)"


def _hint(error: errors.Error, done: int) -> str:
    again = "run it again: files that are committed are skipped" if done else ""
    return "; ".join(part for part in (error.hint, again) if part)
