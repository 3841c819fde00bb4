"""Questions to catalogues: ``cmr:ATL03?bbox=-50,68,-49,69&time=2019-01..2019-02``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np

from icecore import errors
from icecore.repository.leap_seconds import gps_of_utc

#: a date of one to three parts, and a time of day
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_GPS = re.compile(r"\d{8,10}(?:\.\d+)?")
#: parameters that each service has
COMMON = ("bbox", "time", "limit", "host")


@dataclass(frozen=True)
class Found:
    """A file that a catalogue has.

    Attributes:
        url: its address, which ``link``, ``pack`` and the products accept.
        start: first time that it covers, as the catalogue states it (ISO 8601, or GPS seconds); None if
            unknown.
        end: last time, likewise.
        bbox: west, south, east, north in degrees; None if unknown.
        size: bytes; None if unknown.
    """

    url: str
    start: str | None = None
    end: str | None = None
    bbox: tuple[float, float, float, float] | None = None
    size: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "url": self.url,
            "start": self.start,
            "end": self.end,
            "bbox": None if self.bbox is None else list(self.bbox),
            "size": self.size,
        }


@dataclass(frozen=True)
class Query:
    """A question: the service, the name of a collection (or event, or address), and parameters."""

    service: str
    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        given = urlencode(self.parameters, safe="/:,.*", quote_via=quote)
        return f"{self.service}:{self.name}" + (f"?{given}" if given else "")

    @classmethod
    def parse(cls, text: str, more: Mapping[str, Any] | None = None) -> Query:
        """Parse an address, with further parameters.

        Raises:
            Error: ``invalid`` if a parameter is given twice or has no value.
        """
        service, _, rest = text.partition(":")
        name, _, query = rest.partition("?")
        pairs = parse_qsl(query, keep_blank_values=True)
        pairs += [(key, str(value)) for key, value in (more or {}).items() if value is not None]
        parameters: dict[str, str] = {}
        for key, value in pairs:
            if not value or parameters.setdefault(key, value) != value:
                what = f"is given as {parameters[key]!r} and {value!r}" if value else "has no value"
                raise errors.make("invalid", f"{text}: {key} {what}", f"{service}:NAME?{key}=VALUE")
        return cls(service.lower(), name.strip("/") if "://" not in name else name, parameters)

    def check(self, known: tuple[str, ...]) -> None:
        """Reject parameters that the service doesn't have: they would not narrow the result.

        Raises:
            Error: ``invalid``.
        """
        names = (*COMMON, *known)
        strange = [key for key in self.parameters if key not in names]
        if strange:
            raise errors.make(
                "invalid", f"{self}: unknown parameter {strange[0]}", f"known: {', '.join(names)}"
            )
        _ = self.bbox, self.times, self.limit

    @cached_property
    def bbox(self) -> tuple[float, float, float, float] | None:
        """West, south, east, north in degrees; west is larger than east across the antimeridian."""
        text = self.parameters.get("bbox")
        if text is None:
            return None
        try:
            west, south, east, north = map(float, text.split(","))
        except ValueError:
            west, south, east, north = 0.0, 1.0, 0.0, 0.0
        if not (-90 <= south <= north <= 90 and all(-180 <= each <= 360 for each in (west, east))):
            message = f"bbox must be WEST,SOUTH,EAST,NORTH in degrees (got {text})"
            raise errors.make("invalid", message, "bbox=-50,68.5,-49,69.5")
        return west, south, east, north

    @cached_property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """First and last time in UTC, both inside; None for an open end. GPS seconds are not UTC: ``gps``."""
        first, last = self._ends
        return _moment(first, False), _moment(last, True)

    @cached_property
    def gps(self) -> tuple[int, int] | None:
        """First and last time in whole GPS seconds; None if no time is given.

        Raises:
            Error: ``invalid`` for an open end.
        """
        if "time" not in self.parameters:
            return None
        first, last = (_gps(text, is_last) for text, is_last in zip(self._ends, (False, True), strict=True))
        if first is None or last is None or last < first:
            message = f"time={self.parameters['time']}: both ends are needed, the first one first"
            raise errors.make("invalid", message, "time=1126259446..1126259478")
        return first, last

    @property
    def _ends(self) -> tuple[str, str]:
        text = self.parameters.get("time", "")
        mark = ".." if ".." in text else "/"
        first, is_range, last = text.partition(mark)
        return first.strip(), last.strip() if is_range else first.strip()

    @cached_property
    def limit(self) -> int | None:
        """Largest number of files; None if none is given."""
        text = self.parameters.get("limit")
        if text is not None and not (text.isdecimal() and int(text) > 0):
            raise errors.make("invalid", f"limit must be a positive number (got {text})", "limit=100")
        return None if text is None else int(text)

    @property
    def interval(self) -> tuple[str, str] | None:
        """The times as ISO 8601 in UTC, ``..`` for an open end; None if no time is given."""
        first, last = self.times
        if first is None and last is None:
            return None
        return _iso(first), _iso(last)


def _iso(time: datetime | None) -> str:
    return ".." if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(text: str, is_last: bool) -> datetime | None:
    """Return the first or last second of a year, month, day or moment; None for an open end."""
    if not text or text == ".." or _GPS.fullmatch(text):
        return None
    try:
        if (parts := _DATE.fullmatch(text)) is None:
            time = datetime.fromisoformat(text.replace(" ", "T"))
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        year, month, day = (None if part is None else int(part) for part in parts.groups())
        assert year is not None
        time = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        message = f"{text} is not a time"
        raise errors.make(
            "invalid", message, "time=2019-01..2019-02, or 2019-01-05T12:00..2019-01-06"
        ) from None
    if not is_last:
        return time
    if day is not None:
        following = time + timedelta(days=1)
    elif month is not None:
        following = datetime(time.year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    else:
        following = datetime(time.year + 1, 1, 1, tzinfo=UTC)
    return following - timedelta(seconds=1)


def _gps(text: str, is_last: bool) -> int | None:
    """Return a time in whole GPS seconds, rounded outwards."""
    if _GPS.fullmatch(text):
        return int(-(-float(text) // 1)) if is_last else int(float(text))
    if (time := _moment(text, is_last)) is None:
        return None
    utc = np.array([int(time.timestamp()) * 1_000_000_000])
    return int(gps_of_utc(utc)[0] // 1_000_000_000)


def box_of(points: list[tuple[float, float]]) -> tuple[float, float, float, float] | None:
    """Return the smallest box of longitudes and latitudes around points; None without points.

    Points on both sides of the antimeridian, whose box would be wider than half of the Earth, give a box
    across it.
    """
    if not points:
        return None
    longitudes, latitudes = zip(*points, strict=True)
    west, east = min(longitudes), max(longitudes)
    if east - west > 180:
        west = min(each for each in longitudes if each > 0)
        east = max(each for each in longitudes if each <= 0)
    return west, min(latitudes), east, max(latitudes)
