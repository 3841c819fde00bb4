"""Paths of arrays for channels whose names would give the same path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

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


# Names of the time axes of a group's arrays.

#: first GPS nanosecond, seconds per sample, number of samples
_Axis = tuple[int, Fraction, int]


@dataclass
class Axes:
    """The different time axes of each group, and how many of them have each step."""

    axes: dict[str, set[_Axis]] = field(default_factory=lambda: defaultdict(set))
    rates: dict[tuple[str, Fraction], set[_Axis]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, arrays: Iterable[tuple[str, int, Fraction, int]]) -> Axes:
        """Collect the axes of arrays: path, start (ns), step (s), number of samples."""
        result = cls()
        for path, t0, step, stop in arrays:
            group = path.rsplit("/", 1)[0]
            result.axes[group].add((t0, step, stop))
            result.rates[group, step].add((t0, step, stop))
        return result

    def dimension(self, path: str, t0: int, step: Fraction, stop: int) -> str:
        """``time``, or a name with the rate where the arrays of the group have different time axes."""
        group = path.rsplit("/", 1)[0]
        if len(self.axes[group]) == 1:
            return "time"
        rate = float(1 / step)
        is_only = len(self.rates[group, step]) == 1
        return f"time_{rate:g}Hz" if is_only else f"time_{rate:g}Hz_{t0}_{stop}"
