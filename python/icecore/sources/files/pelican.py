"""Files of Pelican federations (OSDF): ``osdf:///path`` and ``pelican://federation/path`` as https addresses.

The federation names its director, which redirects a request for a file to a cache near by.
Source: https://docs.pelicanplatform.org, "Federation discovery": ``/.well-known/pelican-configuration``.
"""

from __future__ import annotations

import json
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

from icecore import errors
from icecore.sources.files import access

SCHEMES = ("osdf://", "pelican://")
_OSDF = "osg-htc.org"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_federation(source: str) -> bool:
    """Whether a source is a file of a federation."""
    return source.startswith(SCHEMES)


def address(source: str) -> str:
    """Return the address of a file at the director of its federation.

    Raises:
        Error: ``invalid`` for an address without a file; ``network`` if the federation can't be asked.
    """
    parts = urlsplit(source)
    # osdf:///path and osdf://path are in use
    is_named = parts.scheme == "pelican"
    host = parts.netloc if is_named else _OSDF
    path = parts.path if is_named else f"{parts.netloc}{parts.path}"
    path = unquote(path).lstrip("/")
    if not host or not path:
        raise errors.make("invalid", f"{source} names no file", "osdf:///path, pelican://federation/path")
    return f"{_director(host)}/{quote(path)}"


@lru_cache(maxsize=32)
def _director(host: str) -> str:
    scheme = "http" if host.rpartition(":")[0] in _LOOPBACK else "https"
    place = f"{scheme}://{host}/.well-known/pelican-configuration"
    access.check(place)
    from icecore.sources.files.http import page  # slow to import

    try:
        found = json.loads(page(place)[1])["director_endpoint"]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str) or not found.startswith(("https://", "http://")):
        message = f"{place} names no director of a federation"
        raise errors.make("network", message, "check the name of the federation")
    return found.rstrip("/")
