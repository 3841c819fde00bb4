"""Versions of repositories that requests have named."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from icecore.repository.open import open as open_repository
from icecore.repository.repo import Repo


def repository(node: Mapping[str, Any]) -> Repo:
    """Open the version of a repository that the server found."""
    allowed = node["allow_links"]
    return _opened(
        node["url"],
        node["snapshot"],
        tuple(sorted(node["storage"].items())),
        None if allowed is None else tuple(allowed),
    )


@lru_cache(maxsize=32)
def _opened(
    url: str, snapshot: str, storage: tuple[tuple[str, str], ...], allowed: tuple[str, ...] | None
) -> Repo:
    return open_repository(
        f"{url}@{snapshot}",
        storage=dict(storage) or None,
        allow_links=None if allowed is None else list(allowed),
    )
