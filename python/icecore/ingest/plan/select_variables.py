"""Choose variables of sources by name: ``--variables`` and ``--exclude``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from fnmatch import fnmatchcase

from icecore import errors
from icecore.display import text
from icecore.repository import channel_names
from icecore.repository.nodes import suggestion
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap

#: largest number of names in an error or a note
_SHOWN = 6


@dataclass(frozen=True)
class Selection:
    """Patterns of the arrays to take.

    A pattern with a slash is matched against the path in the source (``/gt1l/*``), any other against the
    array's name (``t2m``, ``*_bnds``) and the name of its channel (``H1:*STRAIN*``). Coordinates of chosen
    arrays (an array with the name of one of their dimensions, in their group) and the masks of chosen
    channels are taken too, unless ``exclude`` names them.

    Attributes:
        variables: patterns of the arrays to take; None for all.
        exclude: patterns of the arrays to leave out.
    """

    variables: tuple[str, ...] | None
    exclude: tuple[str, ...]

    @classmethod
    def of(
        cls, variables: str | Iterable[str] | None, exclude: str | Iterable[str] | None
    ) -> Selection | None:
        """Return the selection; None if neither argument is given.

        Raises:
            Error: ``invalid`` for an empty pattern, or one that is not a string.
        """
        if variables is None and exclude is None:
            return None
        chosen = None if variables is None else _patterns("variables", variables)
        return cls(chosen, () if exclude is None else _patterns("exclude", exclude))

    def takes(self, arrays: ArrayMap) -> set[str]:
        """Return the paths of the selected arrays."""
        chosen = set(arrays.arrays)
        if self.variables is not None:
            chosen = {path for path, entry in arrays.arrays.items() if _matches(entry, self.variables)}
            chosen |= _coordinates(arrays, chosen) | _masks(arrays, chosen)
        return {path for path in chosen if not _matches(arrays.arrays[path], self.exclude)}

    def names(self, path: str) -> bool:
        """Whether the patterns select the array at ``path``, coordinates of other arrays aside."""
        chosen = self.variables is None or _is_named(path, None, self.variables)
        return chosen and not _is_named(path, None, self.exclude)

    def apply(self, arrays: ArrayMap) -> ArrayMap:
        """Return the source without unselected arrays, and without groups that contained only those."""
        kept = self.takes(arrays)
        left = set(arrays.arrays) - kept
        groups = {
            path: attrs
            for path, attrs in arrays.groups.items()
            if path == "/" or _holds(path, kept) or not _holds(path, left)
        }
        dropped = [note for note in arrays.dropped if note.path not in left]
        return replaced(
            arrays,
            groups=groups,
            arrays={path: entry for path, entry in arrays.arrays.items() if path in kept},
            dropped=dropped,
        )

    def check(self, sources: Sequence[ArrayMap]) -> None:
        """Reject patterns that match nothing in any source.

        Raises:
            Error: ``not-found``, with similar names.
        """
        entries = [entry for arrays in sources for entry in arrays.arrays.values()]
        if not entries:
            return
        names = sorted({entry.path.rsplit("/", 1)[-1] for entry in entries})
        for what, patterns in (("variables", self.variables or ()), ("exclude", self.exclude)):
            for pattern in patterns:
                if not any(_matches(entry, (pattern,)) for entry in entries):
                    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
                    hint = suggestion(pattern, names, f"the sources have {shown}")
                    raise errors.make("not-found", f"{what}: no array matches {pattern!r}", hint)

    def notes(self, sources: Sequence[ArrayMap]) -> list[Failure]:
        """Return notes: one with the arrays that are left out and the number of sources with each, and one on
        text tables, whose columns are all packed.
        """
        left = Counter(path for arrays in sources for path in set(arrays.arrays) - self.takes(arrays))
        notes = []
        if left:
            many = len(sources) > 1
            of = f" of {len(sources):,} sources)"
            named = [f"{path} ({n:,}{of}" if many else path for path, n in sorted(left.items())]
            more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
            message = f"{text.plural(len(named), 'array')} left out: {', '.join(named[:_SHOWN])}{more}"
            notes.append(Failure("/", "selection", message))
        tables = [table.place for arrays in sources for table in arrays.tables.values()]
        if tables:
            message = "variables and exclude choose arrays: all columns of a text table are packed"
            notes.append(Failure(tables[0], "ignored", message))
        return notes


def _patterns(what: str, given: str | Iterable[str]) -> tuple[str, ...]:
    patterns = [given] if isinstance(given, str) else list(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.strip():
            message = f"{what}: patterns are non-empty strings (got {pattern!r})"
            raise errors.make("invalid", message, "for example t2m, *_bnds or /gt1l/*")
    return tuple(part.strip() for pattern in patterns for part in pattern.split(",") if part.strip())


def _matches(entry: ArrayEntry, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns matches an array's path, its last component, or the array's channel."""
    return _is_named(entry.path, entry.attrs.get(channel_names.KEY), patterns)


def _is_named(path: str, channel: object, patterns: Sequence[str]) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(
        fnmatchcase(path, "/" + pattern.lstrip("/"))
        if "/" in pattern
        else fnmatchcase(name, pattern) or (isinstance(channel, str) and fnmatchcase(channel, pattern))
        for pattern in patterns
    )


def _coordinates(arrays: ArrayMap, chosen: Iterable[str]) -> set[str]:
    """Return coordinate arrays for the dimensions of chosen arrays, from their group or a parent group."""
    found = set()
    for path in chosen:
        for dim in arrays.arrays[path].dims:
            group = path.rsplit("/", 1)[0]
            while dim is not None:
                if f"{group}/{dim}" in arrays.arrays:
                    found.add(f"{group}/{dim}")
                    break
                if not group:
                    break
                group = group.rsplit("/", 1)[0]
    return found


def _masks(arrays: ArrayMap, chosen: Iterable[str]) -> set[str]:
    """Return the arrays with auxiliary vectors of chosen channels, such as the validity of their samples."""
    beside = (
        f"{path.rsplit('/', 1)[0]}/{name}"
        for path in chosen
        if channel_names.KEY in arrays.arrays[path].attrs
        for name in str(arrays.arrays[path].attrs.get("ancillary_variables", "")).split()
    )
    return {path for path in beside if path in arrays.arrays}


def _holds(group: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(group + "/") for path in paths)
