"""``icecore plot``: draw a selection."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import (
    AllowLinks,
    Json,
    PathArgument,
    Progress,
    RepoArgument,
    SelArgument,
    StorageOption,
    emit,
    open_repo,
)
from icecore.cli.read.selection import selected

EXAMPLES = (
    "icecore plot icecore-demo/demo.icecore /grid/t2m time=0 -o map.png",
    "icecore plot icecore-demo/demo.icecore /photons/gt1l/height 0:5000 -o line.png",
)


def plot(
    repo: RepoArgument,
    path: PathArgument,
    sel: SelArgument = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The output file: .png.")
    ] = "plot.png",
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Draw a selection.

    Draws a line for one remaining axis and a map for two, with coordinates, dates and units if available.
    """
    from icecore.export.picture import draw

    array = open_repo(repo, storage, allow_links)._array(path)
    with Progress("plot"):
        facts = draw(array, selected(array, sel)[0], output)
    emit(facts, json, f"{output}: {facts['kind']} of {path}, {facts['elements']:,} elements")
