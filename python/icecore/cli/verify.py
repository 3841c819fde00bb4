"""``icecore verify``: check every reference, checksum and linked file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from icecore.cli.console import (
    AllowLinks,
    Json,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    examples,
    open_repo,
)


def verify(
    repo: RepoArgument,
    deep: Annotated[bool, typer.Option("--deep", help="Read and decode every chunk.")] = False,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Check references and data.

    Checks every reference and linked file, and names what is wrong and where. Exit status 1 if anything is.
    """
    from icecore import text

    opened = open_repo(repo, storage, allow_links)
    with Progress("verify", nbytes=False) as progress:
        problems = opened.verify(deep, progress.count)
    checked = f"{text.plural(len(opened.arrays), 'array')} of {opened.url}@{opened.ref}"
    lines = [_line(problem) for problem in problems]
    plain = "\n".join([*lines, f"{text.plural(len(problems), 'problem')} in {checked}"])
    emit(
        {"problems": problems, "arrays": len(opened.arrays)},
        json,
        plain if problems else f"no problem in {checked}",
    )
    raise typer.Exit(1 if problems else 0)


def _line(problem: dict[str, Any]) -> str:
    where = " ".join(str(problem[key]) for key in ("path", "chunk", "where") if problem.get(key) is not None)
    return f"{problem['kind']}: {where}: {problem['message']}"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore verify icecore-demo/demo.icecore",
            "icecore verify icecore-demo/demo.icecore --deep --json",
        )
    )(verify)
