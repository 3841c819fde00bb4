"""Re-encode arrays into a repository: planned chunks and shards, codecs by type, streamed through a memory
budget.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced

from icecore import errors
from icecore.analyzer.measure import Goal
from icecore.codecs import spec
from icecore.display import text
from icecore.display.progress import Progress, counted
from icecore.ingest.array_failures import Apart
from icecore.ingest.destination import begin, groups, may_commit, notes, summary, without_damaged, writing
from icecore.ingest.placement import Existing, Step, assemble
from icecore.ingest.report import Report, Row
from icecore.ingest.resolve_sources import Source, gather
from icecore.ingest.storage_choice import Shape, Wanted, check_names, to_be
from icecore.ingest.table_jobs import pack_tables, plan_tables
from icecore.layout import layout
from icecore.layout.access_pattern import EXAMPLE, Pattern, check, parse
from icecore.layout.access_pattern import Spec as Access
from icecore.repository import address
from icecore.repository.repo import Repo
from icecore.sources import keep_open
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import Reader
from icecore.tables.summaries.write import write_for
from icecore.tables.text.table_job import TableOptions
from icecore.writing.writer import Writer


def pack(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    into: Repo | str | os.PathLike[str],
    group: str | None = None,
    concat: str | None = None,
    *,
    chunk: Shape | None = None,
    shard: Shape | None = None,
    codec: spec.Spec = "auto",
    goal: str = "balanced",
    bandwidth: str | float | None = None,
    portable: bool = False,
    access: Access | None = None,
    measure: bool = False,
    memory: int | str = "1GB",
    append: bool = False,
    replace: bool = False,
    skip_existing: bool = False,
    keep_going: bool = False,
    restore: bool = True,
    trust: str | None = None,
    header: bool | None = None,
    summaries: bool = False,
    message: str | None = None,
    storage: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    grows: str | None = None,
    below: str | None = None,
    then: Callable[[Writer], None] | None = None,
) -> Report:
    """Pack the arrays of sources, or of another repository, into sharded and compressed Zarr.

    Args:
        sources: files, folders, globs, ``@list.txt``, http(s) URLs, ``REPO`` or ``REPO:/path``.
        into: a repository, or where it is; it is created where there is none.
        group: where each source's root goes; by default a group named like the file.
        concat: join the arrays that have this dimension along it, in the order of the sources, in one group.
        chunk: shape of the unit of decoding (for arrays of as many axes), or dimension name → length.
            Planned where None.
        shard: the same for the unit of I/O.
        codec: ``auto`` measures on samples of each array and chooses for the goal; else see
            :func:`icecore.codecs.spec.resolve`.
        goal: of ``auto``: ``archive`` (least bytes), ``speed`` (fastest to decode) or ``balanced`` (least
            time to data); see :class:`icecore.analyzer.measure.Goal`.
        bandwidth: that ``balanced`` assumes to the store: bytes a second, or ``"200MB/s"`` (the default).
        portable: use only codecs that other Zarr readers have.
        access: how the arrays will be read, to lay out chunks for it:
            ``"time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3"``, lengths by dimension name or position, with
            probabilities; or a list of (lengths, probability). See :mod:`icecore.layout.access_pattern`.
        measure: try the best layouts for ``access`` in memory, and take the fastest. Of an array that
            ``grows`` what is there is tried as if it came again and again.
        memory: bytes of data held at once, as a number or ``"500MB"``; one shard at least.
        append: continue arrays that exist along ``concat``. Columns of a text table that have no room for
            what comes are written anew, as packing all files in one go would have them; ``notes`` name them.
        replace: write arrays that exist anew.
        skip_existing: leave arrays that exist as they are.
        keep_going: commit what could be done even where some source failed, or something in one. Of files
            that are joined one in which something is damaged is left out, wherever that is found: the others
            are packed from the beginning then.
        restore: keep what :func:`icecore.tables.text.restore.restore` needs to print text
            tables again, byte for byte.
        trust: ``"data"`` where the record length of a text file counts, not that of its label.
        header: whether the first line of delimited text without a label names the columns, or is a row; where
            None it is told from the cells, and ``notes`` say where that is doubtful.
        summaries: also summarise one-dimensional arrays, so that scans leave out what can't match
            (:mod:`icecore.tables.summaries.write`); their chunks are planned as those of tables. Text
            tables of 8,192 rows or more always have summaries.
        message: of the commit.
        storage: credentials of the repository's object store.
        progress: called with (path, bytes done, bytes in all).
        grows: the dimension along which more will be appended, to plan chunks for it: at least a source a
            commit.
        below: where ``group`` is None, what the groups named like the files are made in.
        then: called with the writer when all is written, to add to the same commit.

    Returns:
        A report: per array its raw and stored bytes; failures; the new snapshot's id.

    Raises:
        Error: the first failure, where nothing could be committed (see ``keep_going``).
    """
    began = time.perf_counter()
    existing = Existing(append, replace, skip_existing)
    existing.check(concat)
    asked = checked(
        chunk=chunk,
        shard=shard,
        codec=codec,
        goal=goal,
        bandwidth=bandwidth,
        portable=portable,
        access=access,
        measure=measure,
        memory=memory,
        trust=trust,
    )
    budget = asked.memory
    kept = dict(storage or {})
    indexed, failures = gather(
        sources, repositories=True, storage=kept, tables=True, whole=concat is not None, progress=progress
    )
    if below is not None:
        indexed = [Source(s.name, s.arrays, address.join(below, s.group)) for s in indexed]
    if header is not None:
        from icecore.sources.tables import headed

        for source in indexed:
            source.arrays.tables = {
                path: headed(table, header) for path, table in source.arrays.tables.items()
            }

    wanted = Wanted(chunk, shard, codec, portable, asked.goal, asked.access, measure, grows, summaries)
    named = {"chunk": chunk, "shard": shard, "access": access, "codec": None if codec == "auto" else codec}
    arrays_only = [name for name, how in named.items() if how is not None]

    def attempt(indexed: list[Source], failures: list[Failure]) -> Report:
        why = message or summary("pack", indexed)
        # of which half may be on its way to the encoders
        repo, writer = begin(into, storage, why, 2 * budget)
        tables = plan_tables(indexed, group, concat, repo, existing)
        arrays = [s for s in indexed if not s.arrays.tables]
        assembly = assemble(arrays, group, concat, repo, existing, unpack=True)
        assembly.failures += tables.failures
        if assembly.steps:
            longer = concat if append else grows
            check(asked.access, [(s.path, to_be(s.entry, longer), s.entry.dims) for s in assembly.steps])
            entries = [step.entry for step in assembly.steps] + [entry for _, entry, _ in assembly.skipped]
            check_names({"chunk": chunk, "shard": shard}, entries)
        report = Report(failures=failures + assembly.failures, notes=notes(indexed) + assembly.notes)
        if tables.jobs:
            report.notes += _unheeded(tables.jobs[0].path, arrays_only)
        report.rows = [Row(path, "skipped", why, raw=entry.nbytes) for path, entry, why in assembly.skipped]
        report.rows += [Row(path, "skipped", "it exists already") for path in tables.skipped]
        if may_commit(report, bool(tables.jobs) or assembly.anything(repo), keep_going):
            with writing(writer, into, storage, why, 2 * budget) as writer:
                groups(writer, assembly, replace)
                apart = Apart(writer, assembly.steps, keep_going)
                packing = _Packing(writer, assembly.steps, budget // 4, progress, apart)
                with keep_open():
                    packing.pack(replaced(wanted, sources=len(indexed)))
                report.failures += apart.failures
                arrays_left = not apart.nothing_left()
                may_commit(report, bool(tables.jobs) or arrays_left, keep_going)
                options = TableOptions(restore, trust, portable, goal == "archive")
                long, made = pack_tables(
                    writer,
                    tables,
                    options,
                    report,
                    keep_going,
                    progress,
                    bool(assembly.steps) and arrays_left,
                )
                write_for(writer, [*long, *(row.path for row in packing.rows() if summaries)], made)
                if then is not None:
                    then(writer)
            report.snapshot = writer.snapshot_id
            report.bytes_stored = writer.bytes_stored - packing.dropped()
            report.rows += packing.rows()
        report.rows.sort(key=lambda row: row.path)
        return report

    report = without_damaged(attempt, indexed, failures, keep_going)
    report.seconds = time.perf_counter() - began
    return report


@dataclass(frozen=True)
class Asked:
    """What some options of :func:`pack` come to."""

    goal: Goal
    access: tuple[Pattern, ...]
    memory: int


def checked(
    *,
    chunk: Shape | None = None,
    shard: Shape | None = None,
    codec: spec.Spec = "auto",
    goal: str = "balanced",
    bandwidth: str | float | None = None,
    portable: bool = False,
    access: Access | None = None,
    measure: bool = False,
    memory: int | str = "1GB",
    trust: str | None = None,
    **_: object,
) -> Asked:
    """Look at options of :func:`pack` before there are sources.

    Raises:
        Error: for what no source could be packed with.
    """
    wished = Goal.of(goal, bandwidth)
    patterns = _patterns(access, measure)
    budget = text.parse_size(memory)
    if budget < 1:
        raise errors.make("invalid", f"{budget} bytes of memory", "give some: --memory 500MB")
    if trust not in (None, "data"):
        raise errors.make("invalid", f"trust in {trust!r}", "--trust data, or leave it out")
    spec.check(codec, portable)
    layout.check(chunk, shard)
    return Asked(wished, patterns, budget)


class _Packing:
    def __init__(
        self,
        writer: Writer,
        steps: Sequence[Step],
        budget: int,
        progress: Callable[[str, int, int], None] | None,
        apart: Apart,
    ) -> None:
        self._writer, self._steps = writer, steps
        self._budget = budget
        self._apart = apart
        self._progress = progress

    def pack(self, wanted: Wanted) -> None:
        """Write every array."""
        if not self._steps:
            return
        from icecore.ingest import copy_arrays  # tables of text need nothing of them
        from icecore.ingest.linked_read import linked_readers

        readers = linked_readers([step.entry for step in self._steps])
        progress = counted(self._progress, sum(step.entry.nbytes for step in self._steps))
        for step, read in zip(self._steps, readers, strict=True):
            with self._apart.one(step):
                if step.old is not None:
                    copy_arrays.copy_after(self._writer, step, read, progress)
                else:
                    self._new(step, read, wanted, progress)
        self._apart.look(wait=True)

    def _new(self, step: Step, read: Reader, wanted: Wanted, progress: Progress) -> None:
        from icecore.ingest import copy_arrays

        if step.entry.nbytes <= self._budget:
            read = copy_arrays.at_once(step.entry, read)
        held = step.entry.sparse()
        where = wanted.layout(step.entry, read, self._budget)
        planned = wanted.codecs(step, read, where, self._budget, held)
        where = wanted.gathered(step.entry, where, planned.ratio, self._budget)
        copy_arrays.copy_new(self._writer, step, read, where, planned, self._budget, progress, held)

    def rows(self) -> list[Row]:
        """What became of each array."""
        written = self._writer._native.written()
        rows = []
        missing = self._apart.left_out
        for step in (step for step in self._steps if step.path not in missing):
            _, stored, chunks, kept = written.get(step.path, (0, 0, 0, 0))
            why = f"{text.plural(kept, 'chunk')} as before" if kept else ""
            rows.append(Row(step.path, "packed", why, chunks, stored, step.entry.nbytes))
        return rows

    def dropped(self) -> int:
        """Bytes stored of arrays that were left out then."""
        written = self._writer._native.written()
        return sum(written[path][1] for path in self._apart.left_out & written.keys())


def _unheeded(table: str, options: list[str]) -> Iterator[Failure]:
    if options:
        what = f"{', '.join(options)} {'is' if len(options) == 1 else 'are'} for arrays"
        yield Failure(
            table, "ignored", f"{what}: the columns of tables of text have a layout and codecs of their own"
        )


def _patterns(access: Access | None, measure: bool) -> tuple[Pattern, ...]:
    if measure and access is None:
        message = "measure tries layouts for the reads that access names, and none are"
        raise errors.make("invalid", message, f"--access {EXAMPLE}")
    return parse(access)
