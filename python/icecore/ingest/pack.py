"""Re-encode arrays and tables into a repository: plan, measure codecs, write within a memory limit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from icecore.cluster.connection import connected_if
from icecore.cluster.tasks import Cluster
from icecore.codecs import spec
from icecore.display.progress import ProgressCall
from icecore.display.progress_bar import reported
from icecore.ingest import pack_plan
from icecore.ingest.array_failures import ArrayFailures
from icecore.ingest.cluster_pack import ClusterPack
from icecore.ingest.cluster_tables import pack_on_workers
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
from icecore.ingest.summarize import summarize
from icecore.ingest.table_jobs import pack_tables
from icecore.ingest.write_arrays import bytes_left_out, packed_rows, summarized, write_arrays
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
    units: bool | None = None,
    summaries: bool = False,
    windows: str | Sequence[int] | None = None,
    allow_missing: bool = False,
    dry_run: bool = False,
    variables: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    coord_tolerance: float | None = None,
    message: str | None = None,
    storage: Mapping[str, Any] | None = None,
    durability: str | None = None,
    progress: bool | ProgressCall | None = None,
    grows: str | None = None,
    below: str | None = None,
    then: Callable[[Writer], None] | None = None,
    client: Any = None,
) -> Report:
    """Pack the arrays of sources, or of another repository, into sharded and compressed Zarr.

    Args:
        sources: files, directories, globs, ``@list.txt``, http(s) URLs, ``REPO`` or ``REPO:/path``; or
            objects in memory: xarray objects, pandas and Polars data frames, Arrow tables and streams,
            mappings of arrays.
        into: a repository or its location; it is created if it does not exist.
        group: the group for the root of each source; by default a group named like the file.
        concat: join the arrays that have this dimension along it, in the order of the sources, in one group.
        chunk: shape of the unit of decoding (for arrays of as many axes), or dimension name → length.
            Planned by default.
        shard: the same for the unit of I/O.
        codec: ``auto`` measures codecs on samples of each array and chooses one for the goal; for other
            values see :func:`icecore.codecs.spec.resolve`.
        goal: the goal of ``auto``: ``archive`` (smallest), ``speed`` (fastest decoding), ``random`` (single
            elements without the rest of their chunk: small pages, not measured) or ``balanced``
            (least time from store to data); see :class:`icecore.analyzer.measure.Goal`.
        bandwidth: speed of the store for ``balanced``: bytes per second, or ``"200MB/s"`` (the default).
        portable: use only codecs that other Zarr readers have.
        access: expected reads, for planning chunks: ``"time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3"``
            (lengths by dimension name or position, with probabilities), or a list of (lengths, probability).
            See :mod:`icecore.layout.access_pattern`.
        measure: measure the best layouts for ``access`` in memory and use the fastest. For an array that
            ``grows``, the existing data is used repeatedly.
        memory: largest amount of data in memory, in bytes or as ``"500MB"``; at least one shard.
        append: extend existing arrays along ``concat``. If new values don't fit the dtype or format of a
            column of a text table, the column is written again; ``notes`` list such columns.
        replace: overwrite existing arrays.
        skip_existing: skip existing arrays.
        keep_going: skip sources and arrays that fail, and commit the others. When files are joined, a file
            with damaged data is skipped completely.
        restore: keep the information that :func:`icecore.tables.text.restore.restore` needs to reproduce
            text tables byte for byte.
        trust: ``"data"``: use the record length of the text file, not that of its label.
        header: whether the first line of delimited text without a label is a header. By default it is
            inferred from the cells, and ``notes`` report doubtful cases.
        units: whether the line below the names holds units or types. By default it does if its cells are
            known units or types; ``notes`` report it.
        summaries: also summarise one-dimensional arrays, so that scans can skip zones
            (:mod:`icecore.tables.summaries.write`); their chunks are planned like those of tables. Text
            tables with 8,192 rows or more always have summaries.
        windows: lengths of the windows of trends of time series (:mod:`icecore.ingest.write_trends`):
            ``"1s,60s"`` or seconds, or ``"none"``. By default channels of frame and GWOSC files have those of
            1, 60 and 3600 s whose samples take at least 2 KiB, other time series only with ``summaries``.
        dry_run: write nothing; the report's ``plan`` lists what would be written.
        allow_missing: leave out ROOT files without the named tree, and branches that not all files have.
        variables: shell patterns of the arrays to pack, matched against names, or against paths if the
            pattern has a slash. Coordinates of their dimensions are included.
        exclude: shell patterns of arrays to skip.
        coord_tolerance: largest accepted difference, in their units, of coordinates without the dimension
            ``concat``; the first file's values are used. By default they must be equal.
        message: the commit message.
        storage: credentials of the repository's object store.
        durability: ``"none"`` for scratch data; see :func:`icecore.open`.
        progress: true for a bar in a terminal or notebook; or a function that is called with (path,
            finished bytes, total bytes).
        grows: the dimension along which data will be appended later; chunks are planned for commits of
            one source or more.
        below: without ``group``: the parent of the groups named like the files.
        then: called with the writer after all arrays are written, to add to the same commit.
        client: a ``distributed.Client`` or the address of a Dask scheduler, whose workers encode the arrays.
            They need the credentials of stores in their own environment.

    Returns:
        A report: raw and stored bytes per array, failures, the id of the new snapshot.

    Raises:
        Error: the first failure, if nothing could be committed (see ``keep_going``).

    Example:
        >>> import icecore, numpy as np
        >>> np.save("t2m.npy", np.arange(1000, dtype="f4").reshape(10, 100))
        >>> report = icecore.pack("t2m.npy", "moon.icecore", group="/wrf", codec="zstd")
        >>> [(row.path, row.how) for row in report.rows]
        [('/wrf/t2m', 'packed')]
        >>> icecore.open("moon.icecore")["/wrf/t2m"][2, :3].tolist()
        [200.0, 201.0, 202.0]
    """
    with reported(progress, "pack") as progress:
        return run(PackOptions(**locals()))


def run(options: PackOptions) -> Report:
    """Pack according to ``options``: resolve the sources, plan, write, report."""
    began = time.perf_counter()
    options.check()
    with connected_if(options.client) as cluster:
        sources = pack_sources(options, cluster)
        report = without_damaged(partial(_attempt, options, cluster), sources, options.keep_going)
    report.seconds = time.perf_counter() - began
    return report


def _attempt(options: PackOptions, cluster: Cluster | None, sources: Sources) -> Report:
    message = options.message or commit_message("pack", sources.indexed)
    # Up to half of the memory may be queued for the encoders.
    memory = 2 * options.memory_bytes
    target = open_target(options.into, options.storage, message, memory, options.dry_run, options.durability)
    plan = pack_plan.plan(options, sources, target.base)
    report = plan.report()
    if options.dry_run or not may_commit(report, plan.anything, options.keep_going):
        report.sort()
        return report
    with writing(target) as writer:
        failures = _write(writer, plan, report, cluster)
    report.snapshot = writer.snapshot_id
    report.bytes_stored = writer.bytes_stored - bytes_left_out(writer, failures)
    report.rows += packed_rows(writer, plan, failures)
    report.sort()
    return report


def _write(writer: Writer, plan: PackPlan, report: Report, cluster: Cluster | None) -> ArrayFailures:
    """Write everything in the plan, as one commit."""
    options = plan.options
    write_groups(writer, plan.assembly, options.replace)
    failures = ArrayFailures(writer, plan.assembly.steps, options.keep_going)
    with keep_open():
        if cluster is None:
            write_arrays(writer, plan, failures)
        else:
            ClusterPack(writer, plan, failures, cluster).run()
    failures.leave_out_lists(plan.assembly.groups)
    report.failures += failures.failures
    arrays_left = not failures.nothing_left()
    may_commit(report, bool(plan.tables.jobs) or arrays_left, options.keep_going)
    how = TableOptions(options.restore, options.trust, options.portable, options.goal == "archive")
    beside = bool(plan.steps) and arrays_left
    packed = None if cluster is None else pack_on_workers(writer, plan.tables.jobs, how, cluster)
    long, made = pack_tables(
        writer, plan.tables, how, report, options.keep_going, options.progress, beside, packed
    )
    write_for(writer, [*long, *summarized(plan, failures.left_out)], made)
    left = [each.step for each in plan.steps if each.step.path not in failures.left_out]
    summarize(writer, left, options, packed=True)
    if options.then is not None:
        options.then(writer)
    return failures
