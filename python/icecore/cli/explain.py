"""``icecore explain``: the plan of a read."""

from __future__ import annotations

from dataclasses import asdict

import typer

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
    examples,
    open_repo,
)


def explain(
    repo: RepoArgument,
    path: PathArgument,
    sel: SelArgument = None,
    rtol: RtolOption = None,
    bytes: BytesOption = None,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Show the plan of a read.

    Requests, bytes wanted and fetched, chunks, codecs, relative error. No data is read.
    """
    from icecore.selection import parse

    array = open_repo(repo, storage, allow_links)._array(path)
    plan = array.plan(parse(sel, array.dims), rtol=rtol, bytes=bytes)
    emit(asdict(plan), json, str(plan))


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            'icecore explain icecore-demo/demo.icecore /grid/t2m "time=0:10, lat=3"',
            "icecore explain icecore-demo/demo.icecore /photons/gt1l/height --json",
        )
    )(explain)
