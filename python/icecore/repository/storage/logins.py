"""Logins for web servers that people keep in ``~/.netrc`` and ``EARTHDATA_TOKEN``."""

from __future__ import annotations

import netrc
import os
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from icecore import errors

#: hosts of NASA's archives: a token is sent to none other
_EARTHDATA = (".earthdata.nasa.gov", ".earthdatacloud.nasa.gov")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HEADER = "header.authorization"


def authorization(url: str) -> str | None:
    """Return the header ``Authorization`` for a web server, None without a login.

    Logins are sent over ``https`` only (over ``http`` to this machine), and never to the host of a redirect.

    Raises:
        Error: ``invalid`` if ``~/.netrc`` can't be parsed.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and host not in _LOOPBACK:
        return None
    token = os.environ.get("EARTHDATA_TOKEN")
    if token and host.endswith(_EARTHDATA):
        return f"Bearer {token}"
    return _machines().get(host)


def with_logins(place: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return resolved options of the repository at ``place``, and a header for each machine of ``~/.netrc``.

    Machines for which there are options already are left out.
    """
    own = urlsplit(place).hostname if any(key.startswith("header.") for key in options) else None
    given = {key.split("/")[2].partition(".header.")[0] for key in options if key.startswith("https://")}
    added = {
        f"https://{host}.{_HEADER}": header
        for host, header in _machines().items()
        if host != own and not any(name == host or name.startswith(f"{host}.") for name in given)
    }
    return {**options, **added}


def _machines() -> dict[str, str]:
    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    try:
        return _parsed(path, os.stat(path).st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=2)
def _parsed(path: str, _modified: int) -> dict[str, str]:
    try:
        hosts = netrc.netrc(path).hosts
    except netrc.NetrcParseError as error:
        message = f"{path}, line {error.lineno}: {error.msg}"
        raise errors.make("invalid", message, "machine HOST login NAME password WORD") from None
    found = {}
    for host, (login, _, password) in hosts.items():
        if host != "default" and password:
            pair = b64encode(f"{login}:{password}".encode()).decode()
            found[host] = f"Basic {pair}"
    return found
