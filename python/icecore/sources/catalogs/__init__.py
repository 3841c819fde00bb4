"""Catalogues as sources: ``cmr:``, ``stac:``, ``gwosc:`` and ``datafind:`` name the files that match a query.

Each service is one module with ``PARAMETERS`` and ``find(query, most)``, on top of the service's own client.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from icecore import errors
from icecore.sources.catalogs.query import Found, Query
from icecore.sources.files import access
from icecore.sources.files.identity import is_remote, named_by

#: services by the beginning of a source; the last part of the module that reads each
SERVICES = ("cmr", "stac", "gwosc", "datafind")
_SEARCH = re.compile(rf"({'|'.join(SERVICES)}):(?!//)\S", re.IGNORECASE)
#: largest number of files without a limit of the caller
MOST = 10_000
#: HTTP status → kind of error, and hint
_STATUS = {
    400: ("invalid", "check the name and the parameters"),
    401: ("permission", "the catalogue wants a login"),
    403: ("permission", "the catalogue wants a login"),
    404: ("source-missing", "check the name, and the address of the catalogue"),
}


def is_search(source: str) -> bool:
    """Whether a source is a question to a catalogue."""
    return _SEARCH.match(source) is not None


def find(source: str, **parameters: Any) -> list[Found]:
    """Find files by place and time.

    Args:
        source: ``cmr:ATL03`` (a collection of NASA), ``stac:https://host/api`` (an API or a static catalog),
            ``gwosc:H1`` (a detector), ``gwosc:GW150914`` (an event) or ``datafind:H/H1_HOFT_C00`` (a frame
            type); parameters may follow behind ``?``.
        parameters: ``bbox`` (``"WEST,SOUTH,EAST,NORTH"`` in degrees, or four numbers), ``time``
            (``"2019-01..2019-02"``, with both ends, or GPS seconds), ``limit``, and those of the service.

    Returns:
        The files, in the order of the catalogue.

    Raises:
        Error: ``invalid`` for a query that the service can't answer, or that more than 10,000 files match
            and that has no ``limit``; ``network``, ``permission``; ``unsupported`` if the service's client is
            not installed.

    Example:
        >>> from icecore.sources.catalogs import is_search
        >>> is_search("cmr:ATL03?bbox=-50,68,-49,69&time=2019-01..2019-02")
        True
    """
    given = {name: _text(value) for name, value in parameters.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice of the clients to those who call them
        return list(_found(Query.parse(source, given)))


def urls(source: str) -> list[str]:
    """Return the addresses of the files that match, each once.

    Raises:
        Error: ``source-missing`` if no file matches; see :func:`find`.
    """
    found = list(dict.fromkeys(item.url for item in find(source)))
    if not found:
        raise errors.make("source-missing", f"nothing matches {source}", "check the box and the times")
    return found


def _text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else ",".join(map(str, value))
        if isinstance(value, (tuple, list))
        else str(value)
    )


def _found(query: Query) -> Iterator[Found]:
    if query.service not in SERVICES or not query.name:
        known = ", ".join(f"{service}:NAME" for service in SERVICES)
        raise errors.make("invalid", f"{query}: no catalogue is named so", f"known: {known}")
    place = query.parameters.get("host", query.name if "://" in query.name else f"{query.service}://")
    access.check(place)
    module = import_module(f"icecore.sources.catalogs.{query.service}")
    query.check(module.PARAMETERS)
    # A cluster's catalogue names files on its disks, and so may a catalogue on this machine.
    names_disk = query.service == "datafind" or (query.service == "stac" and not is_remote(query.name))
    try:
        for item in module.find(query, MOST):
            if not names_disk:
                named_by(place, item.url)
            yield item
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise errors.needs(errors.extra_of(package), f"{query} needs the package {package}") from error
    except errors.Error:
        raise
    except Exception as error:  # clients raise those of requests, and RuntimeError
        raise _failed(query, error) from error


def _failed(query: Query, error: Exception) -> errors.Error:
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    statuses = [getattr(getattr(each, "response", each), "status_code", None) for each in causes]
    status = next((each for each in statuses if each is not None), None)
    said = " ".join(str(error).split())[:300] or type(error).__name__
    kind, hint = _STATUS.get(status or 0, ("network", "check the connection and try again"))
    if status is None and not any(isinstance(each, OSError) for each in causes):
        kind, hint = "invalid", "check the name and the parameters"
    return errors.make(kind, f"{query}: {said}", hint)
