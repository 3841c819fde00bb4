"""``icecore verify``: check references, checksums and linked files."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import (
    AllowLinks,
    Json,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    open_repo,
    print_stderr,
)

EXAMPLES = (
    "icecore verify icecore-demo/demo.icecore",
    "icecore verify icecore-demo/demo.icecore --deep --json",
    "icecore verify icecore-demo/demo.icecore --history",
)


def verify(
    repo: RepoArgument,
    deep: Annotated[bool, typer.Option("--deep", help="Read and decode every chunk.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Check the files of all versions, not only of this one.")
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Check references and data.

    Checks this version's files, every reference and every linked file, and lists the problems.
    Exit status 1 if there are problems.
    """
    from icecore.display import text

    opened = open_repo(repo, storage, allow_links)
    with Progress("verify", nbytes=False) as progress:
        problems = opened.verify(deep, progress.count, history)
    unsealed = opened._native.unsealed() if history else []
    if unsealed and not json:
        print_stderr(_unsealed(unsealed))
    checked = f"{text.plural(len(opened.arrays), 'array')} of {opened.url}@{opened.ref}"
    checked += " and all versions" if history else ""
    plain = "\n".join([*map(str, problems), f"{text.plural(len(problems), 'problem')} in {checked}"])
    emit(
        {
            "problems": [problem.to_dict() for problem in problems],
            "arrays": len(opened.arrays),
            **({"unsealed": unsealed} if history else {}),
        },
        json,
        plain if problems else f"no problems in {checked}",
    )
    if any(problem.kind == "corrupt" for problem in problems) and not json:
        print_stderr(f"  try: mend it from a copy: icecore repair {repo} --from COPY")
    raise typer.Exit(1 if problems else 0)


def _unsealed(ids: list[str]) -> str:
    """Describe versions without checksums. Other software commits without them, so they are not problems."""
    from icecore.display import text

    shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3:,} more" if len(ids) > 3 else "")
    return f"no checksums of {text.plural(len(ids), 'version')} (no seals/ID): {shown}"
