"""``icecore bench``: one of the studies, beside its peers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from icecore.cli.console import Json, emit, examples, talk
from icecore.filesystem.atomic_output import folder


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The study: pds or pstore.")],
    source: Annotated[
        str | None, typer.Argument(metavar="FILE", help="What to measure with; made where it is left out.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where tables and figures go.")
    ] = Path("icecore-bench"),
    json: Json = False,
) -> None:
    """Run a study again.

    Side by side with its peers, as tables and figures. pds takes a table of text, with the separator "," and
    a column clon: the rows of one place are those with 120 < clon < 120.1. pstore takes a file with arrays of
    floats, and makes a field of about their size besides: of 904 MB, which takes minutes, where no file is
    given. Peers are what the machine has; one that is missing is named.
    """
    from icecore.studies import study

    run = study(name)
    with folder(str(output)):  # made before it is measured for minutes
        outcome = run(output, source, talk)
        outcome.write(output)
    emit(asdict(outcome), json, str(outcome))


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore bench pds -o figures",
            "icecore bench pds icecore-demo/diviner.tab --json",
            "icecore bench pstore icecore-demo/grid.nc",
        )
    )(bench)
