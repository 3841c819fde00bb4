"""Open and create repositories."""

from __future__ import annotations

import os
from collections.abc import Mapping

from icecore import errors
from icecore.repository import address
from icecore.repository.native import open_native
from icecore.repository.repo import Repo


def open(
    url: str | os.PathLike[str],
    *,
    storage: Mapping[str, str] | None = None,
    allow_links: list[str] | None = None,
) -> Repo:
    """Open a repository: ``moon.icecore``, ``moon.icecore@v1``, ``s3://bucket/moon@2026-11-01T00:00:00Z``.

    Args:
        url: a folder or URL, and after ``@`` a branch, a tag, a snapshot id or an ISO time; branch ``main``
            by default.
        storage: credentials and settings of the object store, by the store's names for them.
        allow_links: URL prefixes or folders that linked files may be read from; by default those the
            repository was linked with.

    Raises:
        Error: ``not-found`` (a ``FileNotFoundError`` where there is no repository, a ``KeyError`` where
            there is no such version), ``permission``, ``network``, ``format``.
    """
    place, ref = address.repository(url)
    allowed = None if allow_links is None else [address.prefix(item) for item in allow_links]
    return Repo(open_native(address.location(place), ref, storage, allowed), storage, allowed)


def create(
    url: str | os.PathLike[str], *, storage: Mapping[str, str] | None = None, exist_ok: bool = False
) -> Repo:
    """Create an empty repository in a folder, in memory (``memory://name``, for as long as the
    process lives; ``memory://``, for as long as it is used) or in an object store.

    Args:
        url: where; the folder must not exist or be empty.
        storage: credentials and settings of the object store.
        exist_ok: open the repository that is already there instead of refusing.

    Raises:
        Error: ``exists``, ``permission``, ``io``, ``network``, ``read-only`` (http), ``invalid`` inside of
            another repository.
    """
    from icecore import _icecore

    place = address.location(url)
    outer = None if address.is_url(place) else address.around(place)
    if outer is not None:
        # A path as zarr-python takes it: what was made there would be in nobody's tree.
        message, hint = f"{place} lies inside of the repository {outer[0]}", "link and pack it with --group"
        raise errors.make("invalid", message, f"{hint} {outer[1]} --into {outer[0]}")
    try:
        return Repo(_icecore.Repo.create(place, dict(storage or {})), storage, None)
    except errors.Error as error:
        if exist_ok and error.kind == "exists":
            return Repo(open_native(place, None, storage, None), storage, None)
        raise
