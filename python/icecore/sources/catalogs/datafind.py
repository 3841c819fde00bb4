"""Frame files of LIGO, Virgo and KAGRA clusters, through gwdatafind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from icecore import errors
from icecore.sources.catalogs.gwosc import found_of
from icecore.sources.catalogs.query import Found, Query

PARAMETERS = ("match", "urltype", "ext")
_HINT = "datafind:H/H1_HOFT_C00?time=1187008800..1187012896"


def find(query: Query, most: int) -> Iterator[Found]:
    """Yield the files of a frame type: ``datafind:OBSERVATORY/FRAMETYPE?time=GPS..GPS``.

    The server is ``host``, or that of ``GWDATAFIND_SERVER``. ``urltype`` is ``file``, ``https``, ``osdf``, …

    Raises:
        Error: ``invalid`` without a frame type or times, or without a server.
    """
    import gwdatafind

    site, _, frametype = query.name.partition("/")
    times = query.gps
    if not frametype or times is None:
        raise errors.make("invalid", f"{query}: an observatory, a frame type and times are needed", _HINT)
    given = query.parameters
    how: dict[str, Any] = {name: given[name] for name in (*PARAMETERS, "host") if name in given}
    try:
        urls = gwdatafind.find_urls(site, frametype, *times, on_gaps="ignore", **how)
    except ValueError as error:
        message = f"{query}: {' '.join(str(error).split())}"
        raise errors.make("invalid", message, "give host=, or set GWDATAFIND_SERVER") from error
    yield from found_of(query, urls, most)
