"""``icecore assay``: measure codecs on a source."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, StorageOption, emit, examples, print_stderr, settings


def assay(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="A file, a Zarr directory, a URL, REPO or REPO:/path.")
    ],
    array: Annotated[
        list[str] | None,
        typer.Option(
            "--array", metavar="/P", help="An array to measure; may be repeated. Default: the largest."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write .html, .png, .csv or .json."),
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Speed of the store, for balanced; default 200MB/s.")
    ] = None,
    portable: Annotated[
        bool, typer.Option("--portable", help="Only codecs that other Zarr readers have.")
    ] = False,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0,
            help="Approximate time limit; with less time, fewer arrays are measured separately.",
        ),
    ] = 12.0,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Measure codecs on the arrays of a source.

    Prints compression ratio, speeds, the codecs that no other codec beats in both, and the choice for each
    goal of `icecore pack --for`. A file without arrays is compressed with the programs installed here.
    """
    from icecore.analyzer.write_report import check
    from icecore.cli.batch import print_failures
    from icecore.ingest.assay import assay

    if output is not None:
        check(output)
    with Progress("assay") as progress:
        found = assay(
            source,
            array,
            bandwidth=bandwidth,
            portable=portable,
            seconds=seconds,
            storage=settings(storage),
            progress=progress,
        )
    if output is not None:
        found.write(output)
        print_stderr(f"written: {output}")
    print_failures(found.failures)
    emit(found.facts(), json, str(found))
    if found.failures:
        raise typer.Exit(2)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "icecore assay icecore-demo/grid.nc -o assay.html",
            "icecore assay icecore-demo/demo.icecore --array /photons/gt1l/height",
        )
    )(assay)
