"""Names of stored trends: groups of their levels, and LIGO's channel names (``X.mean,m-trend``)."""

from __future__ import annotations

import re

from icecore.repository.nodes import SUMMARY

#: statistics of a window, in the order of listings
STATISTICS = ("min", "max", "mean", "rms", "n")
#: LIGO's letter of a trend → length of a window in seconds
LETTERS = {"s": 1, "m": 60, "h": 3600}
_NAME = re.compile(rf"^(?P<channel>.+)\.(?P<statistic>{'|'.join(STATISTICS)}),(?P<letter>[smh])-trend$")


def top(path: str) -> str:
    """Return the hidden group of an array's trends."""
    return f"/{SUMMARY}{path}"


def level(path: str, seconds: int) -> str:
    """Return the hidden group of an array's windows of one length."""
    return f"{top(path)}/{seconds}s"


def stored_path(name: str) -> str | None:
    """Return the path of the array that LIGO calls ``name``; None if ``name`` isn't a trend.

    Example:
        >>> stored_path("/H1/GDS-CALIB_STRAIN.mean,m-trend")
        '/__summary__/H1/GDS-CALIB_STRAIN/60s/mean'
    """
    found = _NAME.match(name)
    if found is None:
        return None
    channel = "/" + found["channel"].strip("/").replace(":", "/", 1)
    return f"{level(channel, LETTERS[found['letter']])}/{found['statistic']}"
