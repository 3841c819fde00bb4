"""Reject outputs that would overwrite a linked file."""

from __future__ import annotations

import os
from contextlib import suppress

from icecore import errors
from icecore.repository.repo import Repo


def reject_linked(repo: Repo, output: str) -> None:
    """Reject an output file that a version links to: overwriting it would destroy the linked arrays.

    Raises:
        Error: ``invalid``.
    """
    if os.path.isfile(output) and _is_linked(repo, os.stat(output)):
        message = f"{output} is linked by {repo.url}: its arrays would be lost"
        raise errors.make("invalid", message, "name another file")


def _is_linked(repo: Repo, file: os.stat_result) -> bool:
    from icecore.sources.files.identity import local_path

    for url in repo._native.sources():
        with suppress(OSError, ValueError):  # missing, or not a file
            if os.path.samestat(os.stat(local_path(url)), file):
                return True
    return False
