"""What ``link`` and ``pack`` share: their options, and how they end."""

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

SOURCES = typer.Argument(metavar="SRC...", help="Files, folders, globs, @list.txt, URLs.", show_default=False)
Sources = Annotated[list[str], SOURCES]
Into = Annotated[
    str,
    typer.Option(
        "--into", metavar="REPO", help="The repository; made where there is none.", callback=lasting
    ),
]
Group = Annotated[
    str | None, typer.Option(metavar="/P", help="Where the source's root goes; /<file stem> by default.")
]
Concat = Annotated[
    str | None, typer.Option(metavar="DIM", help="Join the sources along this dimension, in the order given.")
]
Append = Annotated[bool, typer.Option("--append", help="Continue arrays that exist, along --concat.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write arrays that exist anew.")]
SkipExisting = Annotated[bool, typer.Option("--skip-existing", help="Leave arrays that exist as they are.")]
KeepGoing = Annotated[
    bool,
    typer.Option(
        "--keep-going", help="Commit what could be done although some files failed, or something in them."
    ),
]
Message = Annotated[
    str | None,
    typer.Option("-m", "--message", metavar="TEXT", help="Of the commit; verb and files by default."),
]

_ROWS = 60


def lengths(shape: str | None) -> tuple[int, ...] | dict[str, int] | None:
    """``"16,64,64"`` or ``"time=16,lat=64"``."""
    if shape is None:
        return None
    parts = [part.strip() for part in shape.split(",")]
    try:
        if "=" in shape:
            return {name.strip(): int(value) for name, value in (part.split("=") for part in parts)}
        return tuple(int(part) for part in parts)
    except ValueError:
        raise errors.make("invalid", f"{shape!r} is no shape", "16,64,64 or time=16,lat=64") from None


def finish(done: str, report: Report, into: str, json: bool) -> None:
    """Print the report, name the failures, and leave with status 2 where there are any."""
    say_notes(report)
    say_failures(report.failures)
    committed = f"{into}: snapshot {report.snapshot} was committed all the same" if report.snapshot else ""
    emit(report.as_dict(), json, _text(done, report, into), done=committed)
    if report.failures:
        raise typer.Exit(2)


def say_failures(failures: Iterable[Failure]) -> None:
    """What could not be used, and why."""
    from icecore.ingest.destination import about

    for failure in failures:
        talk(f"icecore: error[{failure.kind}]: {about(failure)}")
        if failure.hint:
            talk(f"  try: {failure.hint}")


def say_notes(report: Report) -> None:
    """What a reader of the arrays should know."""
    for note in report.notes:
        if note.kind == "dimension":
            continue  # nothing is lost: its name and length are in the arrays; --json still lists it
        talk(f"icecore: note[{note.kind}]: {note.name}: {note.message}")


def _text(done: str, report: Report, into: str) -> str:
    shown = report.table(_ROWS if not report.dry_run else None)
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
