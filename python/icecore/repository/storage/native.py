"""Open the engine's handle of a repository; errors suggest where the repository may be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from icecore import errors
from icecore.repository import address
from icecore.repository.storage import logins, storage_options

if TYPE_CHECKING:
    from icecore import _icecore


def open_native(
    place: str, ref: str | None, storage: Mapping[str, str] | None, allow_links: list[str] | None
) -> _icecore.Repo:
    """Open the repository at ``place``; ``allow_links`` are URL prefixes."""
    from icecore import _icecore

    storage = logins.with_logins(place, storage_options.resolve(place, storage))
    try:
        return _icecore.Repo.open(place, ref, storage, allow_links)
    except errors.NotFound as error:
        if ref is None or not _exists(place, storage):
            raise errors.no_file(error.message, _elsewhere(place) or error.hint) from None
        raise


def _elsewhere(place: str) -> str:
    """Return a hint for a repository that does not exist."""
    if place.startswith("memory://"):
        return f'icecore.create("{place}") creates one; it lasts as long as this process'
    found = None if address.is_url(place) else address.around(place)
    return f"give the repository and the path separately: {found[0]} {found[1]}" if found else ""


def _exists(place: str, storage: Mapping[str, str] | None) -> bool:
    from icecore import _icecore

    if not address.is_url(place) and not os.path.exists(place):
        return False
    try:
        _icecore.Repo.open(place, None, dict(storage or {}), None)
    except errors.Error:
        return False
    return True
