"""Outputs that would take a linked file's place."""

from __future__ import annotations

import os
from contextlib import suppress

from icecore import errors
from icecore.repository.nodes import SOURCES
from icecore.repository.repo import Repo


def spare(repo: Repo, output: str) -> None:
    """Refuse to write over a file that a version links to: its arrays would be lost.

    Raises:
        Error: ``invalid``.
    """
    if os.path.isfile(output) and _is_linked(repo, os.stat(output)):
        message = f"{output} is a file that {repo.url} links to: what is linked would be lost"
        raise errors.make("invalid", message, "name another file")


def _is_linked(repo: Repo, file: os.stat_result) -> bool:
    from icecore.sources.files.identity import local_path

    keeper = repo._nodes.get(SOURCES)
    linked = keeper.document.get("attributes", {}).get("sources", {}) if keeper is not None else {}
    for url in linked:
        with suppress(OSError, ValueError):  # it is gone, or no file
            if os.path.samestat(os.stat(local_path(url)), file):
                return True
    return False
