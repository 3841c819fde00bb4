"""Link arrays in place: store references to the chunks of source files in one commit, without copying."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from icecore.cluster.connection import connected_if
from icecore.display.progress_bar import reported
from icecore.ingest.failure_policy import may_commit, without_damaged
from icecore.ingest.follow import batches
from icecore.ingest.options import LinkOptions
from icecore.ingest.plan import link_plan
from icecore.ingest.plan.link_plan import LinkPlan
from icecore.ingest.plan.resolve_sources import Sources, link_sources
from icecore.ingest.report import Report
from icecore.ingest.write import write_references
from icecore.ingest.write.destination import commit_message, open_target, write_groups, writing
from icecore.ingest.write.write_arrays import ArrayFailures
from icecore.ingest.write.write_links import write_links
from icecore.ingest.write.write_references import remove_signatures
from icecore.ingest.write.write_trends import summarize
from icecore.options import accepts
from icecore.sources import keep_open
from icecore.writing.writer import Writer


@accepts(LinkOptions)
def link(options: LinkOptions) -> Report:
    """Link arrays of HDF5, NetCDF, NumPy and reference files into a repository without copying their data.

    Reference files are those of kerchunk and VirtualiZarr. Arrays that can't be linked (filters without a
    Zarr codec, variable-length strings, …) are copied and listed with the reason.

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
    with reported(options.progress, "link") as call:
        return run(replace(options, progress=call))


def run(options: LinkOptions) -> Report:
    """Link according to ``options``: resolve the sources, plan, write, report."""
    began = time.perf_counter()
    options.check()
    report = once(options) if options.commit_every is None else batches.run(options, once)
    report.seconds = time.perf_counter() - began
    return report


def once(options: LinkOptions, record: Callable[[Writer, set[str]], None] | None = None) -> Report:
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
        write_links(writer, plan, options.call, failures)
    failures.leave_out_lists(plan.assembly.groups)
    missing = failures.left_out
    report.failures += failures.failures
    may_commit(report, not failures.nothing_left(), options.keep_going)
    summarize(writer, [each.step for each in plan.steps if each.step.path not in missing], options)
    report.rows = [row for row in report.rows if row.path not in missing]
