"""Plan of a ``pack``: the path, chunks, shards and codecs of each array, and the path of each table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from icecore import errors
from icecore.analyzer.measure import KEPT
from icecore.codecs import spec
from icecore.ingest.options import PackOptions
from icecore.ingest.plan.assembly import Assembly, Step
from icecore.ingest.plan.bounded_loss import mark
from icecore.ingest.plan.placement import assemble
from icecore.ingest.plan.planned_array import (
    PlannedArray,
    PlannedTable,
    codec_label,
    describe,
    meets,
    skipped,
    stored_layout,
)
from icecore.ingest.plan.resolve_sources import Sources
from icecore.ingest.plan.storage_choice import StorageChoice, check_names, to_be
from icecore.ingest.report import Report, Row
from icecore.ingest.write.destination import source_notes
from icecore.ingest.write.table_jobs import TablePlan, plan_tables
from icecore.layout.access_pattern import check
from icecore.layout.layout import Layout
from icecore.repository.nodes import dtype_label
from icecore.repository.repo import Repo
from icecore.sources.failure import Failure


@dataclass(frozen=True)
class PackStep:
    """One array to write, and its layout; None if it will be measured, or if the array is appended to."""

    step: Step
    layout: Layout | None


@dataclass
class PackPlan:
    """Everything that a ``pack`` will write; ``str(plan)`` is a table, ``as_dict()`` the same for JSON.

    Attributes:
        options: arguments of the call.
        choice: chunks, shards and codecs that the caller chose.
        assembly: groups and arrays, and the stored arrays at their paths.
        steps: the arrays to write.
        tables: the text tables to write.
        failures: sources and arrays that can't be packed.
        notes: notes for readers of the arrays.
        anything: whether anything would be written.
    """

    options: PackOptions
    choice: StorageChoice
    assembly: Assembly
    steps: list[PackStep]
    tables: TablePlan
    failures: list[Failure] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)
    anything: bool = False

    @property
    def budget(self) -> int:
        """Size in bytes of a box of data that is read and encoded at a time."""
        return self.options.memory_bytes // 4

    @property
    def arrays(self) -> list[PlannedArray]:
        """The arrays, by path."""
        planned = [_planned(each, self.choice) for each in self.steps]
        return sorted([*planned, *skipped(self.assembly)], key=lambda array: array.path)

    @property
    def planned_tables(self) -> list[PlannedTable]:
        """The text tables, by path."""
        found = [PlannedTable(path, "skip", (), ()) for path in self.tables.skipped]
        for job in self.tables.jobs:
            spec_ = job.files[0].spec
            names = tuple(item.name for item in spec_.fields) if spec_ is not None else ()
            how = "append" if job.append else "replace" if job.delete else "new"
            found.append(PlannedTable(job.path, how, names, tuple(file.place for file in job.files)))
        return sorted(found, key=lambda table: table.path)

    def __str__(self) -> str:
        return describe(self.arrays, self.planned_tables)

    def __repr__(self) -> str:
        return f"<icecore.PackPlan>\n{self}"

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "arrays": [asdict(array) for array in self.arrays],
            "tables": [asdict(table) for table in self.planned_tables],
        }

    def report(self) -> Report:
        """A report without results: failures and notes, skipped arrays; all arrays for a dry run."""
        report = Report(failures=list(self.failures), notes=list(self.notes), dry_run=self.options.dry_run)
        report.rows = [
            Row(path, "skipped", why, raw=entry.nbytes) for path, entry, why in self.assembly.skipped
        ]
        report.rows += [Row(path, "skipped", "it exists already") for path in self.tables.skipped]
        report.rows += [Row(path, "skipped", f"it has {name} already") for path, name in self.tables.again]
        if self.options.dry_run:
            report.plan = self
            report.rows += [Row(s.step.path, "packed", raw=s.step.entry.nbytes) for s in self.steps]
            report.failures += _codec_failures(self)
        return report


def plan(options: PackOptions, sources: Sources, base: Repo | None) -> PackPlan:
    """Plan the pack of ``sources`` onto the version ``base`` (None: no repository yet).

    Raises:
        DamagedSource: one of several joined files is damaged.
        Error: ``invalid`` for chunks, shards or reads that fit no array.
    """
    choice = StorageChoice.of(options, len(sources.indexed))
    tables = plan_tables(sources.indexed, options.group, options.joined, base, options.existing)
    arrays = [source for source in sources.indexed if not source.arrays.tables]
    assembly = assemble(
        arrays,
        options.group,
        options.joined,
        base,
        options.existing,
        unpack=True,
        tolerance=options.coord_tolerance,
        merge=options.merge,
    )
    assembly.failures += tables.failures
    mark(options.rounding, assembly.steps)
    if assembly.steps:
        _check_shapes(options, assembly)
    notes = [*sources.notes, *source_notes(sources.indexed), *assembly.notes]
    if tables.jobs:
        notes += _ignored(tables.jobs[0].path, options)
    return PackPlan(
        options,
        choice,
        assembly,
        [_step(step, choice, options) for step in assembly.steps],
        tables,
        [*sources.failures, *assembly.failures],
        notes,
        bool(tables.jobs) or assembly.anything(base),
    )


def _check_shapes(options: PackOptions, assembly: Assembly) -> None:
    longer = options.joined if options.append else options.grows
    check(options.patterns, [(s.path, to_be(s.entry, longer), s.entry.dims) for s in assembly.steps])
    entries = [step.entry for step in assembly.steps] + [entry for _, entry, _ in assembly.skipped]
    check_names({"chunk": options.chunk, "shard": options.shard}, entries)


def _step(step: Step, choice: StorageChoice, options: PackOptions) -> PackStep:
    if step.old is not None or choice.measures_layout(step.entry):
        return PackStep(step, None)
    return PackStep(step, choice.layout(step.entry, None, options.memory_bytes // 4))


def _planned(each: PackStep, choice: StorageChoice) -> PlannedArray:
    step, entry = each.step, each.step.entry
    if step.old is not None:
        chunk, shard = stored_layout(step)
        codec = codec_label(step.old.codecs)
    else:
        chunk, shard = (each.layout.chunk, each.layout.shard) if each.layout is not None else (None, None)
        codec = _codec(step, choice, chunk)
    label = dtype_label(entry.data_type)
    return PlannedArray(
        step.path, meets(step), "packed", step.shape, label, chunk, shard, codec, entry.nbytes
    )


def _codec(step: Step, choice: StorageChoice, chunk: tuple[int, ...] | None) -> str:
    if choice.codec == "auto" and step.entry.nbytes >= KEPT:
        return "measured"
    named = "default" if choice.codec == "auto" else choice.codec
    try:
        where = chunk if chunk is not None else tuple(step.entry.shape)
        return codec_label(_resolved(step, choice, named, where))
    except errors.Error as error:
        return f"none ({error.kind})"


def _resolved(
    step: Step, choice: StorageChoice, named: spec.Spec, chunk: tuple[int, ...]
) -> list[spec.Codec]:
    entry = step.entry
    codecs = spec.resolve(named, entry.data_type, entry.dtype, chunk, choice.portable)
    spec.fit(codecs, entry.data_type, entry.dtype, step.path, len(entry.shape))
    return codecs


def _codec_failures(plan: PackPlan) -> list[Failure]:
    """Return failures of arrays that the named codec can't encode; a pack would find them only later."""
    found = []
    for each in plan.steps if plan.choice.codec != "auto" else ():
        if each.step.old is None and each.layout is not None:
            try:
                _resolved(each.step, plan.choice, plan.choice.codec, each.layout.chunk)
            except errors.Error as error:
                found.append(Failure.of(each.step.path, error))
    return found


def _ignored(table: str, options: PackOptions) -> list[Failure]:
    """Return a note on options that apply to arrays only and are ignored for text tables."""
    codec = None if options.codec == "auto" else options.codec
    named = {"chunk": options.chunk, "shard": options.shard, "access": options.access, "codec": codec}
    given = [name for name, value in named.items() if value is not None]
    if not given:
        return []
    what = f"{', '.join(given)} {'is' if len(given) == 1 else 'are'} for arrays"
    return [
        Failure(table, "ignored", f"{what}: columns of text tables have a layout and codecs of their own")
    ]
