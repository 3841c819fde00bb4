"""``icecore assay``: measure codecs on a source."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from icecore.cli.console import Json, Progress, emit, print_stderr, takes
from icecore.ingest.options import AssayOptions

EXAMPLES = (
    "icecore assay icecore-demo/grid.nc -o assay.html",
    "icecore assay icecore-demo/demo.icecore --array /photons/gt1l/height",
)


@takes(AssayOptions)
def assay(
    values: dict[str, Any],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write .html, .png, .csv or .json."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure codecs on the arrays of a source.

    Prints compression ratio, speeds, the codecs that no other codec beats in both, and the choice for each
    goal of `icecore pack --for`. A file without arrays is compressed with the programs installed here.
    """
    from icecore.analyzer.assay_report import check
    from icecore.cli.console import print_failures
    from icecore.ingest.assay import assay

    if output is not None:
        check(output)
    with Progress("assay") as progress:
        found = assay(**values, progress=progress)
    if output is not None:
        found.write(output)
        print_stderr(f"written: {output}")
    print_failures(found.failures)
    emit(found.facts(), json, str(found))
    if found.failures:
        raise typer.Exit(2)
