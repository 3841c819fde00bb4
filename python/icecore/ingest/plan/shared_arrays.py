"""Check that the arrays of a group fit together if they come from several sources, or from several calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.ingest.plan.repository_source import stored_entry
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.nodes import OURS
from icecore.repository.time_axis import KEY
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap
from icecore.sources.mapping.cf_compare import Sourced, sourced
from icecore.sources.mapping.consistency import Rounding, alike, described, shared

if TYPE_CHECKING:
    from icecore.ingest.plan.assembly import Step
    from icecore.repository.nodes import Node
    from icecore.repository.repo import Repo

#: name of the stored arrays in messages
STORED = "the repository"
#: largest array (bytes) that is not a coordinate and whose values are compared, for a note
_SMALL = 4 << 20
_HINT = "put them into groups of their own, or leave the array out: --exclude NAME"


@dataclass
class Meeting:
    """An array that exists already, in the repository or in a source that comes earlier in the call.

    Attributes:
        inside: its path in the source.
        path: its path in the repository.
        entry: the array of the source.
        other: the existing array.
    """

    inside: str
    path: str
    entry: ArrayEntry
    other: Sourced


class SharedArrays:
    """Compares arrays that meet; ``tolerance`` is the largest accepted difference of coordinates."""

    def __init__(self, repo: Repo | None, tolerance: float | None) -> None:
        self._repo = repo
        self._tolerance = tolerance
        self._members: dict[int, dict[str, Sourced]] = {}
        self._stored: dict[str, dict[str, Sourced]] = {}

    def of_source(self, arrays: ArrayMap, inside: str) -> Sourced:
        """Return an array of a source with inherited attributes."""
        if id(arrays) not in self._members:
            self._members[id(arrays)] = sourced([arrays])[0]
        return self._members[id(arrays)][inside]

    def of_repository(self, node: Node, inside: str) -> Sourced:
        """Return a stored array with inherited attributes."""
        assert self._repo is not None
        if node.parent not in self._stored:
            base = inside.rsplit("/", 1)[0]
            beside = [each for each in self._repo._members(node.parent) if each.is_array]
            stored = ArrayMap(STORED)
            for each in beside:
                stored.add(stored_entry(Array(self._repo, each), f"{base}/{each.name}"))
            self._stored[node.parent] = sourced([stored])[0]
        found = self._stored[node.parent][f"{inside.rsplit('/', 1)[0]}/{node.name}"]
        return (
            found if found.entry.path == inside else replace(found, entry=replace(found.entry, path=inside))
        )

    def compare(self, arrays: ArrayMap, met: Iterable[Meeting]) -> Iterator[Failure]:
        """Compare the coordinates of a source with existing ones; yield notes on accepted differences.

        Raises:
            Error: ``mismatch``, with both values.
        """
        kept = shared(arrays)
        for each in met:
            if each.inside in kept:
                yield from self._same(arrays, each, kept)
            elif not self.is_equal(arrays, each, large=True):
                message = f"it differs from that of {arrays.source}, which was skipped"
                yield Failure(each.path, "skipped", message)

    def _same(self, arrays: ArrayMap, each: Meeting, kept: set[str]) -> Iterator[Failure]:
        rounding = Rounding(kept, self._tolerance)
        try:
            alike([[each.other, self.of_source(arrays, each.inside)]], None, rounding)
        except errors.Error as error:
            hint = error.hint if "--coord-tolerance" in (error.hint or "") else _HINT
            raise errors.make(error.kind, error.message.replace(each.inside, each.path, 1), hint) from error
        for first, differences in rounding.found.values():
            said = described(first.entry, self._tolerance or 0.0, differences, first.source)
            yield Failure(each.path, "tolerance", said)

    def is_equal(self, arrays: ArrayMap, each: Meeting, large: bool = False) -> bool:
        """Whether an array equals the existing one; large ones are not read: the answer is ``large``."""
        one, other = each.other, self.of_source(arrays, each.inside)
        if one.entry.shape != other.entry.shape or one.entry.dtype != other.entry.dtype:
            return False
        if one.entry.nbytes > _SMALL:
            return large
        try:
            alike([[one, other]], None, Rounding(set()))
        except errors.Error as error:
            if error.kind != "mismatch":
                raise
            return False
        return True


def replaced_columns(nodes: Mapping[str, Node], path: str, attrs: Mapping[str, Any]) -> set[str]:
    """Return the paths of stored columns that the table with these attributes replaces but does not have."""
    node, new = nodes.get(path), attrs.get(OURS, {}).get("table")
    if node is None or new is None:
        return set()
    old = node.ours.get("table", {}).get("columns", [])
    return {address.join(path, name) for name in set(old) - set(new["columns"])}


def unfitting(
    steps: Iterable[Step], repo: Repo | None, check: SharedArrays, deleted: Collection[str] = ()
) -> Iterator[Failure]:
    """Yield a failure for each new array that does not fit the other arrays of its group.

    Dimensions of one name must have one length. A replaced coordinate must be equal to the stored one if
    arrays that stay in the group depend on it. Stored arrays in ``deleted`` do not stay.
    """
    by_group: dict[str, list[Step]] = {}
    for step in steps:
        by_group.setdefault(step.path.rsplit("/", 1)[0] or "/", []).append(step)
    for group, new in by_group.items():
        written = {step.path for step in new}.union(deleted)
        inside = repo._members(group) if repo is not None else ()
        stay = [node for node in inside if node.is_array and node.path not in written]
        if stay or len({step.source for step in new}) > 1:
            yield from _lengths(new, stay)
            yield from _replaced(new, stay, check)


def _lengths(steps: list[Step], stay: list[Node]) -> Iterator[Failure]:
    #: dimension → length → the array and its source
    known: dict[str, dict[int, tuple[str, str]]] = {}
    for node in stay:
        for dim, length in zip(node.dims, node.shape, strict=True):
            if dim is not None and KEY not in node.attrs:
                known.setdefault(dim, {}).setdefault(length, (node.path, STORED))
    for step in steps:
        if KEY in step.entry.attrs:
            continue  # each time series has a rate and a time axis of its own
        for dim, length in zip(step.entry.dims, step.shape, strict=True):
            lengths = known.setdefault(dim, {}) if dim is not None else {}
            others = [(n, *where) for n, where in lengths.items() if n != length and where[1] != step.source]
            if others and length not in lengths:
                other, path, source = others[0]
                message = (
                    f"{step.path}: dimension {dim!r} has {length:,} elements in {step.source}, "
                    f"{other:,} in {source} ({path})"
                )
                yield Failure(step.source, "mismatch", message, _HINT)
                return
            if dim is not None:
                lengths.setdefault(length, (step.path, step.source))


def _replaced(steps: list[Step], stay: list[Node], check: SharedArrays) -> Iterator[Failure]:
    for step in steps:
        if step.replaced is None or step.entry.rewritten or not any(_needs(node, step) for node in stay):
            continue
        name = f"/{step.replaced.name}"
        new = ArrayMap(step.source, {}, {name: replace(step.entry, path=name)})
        try:
            other = check.of_repository(step.replaced, name)
            list(check._same(new, Meeting(name, step.path, new.arrays[name], other), {name}))
        except errors.Error as error:
            also = next(node.path for node in stay if _needs(node, step))
            message = f"{error.message}; {also}, which is not replaced, depends on it"
            yield Failure(step.source, error.kind, message, "replace both, or use another --group")
            return


def _needs(node: Node, step: Step) -> bool:
    """Whether a stored array depends on a replaced one: as its coordinate, bounds or grid mapping."""
    name = step.path.rsplit("/", 1)[-1]
    dims = step.entry.dims
    if dims and set(dims) <= set(node.dims) and dims == (name,):
        return True
    named = (node.attrs.get(key) for key in ("coordinates", "bounds", "climatology", "grid_mapping"))
    return any(isinstance(text, str) and name in text.replace(":", " ").split() for text in named)
