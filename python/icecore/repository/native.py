"""The engine's handle of a repository, opened with errors that say where the repository may be instead."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from icecore import errors
from icecore.repository import address

if TYPE_CHECKING:
    from icecore import _icecore


def open_native(
    place: str, ref: str | None, storage: Mapping[str, str] | None, allow_links: list[str] | None
) -> _icecore.Repo:
    """Open the repository at ``place``; ``allow_links`` are URL prefixes."""
    from icecore import _icecore

    try:
        return _icecore.Repo.open(place, ref, dict(storage or {}), allow_links)
    except errors.NotFound as error:
        if ref is None or not _exists(place, storage):
            raise errors.no_file(error.message, _elsewhere(place) or error.hint) from None
        raise


def _elsewhere(place: str) -> str:
    """What to try where nothing is at ``place``, but around it."""
    if place.startswith("memory://"):
        return f'icecore.create("{place}") makes one, for as long as this process lives'
    found = None if address.is_url(place) else address.around(place)
    return f"name the path apart from the repository: {found[0]} {found[1]}" if found else ""


def _exists(place: str, storage: Mapping[str, str] | None) -> bool:
    from icecore import _icecore

    if not address.is_url(place) and not os.path.exists(place):
        return False
    try:
        _icecore.Repo.open(place, None, dict(storage or {}), None)
    except errors.Error:
        return False
    return True
