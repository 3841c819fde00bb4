"""``icecore ls``: the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, emit, examples, open_repo
from icecore.errors import Error

if TYPE_CHECKING:
    from icecore.repository.nodes import Node


def ls(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="Only what is below it.")] = "/",
    find: Annotated[
        str | None, typer.Option("--find", help="Channels of a frame file whose names match: 'H1:*STRAIN*'.")
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """List groups and arrays.

    A tree with the type, shape and dimensions of each array. Of a gravitational-wave frame file it lists the
    channels, with rate, type, unit and span.
    """
    if _is_frame_file(repo):
        _list_channels(repo, find, json)
        return
    from icecore.display import tree
    from icecore.display.text import shape_label
    from icecore.repository.array import Array

    opened = open_repo(repo, storage)
    item = opened[path]
    prefix = item.path.rstrip("/") + "/"
    below = [node for node in opened._visible() if node.path.startswith(prefix) and node.path != "/"]
    if isinstance(item, Array):
        below = [item._node]
        plain = f"{item.path}  {item._node.dtype_label}  {shape_label(item.shape, item.dims)}"
    else:
        plain = tree.text(opened._visible(), item.path, item.path if path != "/" else repo, limit=None)
    emit([_row(node) for node in below], json, plain)


def _is_frame_file(path: str) -> bool:
    from icecore.sources.files.signatures import GWF

    try:
        with open(path, "rb") as file:
            return file.read(len(GWF)) == GWF
    except OSError:
        return False


def _list_channels(path: str, find: str | None, json: bool) -> None:
    from icecore.display import text
    from icecore.sources.gwf.listing import list_channels

    file, channels = list_channels(path, find)
    rows = [
        (row.channel, f"{row.rate:g} Hz", row.dtype, row.unit, f"{row.start:.10g}..{row.stop:.10g}")
        for row in channels
    ]
    plain = text.table(["channel", "rate", "dtype", "unit", "GPS"], rows, (1,)) if rows else "no channels"
    events = [f"{count} {name}" for name, count in file.events]
    plain += f"\nevents: {', '.join(events)}" if events else ""
    plain += "".join(f"\n{kind}: {channel or path}: {said}" for kind, channel, _, said in file.problems)
    emit([row.as_dict() for row in channels], json, plain)


def _row(node: Node) -> dict[str, Any]:
    if not node.is_array:
        return {"path": node.path, "type": "group"}
    try:
        known = {"dtype": node.dtype_label, "shape": node.shape, "dims": node.dims}
    except Error as error:
        known = {"error": error.kind}
    return {"path": node.path, "type": "array", **known}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore ls icecore-demo/demo.icecore", "icecore ls icecore-demo/demo.icecore /photons --json"
        )
    )(ls)
