"""The arrays and groups that a run writes: what a plan holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from icecore.repository.nodes import Node
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import LEFT_OUT, ArrayEntry, ArrayMap

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


@dataclass
class Step:
    """An array to create or extend.

    Attributes:
        path: path in the repository.
        source: name of its (first) source.
        entry: its data; when extending, only the new part, in the type and units of the stored array.
        old: the stored array that is extended, or None for a new one.
        axis: the axis along which it is extended.
        replaced: the stored array that is replaced, or None.
        whole: whether ``entry`` is all of the stored array ``old`` after the change, not only a new part.
        is_same: whether nothing changes.
        is_gone: whether the array is deleted, because its samples are in another one.
    """

    path: str
    source: str
    entry: ArrayEntry
    old: Node | None = None
    axis: int = 0
    replaced: Node | None = None
    whole: bool = False
    is_same: bool = False
    is_gone: bool = False

    @property
    def start(self) -> int:
        """Index along ``axis`` at which the new part begins."""
        return self.old.shape[self.axis] if self.old is not None and not self.whole else 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array after writing."""
        shape = list(self.entry.shape)
        if self.old is not None:
            shape[self.axis] += self.start
        return tuple(shape)

    @property
    def origin(self) -> tuple[int, ...]:
        """Index of the first element of the new part, per axis."""
        return tuple(self.start if i == self.axis else 0 for i in range(len(self.entry.shape)))


@dataclass
class Assembly:
    """Groups and arrays to write for a set of sources."""

    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    skipped: list[tuple[str, ArrayEntry, str]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    #: notes on arrays whose values differ from those in the files, and on files that are out of order
    notes: list[Failure] = field(default_factory=list)
    #: stored arrays whose dimensions get other names
    renamed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: stored arrays whose samples are in others now
    gone: list[str] = field(default_factory=list)
    #: groups whose attributes change because their arrays grow
    grown: set[str] = field(default_factory=set)
    #: path → the step that writes it, and the source's arrays
    taken: dict[str, tuple[Step, ArrayMap]] = field(default_factory=dict)

    def add(self, steps: Sequence[Step], arrays: ArrayMap) -> None:
        """Add the steps of one source."""
        self.steps += steps
        self.taken.update((step.path, (step, arrays)) for step in steps)

    def anything(self, repo: Repo | None) -> bool:
        """Whether there is anything to write: arrays, or new groups without arrays."""
        if self.steps or self.failures or self.gone:
            return bool(self.steps or self.gone)
        known = repo._nodes if repo is not None else {}
        return any(path not in known for path, attrs in self.groups.items() if set(attrs) != {LEFT_OUT})
