"""``icecore demo``: link, pack and check sample files."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, emit

EXAMPLES = (
    "icecore demo",
    "icecore demo icecore-demo --json",
)


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Directory for the sample files.")] = Path(
        "icecore-demo"
    ),
    json: Json = False,
) -> None:
    """Try icecore on sample files.

    Creates small sample files, links or packs them, reads everything back, checks it and prints a report.
    """
    from dataclasses import asdict

    from icecore.demo.outcome import describe
    from icecore.demo.run import REPO, run

    with Progress("demo"):
        outcome = run(folder)
    repo = folder / REPO
    facts = {
        "repository": str(repo),
        "snapshot": outcome.snapshot,
        "samples": outcome.rows,
        "checks": [asdict(check) for check in outcome.checks],
        "passed": outcome.passed,
    }
    shown = quote(str(repo))
    more = f'next steps:\n  icecore ls {shown}\n  icecore read {shown} /grid/t2m "time=0:10, lat=3"'
    emit(facts, json, f"{describe(outcome)}\n\n{more}")
    raise typer.Exit(0 if outcome.passed else 1)
