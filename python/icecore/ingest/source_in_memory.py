"""Open a source file as a repository in memory: its arrays are linked, rows of text are packed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from icecore import errors
from icecore.ingest.link import link
from icecore.ingest.pack import pack
from icecore.ingest.plan.repository_source import is_repository
from icecore.repository import address
from icecore.repository.open import create
from icecore.repository.repo import Repo
from icecore.sources import catalogs
from icecore.sources.files import pelican, tree_address
from icecore.sources.files.identity import is_remote


def opened(name: str, storage: Mapping[str, Any] | None = None) -> Repo | None:
    """Return a repository with the arrays and tables of a file, on disk or on a server.

    Returns:
        None if no file has that name.

    Raises:
        Error: the kinds of :func:`icecore.link`.
    """
    name = address.named(name)
    if pelican.is_federation(name):
        name = pelican.address(name)
    if not _is_source(name):
        return None
    return filled(name, "memory://", storage)


def filled(name: str, into: str, storage: Mapping[str, Any] | None = None) -> Repo | None:
    """Return a new repository at ``into`` with the arrays and tables of a file; None if there is no file.

    Raises:
        Error: the kinds of :func:`icecore.link`.
    """
    repo = create(into, storage=_for_links(name, storage or {}))
    try:
        fill(name, repo, storage=storage)
    except errors.Error as error:
        if error.kind == "source-missing" and is_remote(name):
            return None
        raise
    return repo.at("main")


def _for_links(name: str, storage: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those without an address given to the server of ``name``: links need an address."""
    own = {key: value for key, value in storage.items() if "://" not in key}
    if not own or not is_remote(name):
        return dict(storage)
    return {**{key: storage[key] for key in storage if key not in own}, address.bucket(name): own}


def fill(name: str, repo: Repo, **options: Any) -> None:
    """Link a file into the root of an empty repository; a table of text becomes ``/table``."""
    try:
        link(name, repo, "/", **options)
    except errors.Error as error:
        if error.kind != "unsupported" or "text" not in error.message:
            raise
        options.pop("variables", None)
        pack(name, repo, group="/table", **options)  # numbers of text can't be linked


def _is_source(name: str) -> bool:
    if is_remote(name):
        return not is_repository(name)
    file, _ = tree_address.split(name)
    return os.path.isfile(file) or catalogs.is_search(name)
