"""``icecore explain``: the plan of a read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from icecore import errors
from icecore.cli.console import (
    AllowLinks,
    BytesOption,
    Json,
    PathArgument,
    RepoArgument,
    RtolOption,
    SelArgument,
    StorageOption,
    emit,
    open_repo,
)
from icecore.cli.read.selection import selected

EXAMPLES = (
    'icecore explain icecore-demo/demo.icecore /grid/t2m "time=0:10, lat=3"',
    'icecore explain icecore-demo/demo.icecore /grid/t2m --access "time=1:0.5; lat=1,lon=1:0.5"',
    "icecore explain icecore-demo/demo.icecore /photons/gt1l/height --json",
)


def explain(
    repo: RepoArgument,
    path: PathArgument,
    sel: SelArgument = None,
    rtol: RtolOption = None,
    leading_bytes: BytesOption = None,
    access: Annotated[
        str | None,
        typer.Option(
            metavar="READS",
            help='Instead: mean cost of random reads: "time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3".',
        ),
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Show the plan of a read.

    Prints requests, bytes wanted and fetched, chunks, codecs and relative error. With --access prints the
    mean cost of kinds of reads at random positions. No data is read.
    """
    from icecore.layout.access_cost import costs, table

    array = open_repo(repo, storage, allow_links)._array(path)
    if access is not None:
        if sel is not None or rtol is not None or leading_bytes is not None:
            raise errors.make(
                "invalid", "--access can't be combined with SEL, --rtol or --bytes", "remove one of them"
            )
        found = costs(array, access)
        emit([asdict(cost) for cost in found], json, table(found))
        return
    plan = array.plan(selected(array, sel)[0], rtol=rtol, leading_bytes=leading_bytes)
    emit(asdict(plan), json, str(plan))
