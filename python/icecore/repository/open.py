"""Open and create repositories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from icecore import errors
from icecore.repository import address
from icecore.repository.repo import Repo
from icecore.repository.storage import logins, storage_options
from icecore.repository.storage.native import open_native


def open(
    url: str | os.PathLike[str],
    *,
    storage: Mapping[str, Any] | None = None,
    allow_links: list[str] | None = None,
    durability: str | None = None,
) -> Repo:
    """Open a repository: ``moon.icecore``, ``moon.icecore@v1``, ``s3://bucket/moon@2026-11-01T00:00:00Z``.

    Args:
        url: a directory or URL, optionally followed by ``@`` and a branch, tag, snapshot id or ISO time,
            or a revision such as ``main~1``, see :meth:`Repo.at`. The default is branch ``main``.
        storage: credentials and settings of the object store, as obstore, fsspec or AWS name them.
        allow_links: URL prefixes or directories that linked files may be read from. The default is the
            prefixes that were recorded when the files were linked.
        durability: ``"none"`` for scratch data: commits don't wait until they are on disk, and a power
            failure may leave a repository that can't be read. By default ``"full"``, or the value of
            ``ICECORE_DURABILITY``.

    Returns:
        The repository at that version.

    Raises:
        Error: ``not-found`` (a ``FileNotFoundError`` if the repository does not exist, a ``KeyError`` if the
            version does not exist), ``permission``, ``network``, ``format``.

    Example:
        >>> import icecore
        >>> with icecore.create("moon.icecore").writer() as w:
        ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
        >>> icecore.open("moon.icecore")["/t2m"][1:].tolist()
        [2.0, 3.0]
    """
    place, ref = address.repository(url)
    storage = storage_options.resolve(address.location(place), storage)
    storage = storage_options.with_durability(storage, durability)
    allowed = None if allow_links is None else [address.prefix(item) for item in allow_links]
    return Repo(open_native(address.location(place), ref, storage, allowed), storage, allowed)


def create(
    url: str | os.PathLike[str],
    *,
    storage: Mapping[str, Any] | None = None,
    exist_ok: bool = False,
    durability: str | None = None,
) -> Repo:
    """Create an empty repository in a directory, in an object store or in memory.

    Args:
        url: the location. A directory must be empty or not exist. ``memory://name`` lasts as long as the
            process, ``memory://`` as long as the returned object.
        storage: credentials and settings of the object store, as obstore, fsspec or AWS name them.
        exist_ok: open an existing repository instead of raising ``exists``.
        durability: ``"none"`` for scratch data: commits don't wait until they are on disk, and a power
            failure may leave a repository that can't be read. By default ``"full"``, or the value of
            ``ICECORE_DURABILITY``.

    Returns:
        The repository at branch ``main``.

    Raises:
        Error: ``exists``, ``permission``, ``io``, ``network``; ``read-only`` for http URLs; ``invalid`` for a
            location inside another repository.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> repo.keys()
        []
    """
    from icecore import _icecore

    place = address.location(url)
    storage = storage_options.with_durability(storage_options.resolve(place, storage), durability)
    outer = None if address.is_url(place) else address.around(place)
    if outer is not None:
        # zarr-python accepts such paths; a repository created there would be invisible in the outer one.
        message, hint = f"{place} is inside the repository {outer[0]}", "write to a group of it: --group"
        raise errors.make("invalid", message, f"{hint} {outer[1]} --into {outer[0]}")
    try:
        return Repo(_icecore.Repo.create(place, logins.with_logins(place, storage)), storage, None)
    except errors.Error as error:
        if exist_ok and error.kind == "exists":
            return Repo(open_native(place, None, storage, None), storage, None)
        raise
