"""Options of ``link`` and ``pack``: the caller's arguments, before any source is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import has_magic
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.analyzer.measure import Goal
from icecore.codecs import rounding, spec
from icecore.display import text
from icecore.display.progress import ProgressCall
from icecore.ingest.select_variables import Selection
from icecore.layout import layout
from icecore.layout.access_pattern import EXAMPLE, Pattern, parse
from icecore.layout.access_pattern import Spec as Access
from icecore.sources.mapping import coordinate_tolerance
from icecore.timeseries.trend_windows import parse_windows

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer

#: lengths per axis, or a mapping from dimension name to length
Shape = Sequence[int] | Mapping[str, int]
Place = str | os.PathLike[str]


@dataclass(frozen=True)
class Existing:
    """Action for an array that already exists: reject it (the default), or exactly one of these."""

    append: bool = False
    replace: bool = False
    skip: bool = False

    def check(self, concat: str | None) -> None:
        """Reject contradictory options.

        Raises:
            Error: ``invalid`` if several are set, or ``append`` without a dimension.
        """
        if self.append + self.replace + self.skip > 1:
            raise errors.make(
                "invalid", "append, replace and skip-existing exclude each other", "name one of them"
            )
        if self.append and concat is None:
            raise errors.make(
                "invalid", "append needs the dimension to append along", "name it: --concat time"
            )


@dataclass(frozen=True)
class IngestOptions:
    """Options that ``link`` and ``pack`` share; :func:`icecore.pack` describes them."""

    sources: Any
    into: Repo | Place
    group: str | None = None
    concat: str | None = None
    variables: str | Iterable[str] | None = None
    exclude: str | Iterable[str] | None = None
    append: bool = False
    replace: bool = False
    skip_existing: bool = False
    keep_going: bool = False
    dry_run: bool = False
    summaries: bool = False
    windows: str | Sequence[int] | None = None
    allow_missing: bool = False
    coord_tolerance: float | None = None
    message: str | None = None
    storage: Mapping[str, Any] | None = None
    progress: ProgressCall | None = None
    client: Any = None

    @property
    def existing(self) -> Existing:
        """The action for arrays that already exist."""
        return Existing(self.append, self.replace, self.skip_existing)

    @property
    def of_formats(self) -> dict[str, Any]:
        """Options that are passed to the format modules."""
        chosen = Selection.of(self.variables, self.exclude)
        wanted = {} if chosen is None else {"wanted": chosen.names}
        return {**wanted, "allow_missing": True} if self.allow_missing else wanted

    def check(self) -> None:
        """Reject contradictory options.

        Raises:
            Error: ``invalid``.
        """
        self.existing.check(self.concat)
        one = isinstance(self.sources, (str, os.PathLike)) and not has_magic(os.fspath(self.sources))
        is_compared = self.concat is not None or self.skip_existing or self.replace or not one
        coordinate_tolerance.check(self.coord_tolerance, is_compared)
        parse_windows(self.windows)


@dataclass(frozen=True)
class LinkOptions(IngestOptions):
    """Arguments of :func:`icecore.link`."""

    allow_links: Sequence[str] | None = None
    commit_every: int | None = None
    deep: bool = False


#: goal for reads of single elements: small pages, not measured
RANDOM = "random"


@dataclass(frozen=True)
class PackOptions(IngestOptions):
    """Arguments of :func:`icecore.pack`."""

    chunk: Shape | None = None
    shard: Shape | None = None
    codec: spec.Spec = "auto"
    goal: str = "balanced"
    bandwidth: str | float | None = None
    portable: bool = False
    access: Access | None = None
    measure: bool = False
    memory: int | str = "1GB"
    restore: bool = True
    trust: str | None = None
    header: bool | None = None
    units: bool | None = None
    grows: str | None = None
    below: str | None = None
    then: Callable[[Writer], None] | None = None

    @property
    def codec_goal(self) -> Goal:
        """The goal that ``codec="auto"`` optimizes for."""
        return Goal.of("balanced" if self.goal == RANDOM else self.goal, self.bandwidth)

    @property
    def codec_spec(self) -> spec.Spec:
        """``codec`` without rounding; for the goal ``random``, small pages without measuring."""
        lossless = rounding.split(self.codec)[1]
        return "pages" if lossless == "auto" and self.goal == RANDOM else lossless

    @property
    def rounding(self) -> rounding.Rules | None:
        """Bounded loss that ``codec`` asks for."""
        return rounding.split(self.codec)[0]

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The expected reads, parsed from ``access``."""
        return parse(self.access)

    @property
    def memory_bytes(self) -> int:
        """Limit of the data in memory, in bytes."""
        return text.parse_size(self.memory)

    def check(self) -> None:
        """Reject contradictory options, and values that no source could be packed with.

        Raises:
            Error: ``invalid``, ``codec``, ``format``.
        """
        super().check()
        if self.measure and self.access is None:
            message = "measure compares layouts for the reads in access, which is missing"
            raise errors.make("invalid", message, f"--access {EXAMPLE}")
        _ = self.codec_goal, self.patterns
        if self.codec_spec == "pages" and self.portable:
            message = "the goal random needs the codec icecore.pages, which is not portable"
            raise errors.make("invalid", message, "remove portable, or choose another goal")
        if self.memory_bytes < 1:
            message = f"memory: at least 1 byte is needed (got {self.memory_bytes})"
            raise errors.make("invalid", message, "--memory 500MB")
        if self.trust not in (None, "data"):
            message = f"trust: 'data' or nothing (got {self.trust!r})"
            raise errors.make("invalid", message, "--trust data, or leave it out")
        spec.check(self.codec_spec, self.portable)
        layout.check(self.chunk, self.shard)
