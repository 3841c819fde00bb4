"""Index arrays where they lie: references to the chunks of source files, in one commit, no data copied."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from icecore import errors
from icecore.analyzer.choose_codec import Planned
from icecore.display.progress import counted
from icecore.ingest import copy_arrays, link_plan, write_references
from icecore.ingest.array_failures import Apart
from icecore.ingest.destination import (
    begin,
    destination,
    groups,
    may_commit,
    notes,
    summary,
    without_damaged,
    writing,
)
from icecore.ingest.link_plan import LinkPlan
from icecore.ingest.placement import Existing, assemble
from icecore.ingest.report import Report, Row
from icecore.ingest.resolve_sources import Source, attributes, gather
from icecore.repository.repo import Repo
from icecore.sources import keep_open
from icecore.sources.failure import Failure
from icecore.tables.summaries.write import write_for
from icecore.writing.writer import Writer

_BUDGET = 128 << 20


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
    summaries: bool = False,
    message: str | None = None,
    storage: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Link the arrays of HDF5, NetCDF, NumPy and reference files (kerchunk, VirtualiZarr) into a repository,
    without copying their data.

    What can't be linked (filters that no Zarr codec undoes, text of any length, …) is copied, and listed
    with the reason.

    Args:
        sources: files, folders, globs, ``@list.txt`` or http(s) URLs.
        into: a repository, or where it is; it is created where there is none.
        group: where each source's root goes; by default a group named like the file.
        concat: join the arrays that have this dimension along it, in the order of the sources, in one group.
        append: continue arrays that exist along ``concat``.
        replace: write arrays that exist anew.
        skip_existing: leave arrays that exist as they are.
        keep_going: commit what could be done even where some source failed, or something in one. Of files
            that are joined one in which something is damaged is left out.
        dry_run: only say what would be done.
        allow_links: URL prefixes (or folders) that this repository may read linked files from; by default the
            folders of the files.
        summaries: also read the one-dimensional arrays once and summarise them, so that scans leave out what
            can't match (:mod:`icecore.tables.summaries.write`).
        message: of the commit.
        storage: credentials of the repository's object store.
        progress: called with (path, bytes done, bytes in all) while data is copied.

    Returns:
        A report: per array whether it was linked or copied and why; failures; the new snapshot's id.

    Raises:
        Error: the first failure, where nothing could be committed (see ``keep_going``).
    """
    began = time.perf_counter()
    existing = Existing(append, replace, skip_existing)
    existing.check(concat)
    indexed, failures = gather(sources, whole=concat is not None, progress=progress)

    def attempt(indexed: list[Source], failures: list[Failure]) -> Report:
        why = message or summary("link", indexed)
        repo, writer = (destination(into, storage), None) if dry_run else begin(into, storage, why)
        assembly = assemble(indexed, group, concat, repo, existing)
        plans = [link_plan.plan(step) for step in assembly.steps]
        rows = [plan.row for plan in plans]
        rows += [Row(path, "skipped", why, raw=entry.nbytes) for path, entry, why in assembly.skipped]
        rows.sort(key=lambda row: row.path)
        told = (
            notes(indexed) + assembly.notes + write_references.unreadable(into, [p.step.entry for p in plans])
        )
        report = Report(rows, failures + assembly.failures, told, dry_run=dry_run)
        if not dry_run and may_commit(report, assembly.anything(repo), keep_going):
            with writing(writer, into, storage, why) as writer:
                groups(writer, assembly, replace)
                linked = [plan.step.entry for plan in plans if plan.how != "copied"]
                write_references.allow(writer, linked, allow_links)
                apart = Apart(writer, [plan.step for plan in plans], keep_going)
                with keep_open():
                    _Linking(writer, plans, progress, apart).write()
                missing = apart.left_out
                report.failures += apart.failures
                may_commit(report, not apart.nothing_left(), keep_going)
                if summaries:
                    write_for(writer, [plan.step.path for plan in plans if plan.step.path not in missing])
                report.rows = [row for row in report.rows if row.path not in missing]
            report.snapshot = writer.snapshot_id
            report.bytes_stored = writer.bytes_stored
        return report

    report = without_damaged(attempt, indexed, failures, keep_going)
    report.seconds = time.perf_counter() - began
    return report


class _Linking:
    def __init__(
        self,
        writer: Writer,
        plans: Sequence[LinkPlan],
        progress: Callable[[str, int, int], None] | None,
        apart: Apart,
    ) -> None:
        self._writer = writer
        self._plans = plans
        self._apart = apart
        total = sum(plan.step.entry.nbytes for plan in plans if plan.how == "copied")
        self._progress = counted(progress, total)

    def write(self) -> None:
        """Write every array."""
        for plan in self._plans:
            if plan.step.replaced is not None and plan.how != "copied":
                self._writer.delete(plan.step.path)
            self._writer._parents(plan.step.path)
            with self._apart.one(plan.step):
                if plan.how == "copied":
                    self._copy(plan)
                elif plan.step.old is not None:
                    self._extend(plan)
                else:
                    self._link(plan)
        self._apart.look(wait=True)

    def _copy(self, plan: LinkPlan) -> None:
        step = plan.step
        if step.entry.read is None:
            raise errors.make("unsupported", f"{step.path} can be neither linked nor read: {plan.why}")
        if step.old is not None:
            copy_arrays.copy_after(self._writer, step, step.entry.read, self._progress)
            return
        where = copy_arrays.own_layout(step)
        codecs = copy_arrays.own_codecs(step, where)
        read, held = step.entry.read, step.entry.sparse()
        copy_arrays.copy_new(self._writer, step, read, where, Planned(codecs), _BUDGET, self._progress, held)

    def _link(self, plan: LinkPlan) -> None:
        entry, path = plan.step.entry, plan.step.path
        document = {**entry.zarr_metadata(), "attributes": attributes(entry)}
        self._writer._native.add_array(path, json.dumps(document, allow_nan=False))
        if entry.links is not None:
            write_references.set_links(self._writer, path, entry.links)
        for flat, chunk in entry.native.items():
            start = tuple(part.start for part in entry.chunk_region(flat))
            self._writer._native.write(path, start, chunk())

    def _extend(self, plan: LinkPlan) -> None:
        step, entry = plan.step, plan.step.entry
        node = copy_arrays.grown(step)
        self._writer._native.update_array(step.path, node.zarr_json)
        assert isinstance(entry.chunks, tuple)
        if entry.links is not None and len(entry.links):
            first = step.start // entry.chunks[step.axis]
            chunks = write_references.shifted(entry.links, entry, step.axis, first, node.shape)
            write_references.set_links(self._writer, step.path, entry.links, chunks)
        for flat, chunk in entry.native.items():
            start = [part.start for part in entry.chunk_region(flat)]
            start[step.axis] += step.start
            self._writer._native.write(step.path, tuple(start), chunk())
