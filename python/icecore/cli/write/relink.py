"""``icecore relink``: link a moved directory at its new place."""

from __future__ import annotations

from typing import Any

import typer

from icecore.cli.console import Json, Progress, emit, takes
from icecore.ingest.options import RelinkOptions

EXAMPLES = (
    "icecore relink icecore-demo icecore-demo --into icecore-demo/demo.icecore --dry-run",
    "icecore relink icecore-demo icecore-demo --into icecore-demo/demo.icecore --dry-run --json",
)


@takes(RelinkOptions)
def relink(values: dict[str, Any], json: Json = False) -> None:
    """Link files of a moved directory at its new place.

    Changes the references to files in OLD to the same files in NEW, in one commit. Each file must have the
    recorded size, and the recorded modification time or the same content. Exit status 1 if a file is missing
    or differs; without --keep-going nothing is committed then.
    """
    from icecore.ingest.relink import run

    with Progress("relink", nbytes=False) as progress:
        report = run(RelinkOptions(**values, progress=progress))
    where = f"snapshot {report.snapshot}" if report.snapshot else "nothing was committed"
    done = f"{report.repository}: {where}, {report.seconds:.2f} s"
    emit(report.as_dict(), json, f"{report.table()}\n\n{report.counts}\n{done}", done=where)
    raise typer.Exit(1 if report.refused else 0)
