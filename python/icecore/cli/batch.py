"""Options and output shared by ``link`` and ``pack``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from icecore.cli.console import emit, print_stderr
from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.report import Report
    from icecore.sources.failure import Failure

#: notes of one kind that are printed without -v
_NOTES = 20

Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="List every array instead of a summary by group.")
]

#: largest number of arrays listed one by one without -v
_ROWS = 20


def finish(done: str, report: Report, into: str, json: bool, verbose: bool) -> None:
    """Print the report or the plan, then the failures; exit with status 2 if there are any."""
    print_notes(report, verbose)
    print_failures(report.failures)
    committed = f"{into}: snapshot {report.snapshot} was committed nevertheless" if report.snapshot else ""
    emit(report.as_dict(), json, _text(done, report, into, verbose), done=committed)
    if report.failures:
        raise typer.Exit(2)


def print_failures(failures: Iterable[Failure]) -> None:
    """Print the sources and arrays that failed, with the reason."""
    from icecore.ingest.failure_policy import one_line

    for failure in failures:
        print_stderr(f"icecore: error[{failure.kind}]: {one_line(failure)}")
        if failure.hint:
            print_stderr(f"  try: {failure.hint}")


def print_notes(report: Report, verbose: bool = False) -> None:
    """Print the notes of a report; of each kind at most ``_NOTES`` unless ``verbose``."""
    left_out: Counter[str] = Counter()
    printed: Counter[str] = Counter()
    for note in report.notes:
        if note.kind == "dimension":
            continue  # name and length are kept in the arrays; --json lists it
        if printed[note.kind] >= _NOTES and not verbose:
            left_out[note.kind] += 1
            continue
        printed[note.kind] += 1
        print_stderr(f"icecore: note[{note.kind}]: {note.name}: {note.message}")
    for kind, count in left_out.items():
        print_stderr(f"icecore: note[{kind}]: {count:,} more (-v or --json lists them)")


def _arrays(report: Report, verbose: bool) -> str:
    """Return the plan of a dry run, all arrays, or a summary by group if there are many arrays."""
    if report.plan is not None:
        return str(report.plan)
    if verbose or len(report.rows) <= _ROWS:
        return report.table()
    from icecore.ingest.report_summary import summarize

    return f"{summarize(report.rows)}\n(-v lists every array)"


def _text(done: str, report: Report, into: str, verbose: bool) -> str:
    shown = _arrays(report, verbose)
    stored = report.bytes_stored + sum(row.bytes for row in report.rows if row.how in ("linked", "mixed"))
    counts = [f"{report.count(how)} {how}" for how in ("linked", "mixed", "copied", "packed", "skipped")]
    counts = [count for count in counts if not count.startswith("0 ")]
    nothing = "groups only" if report.snapshot else "nothing to do"
    lines = [shown, "", f"{text.plural(len(report.rows), 'array')}: {', '.join(counts) or nothing}"]
    if report.dry_run:
        lines.append(f"dry run: nothing was written to {into}")
    else:
        ratio = text.ratio(report.bytes_raw, stored)
        size = f"{text.size(report.bytes_raw)} raw, {text.size(stored)} stored ({ratio})"
        if done == "linked":
            size += f"; {text.size(report.bytes_stored)} of it in the repository"
        where = f"snapshot {report.snapshot}" if report.snapshot else "nothing was committed"
        lines += [size, f"{into}: {where}, {report.seconds:.2f} s"]
    return "\n".join(lines)
