"""``icecore pack --follow``: print a line for each packed file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from icecore.cli.console import emit, print_notes, print_stderr, print_stdout
from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.follow import Event, Follower

_COMMITTED = "the files packed so far are committed"


def follow(follower: Follower, until_idle: float | None, as_json: bool) -> None:
    """Print a line for each file until no new files arrive or Ctrl-C; exit with status 2 if files failed."""
    packed = 0
    failed: set[str] = set()
    how = "no new files"
    try:
        for event in follower.run(until_idle):
            packed += event.report is not None
            (failed.add if event.failure is not None else failed.discard)(event.name)
            _say(event, as_json)
    except KeyboardInterrupt as error:
        how = str(error) or "stopped"
    if as_json:
        end = {"event": "end", "why": how, "packed": packed, "failed": sorted(failed)}
        print_stdout(json.dumps(end), _COMMITTED)
    else:
        print_stderr(f"{how}: {text.plural(packed, 'file')} packed, {len(failed)} failed")
    if failed:
        raise typer.Exit(2)


def _say(event: Event, as_json: bool) -> None:
    if as_json:
        print_stdout(json.dumps(event.as_dict()), _COMMITTED)
    elif event.failure is not None:
        print_stderr(f"icecore: error[{event.failure.kind}]: {event.name}: {event.failure.message}")
        if event.failure.hint:
            print_stderr(f"  try: {event.failure.hint}")
    elif event.report is None:
        print_stderr(
            f"{event.name} is not complete: {text.plural(event.later, 'later file')} must wait for it"
        )
    elif event.is_last:
        report = event.report
        print_notes(report)
        ratio = text.ratio(report.bytes_raw, report.bytes_stored)
        arrays = text.plural(report.count("packed"), "array")
        size = f"{text.size(report.bytes_raw)} raw, {text.size(report.bytes_stored)} stored ({ratio})"
        names = event.name
        if len(event.together) > 1:
            names = f"{event.together[0]} … {event.name} ({len(event.together):,} files)"
        line = f"{names}: {arrays}, {size}, snapshot {report.snapshot}, {report.seconds:.2f} s"
        emit(None, False, line, fold=False, done=_COMMITTED)
