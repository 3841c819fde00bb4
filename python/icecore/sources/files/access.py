"""Which files a process may open: all by default; in a service, only what its operator named.

Every source goes through :func:`check` before it opens a file, also one that another file names: external
storage, external links, virtual sources, references, companion files, lists.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from icecore import errors

#: worker processes inherit it
_VARIABLE = "ICECORE_ONLY_FILES"


def _given() -> tuple[str, ...] | None:
    text = os.environ.get(_VARIABLE)
    return None if text is None else tuple(json.loads(text))


_places: tuple[str, ...] | None = _given()
_recorders: list[set[str]] = []


@contextmanager
def only(places: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Restrict this process, and those that it starts, to files, directories and URL prefixes.

    Args:
        places: paths of files or directories, or URL prefixes such as ``s3://bucket/folder``.
    """
    global _places
    before, variable = _places, os.environ.get(_VARIABLE)
    _places = tuple(dict.fromkeys(_normal(os.fspath(place)) for place in places))
    os.environ[_VARIABLE] = json.dumps(_places)
    try:
        yield
    finally:
        _places = before
        if variable is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = variable


def places() -> tuple[str, ...] | None:
    """Return what may be opened: real paths and URL prefixes; None if everything may."""
    return _places


def is_allowed(source: str | os.PathLike[str]) -> bool:
    """Whether a path (after symbolic links) or URL may be opened."""
    if _places is None:
        return True
    try:
        place = _normal(os.fspath(source))
    except ValueError:
        return False
    return any(_covers(allowed, place) for allowed in _places)


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Collect the places that are opened inside the block, by any thread."""
    opened: set[str] = set()
    _recorders.append(opened)
    try:
        yield opened
    finally:
        _recorders[:] = [each for each in _recorders if each is not opened]


def check(source: str | os.PathLike[str]) -> None:
    """Raise ``link-not-allowed`` if a file may not be opened."""
    for opened in list(_recorders):
        opened.add(os.fspath(source))
    if not is_allowed(source):
        raise errors.make(
            "link-not-allowed",
            f"{os.fspath(source)} is outside of the files that this service may open",
            "its operator can allow the directory: icecore serve … --allow-links DIRECTORY",
        )


def _normal(place: str) -> str:
    """Return the real path of a file, or a URL without tricks.

    Raises:
        ValueError: for a URL whose path leads upwards or whose host is hidden, and for a path with NUL.
    """
    if place.startswith("file://"):
        place = unquote(urlsplit(place).path)
    if "://" not in place:
        return os.path.realpath(place)
    parts = urlsplit(place)
    path = unquote(parts.path)
    if ".." in path.split("/") or "\\" in place or "@" in parts.netloc or "%" in parts.netloc:
        raise ValueError(place)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path}"


def _covers(allowed: str, place: str) -> bool:
    return place == allowed or place.startswith(allowed.rstrip("/") + "/")
