"""Strain files of the Gravitational Wave Open Science Center, through gwosc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from icecore import errors
from icecore.sources.catalogs.query import Found, Query

PARAMETERS = ("detector", "format", "rate", "dataset", "version", "duration")
_DETECTOR = re.compile(r"[GHKLV]\d")
#: ``H-H1_GWOSC_16KHZ_R1-1126259447-32.hdf5``
_SPAN = re.compile(r"-(\d+)-(\d+)\.\w+$")


def find(query: Query, most: int) -> Iterator[Found]:
    """Yield the files of a detector (``gwosc:H1?time=…``), an event (``gwosc:GW150914``) or a run
    (``gwosc:O3a_4KHZ_R1?detector=L1&time=…``).

    Raises:
        Error: ``invalid`` if a detector or a run is named without times; ``source-missing`` if no data set
            covers them.
    """
    yield from found_of(query, _urls(query), most)


def found_of(query: Query, urls: list[str], most: int) -> Iterator[Found]:
    """Yield files whose names end in the GPS second of their start and their length.

    Raises:
        Error: ``invalid`` if there are more than ``most`` and the query has no limit.
    """
    urls = list(dict.fromkeys(urls))
    if query.limit is None and len(urls) > most:
        message = f"{query}: {len(urls):,} files match, more than {most:,}"
        raise errors.make("invalid", message, "narrow it with time=, or give limit=")
    for url in urls[: query.limit]:
        span = _SPAN.search(urlsplit(url).path)
        yield Found(url, span[1], str(int(span[1]) + int(span[2]))) if span else Found(url)


def _urls(query: Query) -> list[str]:
    from gwosc import locate

    given = query.parameters
    how: dict[str, Any] = {"format": given.get("format", "hdf5"), "sample_rate": int(given.get("rate", 4096))}
    if "host" in given:
        how["host"] = given["host"].rstrip("/")
    times = query.gps
    if _DETECTOR.fullmatch(query.name):
        first, last = _needed(query, times)
        more = {name: given[name] for name in ("dataset",) if name in given}
        return _covering(query, lambda: locate.get_urls(query.name, first, last, **more, **how))
    if _is_event(query.name):
        how |= {name: int(given[name]) for name in ("version", "duration") if name in given}
        how |= {"detector": given["detector"]} if "detector" in given else {}
        how |= {"start": times[0], "end": times[1]} if times is not None else {}
        return _covering(query, lambda: locate.get_event_urls(query.name, **how))
    first, last = _needed(query, times)
    if "detector" not in given:
        raise errors.make("invalid", f"{query}: of a run a detector is needed", "detector=H1")
    return _covering(query, lambda: locate.get_run_urls(query.name, given["detector"], first, last, **how))


def _is_event(name: str) -> bool:
    return re.match(r"(GW|S)?\d{6}", name) is not None


def _needed(query: Query, times: tuple[int, int] | None) -> tuple[int, int]:
    if times is None:
        raise errors.make(
            "invalid", f"{query}: which time?", "time=1126259446..1126259478, or an event: gwosc:GW150914"
        )
    return times


def _covering(query: Query, ask: Any) -> list[str]:
    try:
        found: list[str] = ask()
    except ValueError as error:
        message = f"{query}: {' '.join(str(error).split())}"
        raise errors.make("source-missing", message, "check the detector and the time") from error
    return found
