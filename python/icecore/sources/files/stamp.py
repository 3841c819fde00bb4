"""Identity of a file at one moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """Identity of a file at one moment. ``mtime_ns`` is -1 and ``etag`` None if unknown."""

    url: str
    size: int
    mtime_ns: int
    etag: str | None = None

    def __str__(self) -> str:
        """Return size, modification time and ETag as text."""
        said = [f"{self.size} bytes"]
        if self.mtime_ns >= 0:
            said.append(f"modified at {self.mtime_ns} ns")
        if self.etag is not None:
            said.append(f"etag {self.etag}")
        return ", ".join(said)
