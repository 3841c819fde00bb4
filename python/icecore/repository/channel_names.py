"""Names of channels (``H1:GDS-CALIB_STRAIN``) and the paths of their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
