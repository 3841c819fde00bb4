"""Names of channels (``H1:GDS-CALIB_STRAIN``) and the paths of their arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from icecore.repository.nodes import SUMMARY

#: attribute that holds the name
KEY = "channel"


def array_path(channel: str) -> str:
    """Return the path of a channel's array.

    Example:
        >>> array_path("H1:GDS-CALIB_STRAIN")
        '/H1/GDS-CALIB_STRAIN'
    """
    parts = (part.strip("/ ") for part in channel.replace("/", "_").split(":", 1))
    return "/" + "/".join(part if part.strip(".") else part.replace(".", "_") or "_" for part in parts)


def find(channel: str, nodes: Mapping[str, str]) -> list[str]:
    """Return the paths of the arrays of a channel.

    Args:
        channel: name of the channel.
        nodes: path → name of the channel, for all arrays with one.

    Returns:
        Usually one path. Where a channel continues in further arrays (``PATH.GPS``), the first of each group.
    """
    having = [path for path, name in nodes.items() if name == channel]
    return [path for path in having if not _continues(path, having)]


def _continues(path: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(f"{other}.") for other in paths)


# Names of stored trends: groups of their levels, and LIGO's channel names (``X.mean,m-trend``).

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
