"""``icecore diff``: changes between two versions, values that differ between two arrays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from icecore import errors
from icecore.cli.console import Json, Progress, RepoArgument, StorageOption, emit, open_repo
from icecore.repository.address import split_path

if TYPE_CHECKING:
    from icecore.repository.results import ArrayChange, Diff

#: largest number of boxes listed per array
_BOXES = 8
_SIGNS = {"new": "+", "deleted": "-", "updated": "~"}

EXAMPLES = (
    "icecore diff icecore-demo/demo.icecore linked",
    "icecore diff icecore-demo/demo.icecore linked main --values --json",
    "icecore diff icecore-demo/demo.icecore@linked:/photons/gt1l/height"
    " icecore-demo/demo.icecore:/photons/gt1l/height",
)


def diff(
    repo: RepoArgument,
    a: Annotated[str, typer.Argument(metavar="A", help="The older version; or a second array.")],
    b: Annotated[
        str | None, typer.Argument(metavar="[B]", help="The newer version; default: that of REPO.")
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Read both versions and count the elements that differ.")
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Compare two versions, or two arrays.

    Lists groups and arrays that were added, deleted or updated from version A to version B, and the boxes of
    elements that were written. With two addresses of arrays, REPO:/PATH and OTHER:/PATH, compares their
    values; channels with a time axis are aligned by GPS time.
    """
    if split_path(repo)[1] is not None:
        _arrays(repo, a, b, json, storage)
        return
    try:
        with Progress("diff"):
            changes = open_repo(repo, storage).diff(a, b, values)
    except errors.NotFound:
        if not os.path.exists(a):
            raise
        message = f"{a} is a path; diff compares versions of a repository, or two arrays"
        raise errors.make("invalid", message, f"icecore diff {repo}:/PATH {a}:/PATH") from None
    emit(changes.to_dict(), json, _text(changes))


def _arrays(one: str, other: str, rest: str | None, json: bool, storage: list[str] | None) -> None:
    """Compare the arrays at two addresses by values."""
    from icecore.repository.array import Array
    from icecore.repository.history.compare_arrays import compare

    if rest is not None or split_path(other)[1] is None:
        message = f"{one} is an array; expected a second one (got {rest or other})"
        raise errors.make("invalid", message, "icecore diff A.icecore:/H1/X B.icecore:/H1/X")
    found: list[Array] = []
    for address in (one, other):
        repo, path = split_path(address)
        assert path is not None
        array = open_repo(repo, storage)[path]
        if not isinstance(array, Array):
            raise errors.make("invalid", f"{address} is a group; expected an array", f"icecore ls {address}")
        found.append(array)
    with Progress("diff"):
        result = compare(*found)
    emit(result.to_dict(), json, str(result))


def _written(path: str, written: ArrayChange) -> list[str]:
    from icecore.display import text

    counts = [text.plural(written.chunks, "chunk"), text.plural(written.elements, "element")]
    differ = f", {written.differ:,} differ" if written.differ is not None else ""
    lines = [f"~ {path}: {counts[0]} written, {counts[1]}{differ}"]
    for start, stop in written.boxes[:_BOXES]:
        lines.append("    [" + ", ".join(f"{a}:{b}" for a, b in zip(start, stop, strict=True)) + "]")
    rest = len(written.boxes) - _BOXES
    return [*lines, *([f"    … and {rest:,} more boxes"] if rest > 0 else [])]


def _text(changes: Diff) -> str:
    lines = []
    for what, sign in _SIGNS.items():
        for kind in ("groups", "arrays"):
            tail = "/" if kind == "groups" else ""
            lines += [f"{sign} {path.rstrip('/')}{tail}" for path in getattr(changes, f"{what}_{kind}")]
    for path, (before, after) in sorted(changes.shapes.items()):
        lines.append(f"~ {path}: shape {before} → {after}")
    for path, chunks in sorted(changes.chunks.items()):
        lines += _written(path, chunks)
    return "\n".join(lines) or "no difference"
