"""``icecore ls``: list groups and arrays as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, emit, examples, open_repo
from icecore.errors import Error

if TYPE_CHECKING:
    from icecore.repository.nodes import Node


def ls(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="List only this group.")] = "/",
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """List groups and arrays.

    Prints a tree with the dtype, shape and dimensions of each array.
    """
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


def _row(node: Node) -> dict[str, Any]:
    if not node.is_array:
        return {"path": node.path, "type": "group"}
    try:
        known = {"dtype": node.dtype_label, "shape": node.shape, "dims": node.dims}
    except Error as error:
        known = {"error": error.kind}
    return {"path": node.path, "type": "array", **known}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "icecore ls icecore-demo/demo.icecore", "icecore ls icecore-demo/demo.icecore /photons --json"
        )
    )(ls)
