"""``icecore ls``: list groups and arrays as a tree."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, emit, open_repo
from icecore.errors import Error

if TYPE_CHECKING:
    from icecore.repository.list_columns import ListNode
    from icecore.repository.nodes import Node

#: largest number of notes on parts that are left out
_NOTES = 10

EXAMPLES = (
    "icecore ls icecore-demo/demo.icecore",
    "icecore ls icecore-demo/demo.icecore /photons --json",
)


def ls(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="List only this group.")] = "/",
    find: Annotated[
        str | None, typer.Option("--find", help="Channels of a frame file whose names match: 'H1:*STRAIN*'.")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            help="Also list codecs, bounds of rounded arrays, and the arrays that hold columns of lists.",
        ),
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """List groups and arrays.

    Prints a tree with the dtype, shape and dimensions of each array of a repository or source file
    (`file.root:Events` for one tree of it); for a frame file the channels with rate, dtype, unit and span.
    """
    if os.path.isfile(repo) and _is_frame_file(repo):
        _list_channels(repo, find, json)
        return
    from icecore.display import tree
    from icecore.display.text import shape_label
    from icecore.repository.array import Array
    from icecore.repository.list_columns import folded, has_lists

    if _is_file(repo):
        nodes, notes = _source_nodes(repo, path)
        shown: Sequence[Node | ListNode] = nodes if verbose else folded(nodes)
        plain = tree.text(shown, path.rstrip("/") or "/", repo, limit=None)
        emit([_row(node) for node in shown if node.path != "/"], json, plain)
        for line in notes[:_NOTES]:
            print(f"left out: {line}", file=sys.stderr)
        if len(notes) > _NOTES:
            print(f"left out: {len(notes) - _NOTES:,} more", file=sys.stderr)
        return
    opened = open_repo(repo, storage)
    item = opened[path]
    nodes = opened._below(item.path)
    below: Sequence[Node | ListNode] = nodes
    if isinstance(item, Array):
        below = [item._node]
        plain = f"{item.path}  {item._node.dtype_label}  {shape_label(item.shape, item.dims)}"
        plain += f"  {_stored_as(item._node)}" if verbose else ""
    elif has_lists(item._node) and not verbose:
        below = folded([item._node, *nodes], opened._node)
        plain = "  ".join([item.path, *below[0].labels])
    else:
        more = _stored_as if verbose else None
        below = nodes if verbose else folded(nodes, opened._node)
        plain = tree.text(below, item.path, item.path if path != "/" else repo, limit=None, more=more)
    emit([_row(node) for node in below], json, plain)


def _is_file(name: str) -> bool:
    """Whether a name is that of a source file, or of a tree in one."""
    if os.path.isfile(name) or ":" not in name:  # splitting an address needs a slow import
        return os.path.isfile(name)
    from icecore.sources.files.tree_address import files, split

    file, tree = split(name)
    return bool(tree) and any(map(os.path.isfile, files(file)))


def _source_nodes(name: str, path: str) -> tuple[list[Node], list[str]]:
    """Return the groups and arrays of a source file below ``path``, and notes on parts that are left out."""
    from json import dumps

    from icecore.repository.nodes import Node
    from icecore.sources import open_source

    found = open_source(name, keep_going=True, copies=False)
    prefix = path.rstrip("/") + "/"
    nodes = [
        Node(group, False, dumps({"attributes": attrs}, default=str)) for group, attrs in found.groups.items()
    ]
    nodes += [Node(entry.path, True, entry.zarr_json()) for entry in found.arrays.values()]
    notes = [f"{each.path}: {each.message}" for each in found.dropped]
    notes += [str(error) for error in found.failed]
    return sorted((n for n in nodes if n.path.startswith(prefix)), key=lambda node: node.path), notes


def _is_frame_file(path: str) -> bool:
    from icecore.sources.files.signatures import GWF

    try:
        with open(path, "rb") as file:
            return file.read(len(GWF)) == GWF
    except OSError:
        return False


def _list_channels(path: str, find: str | None, json: bool) -> None:
    from icecore.display import text
    from icecore.repository.time_axis import seconds_text
    from icecore.sources.gwf.scan import frame_span, list_channels

    file, channels = list_channels(path, find)
    span = "..".join(seconds_text(time).rstrip("0").rstrip(".") for time in frame_span(file.frames))
    rows = [(row.channel, f"{row.rate:.10g} Hz", row.dtype, row.unit, span) for row in channels]
    plain = text.table(["channel", "rate", "dtype", "unit", "GPS"], rows, (1,)) if rows else "no channels"
    events = [f"{count} {name}" for name, count in file.events]
    plain += f"\nevents: {', '.join(events)}" if events else ""
    others = [f"{kind} {name}" for kind, name in file.others]
    plain += f"\nnot read: {', '.join(others)}" if others else ""
    plain += "".join(f"\n{kind}: {channel or path}: {said}" for kind, channel, _, said in file.problems)
    emit([row.as_dict() for row in channels], json, plain)


def _row(node: Node | ListNode) -> dict[str, Any]:
    from icecore.repository.nodes import Node

    if not node.is_array:
        return {"path": node.path, "type": "group"}
    try:
        known = {"dtype": node.dtype_label, "shape": node.shape, "dims": node.dims}
    except Error as error:
        known = {"error": error.kind}
    if not isinstance(node, Node):
        return {"path": node.path, "type": "list", **known}
    return {"path": node.path, "type": "array", **known, **_loss(node)}


def _stored_as(node: Any) -> str:
    """Return the codecs of an array, and the bound of its errors if it was rounded."""
    try:
        names = [str(codec.get("name")) for codec in node.codecs]
    except Error as error:
        return f"unreadable ({error.kind})"
    return "  ".join([" → ".join(names), *_loss(node).values()])


def _loss(node: Node) -> dict[str, str]:
    if "round" not in node.ours:  # rounding imports NumPy
        return {}
    from icecore.codecs.rounding import Rounding

    rule = Rounding.of(node.ours)
    return {} if rule is None else {"rounded": str(rule)}
