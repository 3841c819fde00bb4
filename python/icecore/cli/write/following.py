"""``--follow`` of ``icecore pack`` and ``icecore link``: print a line for each file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import emit, once, print_notes, print_stderr, print_stdout
from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.follow.follower import Event, Follower

#: default of ``--poll``
POLL = "1s"
Follow = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Instead of SRC: take files of this directory, @list.txt or s3://bucket/prefix as they appear.",
    ),
]
Glob = Annotated[str, typer.Option(metavar="PATTERN", help="With --follow: file names to take.")]
UntilIdle = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="With --follow: exit after 30s, 5m, … without new files."),
]
Poll = Annotated[str, typer.Option(metavar="TIME", help="With --follow: interval between two checks.")]

_COMMITTED = "the files taken so far are committed"


def followed(
    options: type,
    values: dict[str, Any],
    place: str | None,
    pattern: str,
    poll: str,
    until_idle: str | None,
    as_json: bool,
) -> bool:
    """Follow a place if ``--follow`` names one; return whether it did."""
    if place is None:
        if until_idle is not None or pattern != "*" or poll != POLL:
            clash = "--glob, --until-idle and --poll need a directory to watch"
            raise errors.make("invalid", clash, "name it: --follow DIR")
        if not values["sources"]:
            message = "nothing to read: no file is named"
            raise errors.make("invalid", message, "name files, or a directory to watch: --follow DIR")
        return False
    from icecore.ingest.follow.follower import Follower
    from icecore.ingest.options import LinkOptions

    single, names = once(options)
    if values["sources"] or any(values[name] for name in single):
        raise errors.make("invalid", f"SRC, {names} exclude --follow", "remove them")
    idle = None if until_idle is None else text.parse_seconds(until_idle)
    how = {name: value for name, value in values.items() if name not in ("sources", *single)}
    seconds = text.parse_seconds(poll)
    follow(Follower(place, pattern=pattern, poll=seconds, link=options is LinkOptions, **how), idle, as_json)
    return True


def follow(follower: Follower, until_idle: float | None, as_json: bool) -> None:
    """Print a line for each file until no new files arrive or Ctrl-C; exit with status 2 if files failed."""
    taken, verb = 0, "packed"
    failed: set[str] = set()
    how = "no new files"
    try:
        for event in follower.run(until_idle):
            taken += event.report is not None
            verb = event.as_dict()["event"] if event.report is not None else verb
            (failed.add if event.failure is not None else failed.discard)(event.name)
            _say(event, as_json)
    except KeyboardInterrupt as error:
        how = str(error) or "stopped"
    if as_json:
        end = {"event": "end", "why": how, verb: taken, "failed": sorted(failed)}
        print_stdout(json.dumps(end), _COMMITTED)
    else:
        print_stderr(f"{how}: {text.plural(taken, 'file')} {verb}, {len(failed)} failed")
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
        arrays = text.plural(report.count("packed", "linked", "mixed", "copied"), "array")
        size = f"{text.size(report.bytes_raw)} raw, {text.size(report.bytes_stored)} stored ({ratio})"
        names = event.name
        if len(event.together) > 1:
            names = f"{event.together[0]} … {event.name} ({len(event.together):,} files)"
        line = f"{names}: {arrays}, {size}, snapshot {report.snapshot}, {report.seconds:.2f} s"
        emit(None, False, line, fold=False, done=_COMMITTED)
