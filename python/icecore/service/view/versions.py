"""Versions of a repository."""

from __future__ import annotations

from typing import Any

from icecore.repository.repo import Repo

_SHOWN = 100


def versions(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return branches, tags and the newest commits."""
    return {
        "shown": repo.snapshot_id,
        "branches": repo.branches,
        "tags": repo.tags,
        "commits": [
            {"id": each.id, "message": each.message, "time": each.time.isoformat()}
            for each in repo.log(_SHOWN)
        ],
    }
