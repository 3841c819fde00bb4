"""What a file was at one moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """A file at one moment. ``mtime_ns`` is -1 and ``etag`` None where the store doesn't say."""

    url: str
    size: int
    mtime_ns: int
    etag: str | None = None
