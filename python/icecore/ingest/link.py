"""Link arrays in place: store references to the chunks of source files in one commit, without copying."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from icecore.cluster.connection import connected_if
from icecore.display.progress import ProgressCall
from icecore.display.progress_bar import reported
from icecore.ingest import batches, link_plan, write_references
from icecore.ingest.array_failures import ArrayFailures
from icecore.ingest.destination import commit_message, open_target, write_groups, writing
from icecore.ingest.failure_policy import may_commit, without_damaged
from icecore.ingest.link_plan import LinkPlan
from icecore.ingest.options import LinkOptions
from icecore.ingest.report import Report
from icecore.ingest.resolve_sources import Sources, link_sources
from icecore.ingest.signed_addresses import remove_signatures
from icecore.ingest.summarize import summarize
from icecore.ingest.write_links import write_links
from icecore.repository.repo import Repo
from icecore.sources import keep_open
from icecore.writing.writer import Writer


def link(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    into: Repo | str | os.PathLike[str],
    group: str | None = None,
    concat: str | None = None,
    *,
    append: bool = False,
    replace: bool = False,
    skip_existing: bool = False,
    keep_going: bool = False,
    dry_run: bool = False,
    allow_links: Sequence[str] | None = None,
    commit_every: int | None = None,
    summaries: bool = False,
    windows: str | Sequence[int] | None = None,
    allow_missing: bool = False,
    variables: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    coord_tolerance: float | None = None,
    deep: bool = False,
    message: str | None = None,
    storage: Mapping[str, Any] | None = None,
    durability: str | None = None,
    progress: bool | ProgressCall | None = None,
    client: Any = None,
) -> Report:
    """Link arrays of HDF5, NetCDF, NumPy and reference files into a repository without copying their data.

    Reference files are those of kerchunk and VirtualiZarr. Arrays that can't be linked (filters without a
    Zarr codec, variable-length strings, …) are copied and listed with the reason.

    Args:
        sources: files, directories, globs, ``@list.txt`` or http(s) URLs.
        into: a repository or its location; it is created if it does not exist.
        group: the group for the root of each source; by default a group named like the file.
        concat: join the arrays that have this dimension along it, in the order of the sources, in one group.
        append: extend existing arrays along ``concat``.
        replace: overwrite existing arrays.
        skip_existing: skip existing arrays.
        keep_going: skip sources and arrays that fail, and commit the others. When files are joined, a file
            with damaged data is skipped completely.
        dry_run: write nothing; the report's ``plan`` lists what would be linked and copied.
        allow_links: URL prefixes or directories that this repository may read linked files from; by default
            the directories of the files.
        commit_every: number of files per commit; by default all files are in one. Files that an earlier run
            committed are skipped, so that a run that was interrupted can be repeated. With ``concat`` later
            files are appended. ``progress`` is called with numbers of files.
        summaries: also read and summarise one-dimensional arrays: time series get trends
            (:mod:`icecore.ingest.write_trends`), other arrays zones, so that scans can skip them
            (:mod:`icecore.tables.summaries.write`).
        windows: lengths of the windows of trends: ``"1s,60s"`` or seconds; 1, 60 and 3600 s with
            ``summaries``, none without.
        allow_missing: leave out ROOT files without the named tree, and branches that not all files have.
        variables: shell patterns of the arrays to link, matched against names, or against paths if the
            pattern has a slash. Coordinates of their dimensions are included.
        exclude: shell patterns of arrays to skip.
        coord_tolerance: largest accepted difference, in their units, of coordinates without the dimension
            ``concat``; the first file's values are used. By default they must be equal.
        deep: also read what is linked, and verify the checksums that the files state for it (vectors of frame
            files); ``pack`` always does.
        message: the commit message.
        storage: credentials of the repository's object store.
        durability: ``"none"`` for scratch data; see :func:`icecore.open`.
        progress: true for a bar in a terminal or notebook; or a function that is called with (path,
            finished bytes, total bytes) while data is copied.
        client: a ``distributed.Client`` or the address of a Dask scheduler, whose workers index the files.
            They need the credentials of stores in their own environment.

    Returns:
        A report: for each array whether it was linked or copied and why; failures; the new snapshot's id.

    Raises:
        Error: the first failure, if nothing could be committed (see ``keep_going``).

    Example:
        >>> import icecore, numpy as np
        >>> np.save("t2m.npy", np.arange(1000, dtype="f4").reshape(10, 100))
        >>> report = icecore.link("t2m.npy", "moon.icecore", group="/wrf")
        >>> icecore.open("moon.icecore")["/wrf/t2m"].linked
        True
    """
    with reported(progress, "link") as progress:
        return run(LinkOptions(**locals()))


def run(options: LinkOptions) -> Report:
    """Link according to ``options``: resolve the sources, plan, write, report."""
    began = time.perf_counter()
    options.check()
    report = _once(options) if options.commit_every is None else batches.run(options, _once)
    report.seconds = time.perf_counter() - began
    return report


def _once(options: LinkOptions, record: Callable[[Writer, set[str]], None] | None = None) -> Report:
    """Link in one commit; ``record`` is called before the commit with the writer and the failed sources."""
    with connected_if(options.client) as cluster:
        sources = link_sources(options, cluster)
    return without_damaged(partial(_attempt, options, record), sources, options.keep_going)


def _attempt(
    options: LinkOptions, record: Callable[[Writer, set[str]], None] | None, sources: Sources
) -> Report:
    message = options.message or commit_message("link", sources.indexed)
    target = open_target(options.into, options.storage, message, None, options.dry_run, options.durability)
    plan = link_plan.plan(options, sources, target.base)
    report = plan.report()
    if options.dry_run or not may_commit(report, plan.anything, options.keep_going):
        return report
    with writing(target) as writer:
        _write(writer, plan, report)
        if record is not None:
            record(writer, {failure.name for failure in report.failures})
    report.snapshot = writer.snapshot_id
    report.bytes_stored = writer.bytes_stored
    return report


def _write(writer: Writer, plan: LinkPlan, report: Report) -> None:
    """Write everything in the plan, as one commit."""
    options = plan.options
    write_groups(writer, plan.assembly, options.replace)
    linked = [each.step.entry for each in plan.steps if each.how != "copied"]
    remove_signatures(linked)
    write_references.allow(writer, linked, options.allow_links)
    write_references.record_checksums(linked)
    failures = ArrayFailures(writer, [each.step for each in plan.steps], options.keep_going)
    with keep_open():
        write_links(writer, plan, options.progress, failures)
    failures.leave_out_lists(plan.assembly.groups)
    missing = failures.left_out
    report.failures += failures.failures
    may_commit(report, not failures.nothing_left(), options.keep_going)
    summarize(writer, [each.step for each in plan.steps if each.step.path not in missing], options)
    report.rows = [row for row in report.rows if row.path not in missing]
