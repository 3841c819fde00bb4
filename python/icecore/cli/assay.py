"""``icecore assay``: what each codec makes of a source."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, StorageOption, emit, examples, settings, talk


def assay(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="A file, a Zarr folder, a URL, REPO or REPO:/path.")
    ],
    array: Annotated[
        list[str] | None,
        typer.Option(
            "--array", metavar="/P", help="An array of it; may be repeated. By default the largest."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also a report: .html, .png, .csv or .json."),
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Of the store, for balanced; 200MB/s by default.")
    ] = None,
    portable: Annotated[
        bool, typer.Option("--portable", help="Only codecs that other Zarr readers have.")
    ] = False,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0,
            help="That measuring may take, about; the less, the fewer arrays by themselves.",
        ),
    ] = 12.0,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Measure what each codec makes of a source's arrays.

    Ratio, speeds, which codecs no other beats, and the choice for each goal of `icecore pack --for`.
    A file without arrays is packed by the programs that the machine has.
    """
    from icecore.analyzer.write_report import check
    from icecore.cli.batch import say_failures
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
        talk(f"written: {output}")
    say_failures(found.failures)
    emit(found.facts(), json, str(found))
    if found.failures:
        raise typer.Exit(2)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore assay icecore-demo/grid.nc -o assay.html",
            "icecore assay icecore-demo/demo.icecore --array /photons/gt1l/height",
        )
    )(assay)
