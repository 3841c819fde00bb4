"""``icecore pack --follow``: what happens, file by file, until it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from icecore.cli.batch import say_notes
from icecore.cli.console import emit, say, talk
from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.follow import Event, Follower

_COMMITTED = "what was packed until now is committed"


def follow(follower: Follower, until_idle: float | None, as_json: bool) -> None:
    """Print a line for each file; end when nothing comes any more, or by Ctrl-C. Leave with status 2 where
    files failed.
    """
    packed = 0
    failed: set[str] = set()
    how = "nothing came any more"
    try:
        for event in follower.run(until_idle):
            packed += event.report is not None
            (failed.add if event.failure is not None else failed.discard)(event.name)
            _say(event, as_json)
    except KeyboardInterrupt as error:
        how = str(error) or "stopped"
    if as_json:
        end = {"event": "end", "why": how, "packed": packed, "failed": sorted(failed)}
        say(json.dumps(end), _COMMITTED)
    else:
        talk(f"{how}: {text.plural(packed, 'file')} packed, {len(failed)} failed")
    if failed:
        raise typer.Exit(2)


def _say(event: Event, as_json: bool) -> None:
    if as_json:
        say(json.dumps(event.as_dict()), _COMMITTED)
    elif event.failure is not None:
        talk(f"icecore: error[{event.failure.kind}]: {event.name}: {event.failure.message}")
        if event.failure.hint:
            talk(f"  try: {event.failure.hint}")
    elif event.report is None:
        talk(f"{event.name} is not complete, and {text.plural(event.later, 'later file')} wait for it")
    elif event.is_last:
        report = event.report
        say_notes(report)
        ratio = text.ratio(report.bytes_raw, report.bytes_stored)
        arrays = text.plural(report.count("packed"), "array")
        size = f"{text.size(report.bytes_raw)} raw, {text.size(report.bytes_stored)} stored ({ratio})"
        names = event.name
        if len(event.together) > 1:
            names = f"{event.together[0]} … {event.name} ({len(event.together):,} files)"
        said = f"{names}: {arrays}, {size}, snapshot {report.snapshot}, {report.seconds:.2f} s"
        emit(None, False, said, fold=False, done=_COMMITTED)
