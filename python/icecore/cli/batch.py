"""Options and output shared by ``link`` and ``pack``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from icecore import errors
from icecore.cli.console import emit, persistent, print_stderr
from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.report import Report
    from icecore.sources.failure import Failure

#: notes of one kind that are printed without -v
_NOTES = 20

SOURCES = typer.Argument(
    metavar="SRC...", help="Files, directories, globs, @list.txt, URLs.", show_default=False
)
Sources = Annotated[list[str], SOURCES]
Into = Annotated[
    str,
    typer.Option("--into", metavar="REPO", help="The repository; created if missing.", callback=persistent),
]
Group = Annotated[
    str | None, typer.Option(metavar="/P", help="Group for the source's root; default: /<file stem>.")
]
Concat = Annotated[
    str | None, typer.Option(metavar="DIM", help="Join the sources along this dimension, in the order given.")
]
Append = Annotated[bool, typer.Option("--append", help="Append to existing arrays, along --concat.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite existing arrays.")]
SkipExisting = Annotated[bool, typer.Option("--skip-existing", help="Skip arrays that exist.")]
KeepGoing = Annotated[
    bool,
    typer.Option("--keep-going", help="Skip files and arrays that fail, and commit the others."),
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing", help="Leave out ROOT files without the tree, and branches that some lack."
    ),
]
Message = Annotated[
    str | None,
    typer.Option("-m", "--message", metavar="TEXT", help="Commit message; default: command and files."),
]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan (paths, shapes, chunks, codecs) and write nothing.")
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--variables",
        metavar="PATTERN",
        help="Only these arrays and their coordinates: t2m, 't*', '/gt1l/*'; may be repeated.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="Skip these arrays; may be repeated."),
]
CoordTolerance = Annotated[
    float | None,
    typer.Option(
        "--coord-tolerance",
        metavar="T",
        help="With --concat: accept coordinates that differ by up to T, in their units; default: 0.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="List every array instead of a summary by group.")
]

#: largest number of arrays listed one by one without -v
_ROWS = 20


def lengths(shape: str | None) -> tuple[int, ...] | dict[str, int] | None:
    """Parse ``"16,64,64"`` or ``"time=16,lat=64"``."""
    if shape is None:
        return None
    parts = [part.strip() for part in shape.split(",")]
    try:
        if "=" in shape:
            return {name.strip(): int(value) for name, value in (part.split("=") for part in parts)}
        return tuple(int(part) for part in parts)
    except ValueError:
        raise errors.make("invalid", f"{shape!r} is not a shape", "16,64,64 or time=16,lat=64") from None


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
