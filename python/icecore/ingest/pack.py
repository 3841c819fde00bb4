"""Re-encode arrays and tables into a repository: plan, measure codecs, write through a memory budget."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from icecore.codecs import spec
from icecore.ingest import pack_plan
from icecore.ingest.array_failures import ArrayFailures
from icecore.ingest.destination import (
    commit_message,
    open_target,
    write_groups,
    writing,
)
from icecore.ingest.failure_policy import may_commit, without_damaged
from icecore.ingest.options import PackOptions, Shape
from icecore.ingest.pack_plan import PackPlan
from icecore.ingest.report import Report
from icecore.ingest.resolve_sources import Sources, pack_sources
from icecore.ingest.table_jobs import pack_tables
from icecore.ingest.write_arrays import bytes_left_out, packed_rows, write_arrays
from icecore.layout.access_pattern import Spec as Access
from icecore.repository.repo import Repo
from icecore.sources import keep_open
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
    allow_missing: bool = False,
    dry_run: bool = False,
    variables: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    message: str | None = None,
    storage: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    grows: str | None = None,
    below: str | None = None,
    then: Callable[[Writer], None] | None = None,
) -> Report:
    """Pack the arrays of sources, or of another repository, into sharded and compressed Zarr.

    Args:
        sources: files, directories, globs, ``@list.txt``, http(s) URLs, ``REPO`` or ``REPO:/path``.
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
        dry_run: plan only: the report's ``plan`` lists what would be written, and nothing is.
        allow_missing: leave out ROOT files without the named tree, and branches that not all files have.
        variables: patterns (as in a shell) of the arrays to take, matched against their names, or against
            their paths where a pattern has a slash. Coordinates of their dimensions are taken too.
        exclude: patterns of arrays to leave out.
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
    return run(PackOptions(**locals()))


def run(options: PackOptions) -> Report:
    """Pack as ``options`` say: resolve the sources, plan, write, report."""
    began = time.perf_counter()
    options.check()
    sources = pack_sources(options)
    report = without_damaged(partial(_attempt, options), sources, options.keep_going)
    report.seconds = time.perf_counter() - began
    return report


def _attempt(options: PackOptions, sources: Sources) -> Report:
    message = options.message or commit_message("pack", sources.indexed)
    # Half of the memory may be on its way to the encoders.
    target = open_target(options.into, options.storage, message, 2 * options.memory_bytes, options.dry_run)
    plan = pack_plan.plan(options, sources, target.base)
    report = plan.report()
    if options.dry_run or not may_commit(report, plan.anything, options.keep_going):
        report.sort()
        return report
    with writing(target) as writer:
        failures = _write(writer, plan, report)
    report.snapshot = writer.snapshot_id
    report.bytes_stored = writer.bytes_stored - bytes_left_out(writer, failures)
    report.rows += packed_rows(writer, plan, failures)
    report.sort()
    return report


def _write(writer: Writer, plan: PackPlan, report: Report) -> ArrayFailures:
    """Write everything that a plan names, into one commit."""
    options = plan.options
    write_groups(writer, plan.assembly, options.replace)
    failures = ArrayFailures(writer, plan.assembly.steps, options.keep_going)
    with keep_open():
        write_arrays(writer, plan, failures)
    report.failures += failures.failures
    arrays_left = not failures.nothing_left()
    may_commit(report, bool(plan.tables.jobs) or arrays_left, options.keep_going)
    how = TableOptions(options.restore, options.trust, options.portable, options.goal == "archive")
    beside = bool(plan.steps) and arrays_left
    long, made = pack_tables(writer, plan.tables, how, report, options.keep_going, options.progress, beside)
    summarized = [row.path for row in packed_rows(writer, plan, failures)] if options.summaries else []
    write_for(writer, [*long, *summarized], made)
    if options.then is not None:
        options.then(writer)
    return failures
