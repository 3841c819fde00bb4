"""Re-encode arrays and tables into a repository: plan, measure codecs, write within a memory limit."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from icecore.cluster.connection import connected_if
from icecore.cluster.tasks import Cluster
from icecore.display.progress_bar import reported
from icecore.ingest.failure_policy import may_commit, without_damaged
from icecore.ingest.options import PackOptions
from icecore.ingest.plan import pack_plan
from icecore.ingest.plan.pack_plan import PackPlan
from icecore.ingest.plan.resolve_sources import Sources, pack_sources
from icecore.ingest.report import Report
from icecore.ingest.write.cluster_pack import ClusterPack
from icecore.ingest.write.destination import (
    commit_message,
    open_target,
    write_groups,
    writing,
)
from icecore.ingest.write.table_jobs import pack_on_workers, pack_tables
from icecore.ingest.write.write_arrays import (
    ArrayFailures,
    bytes_left_out,
    packed_rows,
    summarized,
    write_arrays,
)
from icecore.ingest.write.write_trends import summarize
from icecore.options import accepts
from icecore.sources import keep_open
from icecore.tables.summaries.write import write_for
from icecore.tables.text.table_job import TableOptions
from icecore.writing.writer import Writer


@accepts(PackOptions)
def pack(options: PackOptions) -> Report:
    """Pack the arrays of sources, or of another repository, into sharded and compressed Zarr.

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
    with reported(options.progress, "pack") as call:
        return run(replace(options, progress=call))


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
        writer, plan.tables, how, report, options.keep_going, options.call, beside, packed
    )
    write_for(writer, [*long, *summarized(plan, failures.left_out)], made)
    left = [each.step for each in plan.steps if each.step.path not in failures.left_out]
    summarize(writer, left, options, packed=True)
    if options.then is not None:
        options.then(writer)
    return failures
