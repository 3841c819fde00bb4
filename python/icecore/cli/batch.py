"""Options and output that ``link`` and ``pack`` have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from icecore import errors
from icecore.cli.console import emit, lasting, talk
from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.report import Report
    from icecore.sources.failure import Failure

SOURCES = typer.Argument(
    metavar="SRC...", help="Files, directories, globs, @list.txt, URLs.", show_default=False
)
Sources = Annotated[list[str], SOURCES]
Into = Annotated[
    str,
    typer.Option("--into", metavar="REPO", help="The repository; created if missing.", callback=lasting),
]
Group = Annotated[
    str | None, typer.Option(metavar="/P", help="Group for the source's root; /<file stem> by default.")
]
Concat = Annotated[
    str | None, typer.Option(metavar="DIM", help="Join the sources along this dimension, in the order given.")
]
Append = Annotated[bool, typer.Option("--append", help="Append to arrays that exist, along --concat.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite arrays that exist.")]
SkipExisting = Annotated[bool, typer.Option("--skip-existing", help="Leave arrays that exist as they are.")]
KeepGoing = Annotated[
    bool,
    typer.Option("--keep-going", help="Commit the rest if some files, or arrays in them, fail."),
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing", help="Leave out ROOT files without the tree, and branches that some lack."
    ),
]
Message = Annotated[
    str | None,
    typer.Option("-m", "--message", metavar="TEXT", help="Commit message; verb and files by default."),
]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan (paths, shapes, chunks, codecs) and write nothing.")
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--variables",
        metavar="PATTERN",
        help="Take only these arrays and their coordinates: t2m, 't*', '/gt1l/*'; may be repeated.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="Leave these arrays out; may be repeated."),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="List every array instead of a summary by group.")
]

#: arrays that are listed one by one without -v
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
    """Print the report or the plan, and the failures; exit with status 2 where there are any."""
    say_notes(report)
    say_failures(report.failures)
    committed = f"{into}: snapshot {report.snapshot} was committed all the same" if report.snapshot else ""
    emit(report.as_dict(), json, _text(done, report, into, verbose), done=committed)
    if report.failures:
        raise typer.Exit(2)


def say_failures(failures: Iterable[Failure]) -> None:
    """Print the sources and arrays that could not be used, and why."""
    from icecore.ingest.failure_policy import one_line

    for failure in failures:
        talk(f"icecore: error[{failure.kind}]: {one_line(failure)}")
        if failure.hint:
            talk(f"  try: {failure.hint}")


def say_notes(report: Report) -> None:
    """Print what a reader of the arrays should know."""
    for note in report.notes:
        if note.kind == "dimension":
            continue  # nothing is lost: its name and length are in the arrays; --json still lists it
        talk(f"icecore: note[{note.kind}]: {note.name}: {note.message}")


def _arrays(report: Report, verbose: bool) -> str:
    """The plan of a dry run, every array, or a summary by group where there are many."""
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
            size += f", of which {text.size(report.bytes_stored)} in the repository"
        where = f"snapshot {report.snapshot}" if report.snapshot else "nothing was committed"
        lines += [size, f"{into}: {where}, {report.seconds:.2f} s"]
    return "\n".join(lines)
