"""``icecore find``: files of a catalogue by place and time."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore import errors
from icecore.cli.console import Json, emit, print_stderr, settings

EXAMPLES = (
    "icecore find cmr:ATL03 --bbox -50,68.5,-49,69.5 --time 2019-01..2019-02 --help",
    "icecore find gwosc:H1 --time 1126259446..1126259478 --help",
)


def find(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="cmr:SHORTNAME, stac:ADDRESS, gwosc:DETECTOR, gwosc:EVENT or "
            "datafind:OBSERVATORY/FRAMETYPE; a name alone is one of cmr.",
        ),
    ],
    bbox: Annotated[
        str | None,
        typer.Option("--bbox", metavar="W,S,E,N", help="Box of longitudes and latitudes in degrees."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="FIRST..LAST", help="UTC dates or times, or GPS seconds; with both ends."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Most granules, items or files.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", help="A parameter of the service: version=006, asset=data."
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="LIST", help="Write a list, to be named as @LIST.")
    ] = None,
    json: Json = False,
) -> None:
    """Find files by place and time.

    Prints the address of each file that a catalogue has, one per line. The same question is a source of
    `link`, `pack` and `run`: 'cmr:ATL03?bbox=-50,68.5,-49,69.5&time=2019-01..2019-02'.
    """
    from icecore.filesystem.atomic_output import landing
    from icecore.sources import catalogs

    asked = collection if ":" in collection else f"cmr:{collection}"
    found = catalogs.find(asked, bbox=bbox, time=time, limit=limit, **_parameters(param))
    if not found:
        print_stderr(f"icecore: nothing matches {asked}")
    lines = list(dict.fromkeys(item.url for item in found))
    if output is not None:
        with landing(output) as part, open(part, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        print_stderr(f"{output}: {len(lines):,} files")
    elif found or json:
        emit([item.as_dict() for item in found], json, "\n".join(lines), fold=False)
    if not found:
        raise typer.Exit(1)


def _parameters(pairs: list[str] | None) -> dict[str, str]:
    try:
        return settings(pairs)
    except errors.Error as error:
        raise errors.make("invalid", "--param needs NAME=VALUE", "--param version=006") from error
