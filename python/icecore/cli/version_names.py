"""Shared code of ``icecore branch`` and ``icecore tag``: list, create and delete names of versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from icecore import errors
from icecore.cli.console import emit, print_stderr

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


def name_version(
    repo: Repo, kind: Literal["branch", "tag"], name: str | None, delete: bool, as_json: bool
) -> None:
    """List branches or tags, delete one, or create one at the version of ``repo``."""
    if name is None:
        if delete:
            raise errors.make("invalid", "--delete needs a name", f"icecore {kind} REPO NAME --delete")
        known = repo.tags if kind == "tag" else repo.branches
        emit(known, as_json, "\n".join(f"{snapshot}  {each}" for each, snapshot in known.items()) or "none")
    elif delete:
        (repo.delete_tag if kind == "tag" else repo.delete_branch)(name)
        if as_json:
            emit({kind: name, "deleted": True}, as_json, "")
        else:
            print_stderr(f"deleted {kind} {name}")
    else:
        (repo.tag if kind == "tag" else repo.branch)(name)
        facts = {kind: name, "snapshot": repo.snapshot_id}
        emit(
            facts, as_json, f"{repo.snapshot_id}  {name}", done=f"the {kind} {name} was created nevertheless"
        )
