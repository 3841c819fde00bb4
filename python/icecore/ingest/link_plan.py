"""Plan of a ``link``: the path of each array, and which arrays are linked or copied, with the reasons."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from icecore.ingest import write_references
from icecore.ingest.copy_arrays import own_codecs, own_layout
from icecore.ingest.destination import source_notes
from icecore.ingest.link_choice import LinkStep, link_step
from icecore.ingest.options import LinkOptions
from icecore.ingest.placement import Assembly, assemble
from icecore.ingest.planned_array import (
    PlannedArray,
    codec_label,
    describe,
    meets,
    regular,
    skipped,
    stored_layout,
)
from icecore.ingest.report import Report, Row
from icecore.ingest.resolve_sources import Sources
from icecore.repository.nodes import dtype_label
from icecore.repository.repo import Repo
from icecore.sources.failure import Failure


@dataclass
class LinkPlan:
    """Everything that a ``link`` will write; ``str(plan)`` is a table, ``as_dict()`` the same for JSON.

    Attributes:
        options: arguments of the call.
        assembly: groups and arrays, and the stored arrays at their paths.
        steps: the arrays to link or copy.
        failures: sources and arrays that can be neither linked nor copied.
        notes: notes for readers of the arrays.
        anything: whether anything would be written.
    """

    options: LinkOptions
    assembly: Assembly
    steps: list[LinkStep]
    failures: list[Failure] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)
    anything: bool = False

    @property
    def arrays(self) -> list[PlannedArray]:
        """The arrays, by path."""
        planned = [_planned(each) for each in self.steps]
        return sorted([*planned, *skipped(self.assembly)], key=lambda array: array.path)

    def __str__(self) -> str:
        return describe(self.arrays, ())

    def __repr__(self) -> str:
        return f"<icecore.LinkPlan>\n{self}"

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {"arrays": [asdict(array) for array in self.arrays]}

    def report(self) -> Report:
        """A report that expects every array to be written as planned."""
        report = Report(failures=list(self.failures), notes=list(self.notes), dry_run=self.options.dry_run)
        report.rows = [each.row for each in self.steps]
        report.rows += [
            Row(path, "skipped", why, raw=entry.nbytes) for path, entry, why in self.assembly.skipped
        ]
        report.plan = self if self.options.dry_run else None
        report.sort()
        return report


def plan(options: LinkOptions, sources: Sources, base: Repo | None) -> LinkPlan:
    """Plan the link of ``sources`` onto the version ``base`` (None: no repository yet).

    Raises:
        DamagedSource: one of several joined files is damaged.
    """
    assembly = assemble(
        sources.indexed,
        options.group,
        options.concat,
        base,
        options.existing,
        tolerance=options.coord_tolerance,
    )
    steps = [link_step(step) for step in assembly.steps]
    notes = [*sources.notes, *source_notes(sources.indexed), *assembly.notes]
    notes += write_references.unreadable(options.into, [each.step.entry for each in steps])
    failures = [*sources.failures, *assembly.failures]
    return LinkPlan(options, assembly, steps, failures, notes, assembly.anything(base))


def _planned(each: LinkStep) -> PlannedArray:
    step, entry = each.step, each.step.entry
    if step.old is not None:
        (chunk, shard), codec = stored_layout(step), codec_label(step.old.codecs)
    elif each.how == "copied":
        where = own_layout(step)
        chunk, shard, codec = where.chunk, where.shard, codec_label(own_codecs(step, where))
    else:
        chunk, shard, codec = regular(entry), None, codec_label(entry.codecs)
    label = dtype_label(entry.data_type)
    return PlannedArray(
        step.path, meets(step), each.how, step.shape, label, chunk, shard, codec, entry.nbytes, each.why
    )
