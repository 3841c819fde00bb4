"""Names of stored trends: groups of their levels, and LIGO's channel names (``X.mean,m-trend``)."""

from __future__ import annotations

import re

from icecore.repository.nodes import SUMMARY

#: statistics of a window, in the order of listings
STATISTICS = ("min", "max", "mean", "rms", "n")
#: LIGO's letter of a trend → length of a window in seconds
LETTERS = {"s": 1, "m": 60, "h": 3600}
_NAME = re.compile(rf"^(?P<channel>.+)\.(?P<statistic>{'|'.join(STATISTICS)}),(?P<letter>[smh])-trend$")

_STORED = re.compile(rf"^/{SUMMARY}(?P<channel>/.+)/\d+s/({'|'.join(STATISTICS)})$")


def top(path: str) -> str:
    """Return the hidden group of an array's trends."""
    return f"/{SUMMARY}{path}"


def level(path: str, seconds: int) -> str:
    """Return the hidden group of an array's windows of one length."""
    return f"{top(path)}/{seconds}s"


def split(name: str) -> tuple[str, str, int] | None:
    """Return channel, statistic and length of the windows (seconds) of a trend; None for another name.

    Example:
        >>> split("/H1/GDS-CALIB_STRAIN.mean,m-trend")
        ('/H1/GDS-CALIB_STRAIN', 'mean', 60)
    """
    found = _NAME.match(name)
    return None if found is None else (found["channel"], found["statistic"], LETTERS[found["letter"]])


def channel_of(path: str) -> str | None:
    """Return the path of the array whose trend has this path; None for another array.

    Example:
        >>> channel_of("/__summary__/H1/GDS-CALIB_STRAIN/60s/mean")
        '/H1/GDS-CALIB_STRAIN'
    """
    found = _STORED.match(path)
    return None if found is None else found["channel"]
