"""Paths of arrays for channels whose names would give the same path."""

from __future__ import annotations

from dataclasses import dataclass, field

from icecore.repository.channel_names import array_path
from icecore.repository.nodes import HIDDEN
from icecore.repository.time_axis import NS, seconds_text


@dataclass
class Paths:
    """The paths of arrays and of their groups that are in use."""

    arrays: dict[str, str] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def place(self, channel: str) -> tuple[str, str]:
        """Return the path of a channel's array, and what to say if it is not the one of its name."""
        wanted = array_path(channel)
        path, number = wanted, 1
        if any(parent in self.arrays for parent in _parents(wanted)):  # an array has the path of the group
            path = "/" + wanted[1:].replace("/", "_")
        while not self._is_free(path):
            number += 1
            path = f"{wanted}.{number}"
        self._use(path, channel)
        if path == wanted:
            return path, ""
        other = f"channel {self.arrays[wanted]} has" if wanted in self.arrays else "others need"
        return path, f"channel {channel} is here because {other} the path {wanted}"

    def later(self, base: str, t0: int) -> str:
        """Return the path of the part of a channel that begins at ``t0`` (ns): ``PATH.GPS``."""
        exact = seconds_text(t0).rstrip("0").rstrip(".")
        names = [f"{base}.{t0 // NS}", f"{base}.{exact}"]
        number = 1
        while not self._is_free(names[0]):
            names = names[1:]
            if not names:
                number += 1
                names = [f"{base}.{exact}.{number}"]
        self._use(names[0], self.arrays[base])
        return names[0]

    def _is_free(self, path: str) -> bool:
        is_hidden = any(part in HIDDEN for part in path.split("/"))
        below = any(parent in self.arrays for parent in _parents(path))
        return not (is_hidden or below or path in self.arrays or path in self.groups)

    def _use(self, path: str, channel: str) -> None:
        self.arrays[path] = channel
        self.groups.update(_parents(path))


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(2, len(parts))]
