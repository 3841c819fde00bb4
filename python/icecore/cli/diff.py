"""``icecore diff``: what changed between two versions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, emit, examples, open_repo

_SIGNS = {"new": "+", "deleted": "-", "updated": "~"}


def diff(
    repo: RepoArgument,
    a: Annotated[str, typer.Argument(metavar="A", help="The older version.")],
    b: Annotated[
        str | None, typer.Argument(metavar="[B]", help="The newer one; that of REPO by default.")
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Compare two versions.

    What changed from version A to version B: groups and arrays added, deleted, updated; chunks written.
    """
    changes = open_repo(repo, storage).diff(a, b)
    emit(changes, json, _text(changes))


def _text(changes: dict[str, Any]) -> str:
    from icecore import nodes, text

    lines = []
    for what, sign in _SIGNS.items():
        for kind in ("groups", "arrays"):
            paths = [path for path in changes.get(f"{what}_{kind}", []) if not nodes.hidden(path)]
            lines += [f"{sign} {path}{'/' if kind == 'groups' else ''}" for path in sorted(paths)]
    for path, chunks in sorted(changes.get("chunks", {}).items()):
        if not nodes.hidden(path):
            lines.append(f"~ {path}: {text.plural(len(chunks), 'chunk')} written")
    return "\n".join(lines) or "no difference"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore diff icecore-demo/demo.icecore linked",
            "icecore diff icecore-demo/demo.icecore linked main --json",
        )
    )(diff)
