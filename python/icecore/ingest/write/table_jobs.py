"""Assign files to tables, and pack all tables one after the other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.display.progress import counted
from icecore.ingest.common_options import Existing
from icecore.ingest.failure_policy import may_commit
from icecore.ingest.plan.resolve_sources import Source
from icecore.ingest.report import Report, Row
from icecore.repository import address
from icecore.repository.nodes import Node, hidden
from icecore.sources.failure import Failure
from icecore.sources.files.archives import FAULTS
from icecore.sources.mapping.table_file import SharedText, TableFile
from icecore.tables.summaries.zones import ZONE, Zones
from icecore.tables.text import restore
from icecore.tables.text.file_state import few
from icecore.tables.text.pack_table import pack_table
from icecore.tables.text.table_job import Done, TableJob, TableOptions
from icecore.tables.text.text_stream import damaged
from icecore.writing.fork import Chunks, Fork, taken
from icecore.writing.writer import Writer

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


#: hint for tables whose names may belong to other columns
_SAY = (
    "put texts of several words into quotes, or separate cells by commas or tabs; --header if the rows have "
    "names of their own, as R writes them"
)


@dataclass
class TablePlan:
    """The planned tables of a set of sources; ``again``: path and name of files whose rows a table has."""

    jobs: list[TableJob] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    again: list[tuple[str, str]] = field(default_factory=list)


def plan_tables(
    sources: Sequence[Source], group: str | None, concat: str | None, repo: Repo | None, existing: Existing
) -> TablePlan:
    """Assign every table of every source its path, and compare with the stored tables.

    Args:
        sources: sources in order; a file that occurs twice (with its label and by itself) counts once.
        group: the group for the root of each source.
        concat: with any name (``rows``), all tables are joined into one.
        repo: the repository, or None if it does not exist yet.
        existing: action for tables that already exist.
    """
    plan = TablePlan()
    nodes = repo._nodes if repo is not None else {}
    for path, files in _grouped(_once(sources), group, concat).items():
        where = files[0].place
        doubtful = next((file for file in files if file.spec is not None and file.spec.doubt), None)
        if doubtful is not None and doubtful.spec is not None:
            plan.failures.append(Failure(doubtful.place, "format", doubtful.spec.doubt, _SAY))
        elif len(files) > 1 and concat is None:
            message = f"{where} and {files[1].place} would both become {path}"
            plan.failures.append(Failure(where, "exists", message, "join them: --concat rows"))
        elif path not in nodes:
            plan.jobs.append(TableJob(path, _named(files)))
        elif existing.skip:
            plan.skipped.append(path)
        elif existing.replace and (others := _others(path, nodes)):
            message = f"{path} holds {few(others)} besides a table's columns, which replacing it would delete"
            hint = "delete them (icecore.Writer.delete), or pack into another --group"
            plan.failures.append(Failure(where, "exists", message, hint))
        elif existing.replace:
            plan.jobs.append(TableJob(path, _named(files), delete=True))
        elif existing.append and "table" in nodes[path].ours:
            _extend(plan, path, files, nodes)
        else:
            hint = "--append with --concat rows, --replace or --skip-existing, or another --group"
            plan.failures.append(Failure(where, "exists", f"{path} exists in the repository already", hint))
    plan.jobs = _shared(plan.jobs)
    return plan


def _shared(jobs: list[TableJob]) -> list[TableJob]:
    """Return the jobs; tables of one file each keep its text from their first row to the next table."""
    found: dict[str, list[tuple[int, TableJob, TableFile]]] = {}
    for job in jobs:
        for file in job.files:
            if file.spec is not None:
                found.setdefault(os.path.abspath(file.place), []).append((file.spec.offset, job, file))
    changed: dict[int, TableFile] = {}
    for tables in found.values():
        tables.sort(key=lambda table: table[0])
        starts = [0, *(offset for offset, *_ in tables[1:])]
        ends = [file.spec.until if file.spec is not None else None for *_, file in tables]
        apart = all(a is not None and a <= b for a, b in zip(ends, starts[1:], strict=False))
        if len(tables) > 1 and apart:
            shared = SharedText([(job.path, file.name) for _, job, file in tables], starts)
            for part, (*_, file) in enumerate(tables):
                changed[id(file)] = replace(file, shared=shared, part=part)
    return [replace(job, files=[changed.get(id(file), file) for file in job.files]) for job in jobs]


def _others(path: str, nodes: Mapping[str, Node]) -> list[str]:
    """Return the nodes below a group that are not columns of its table."""
    prefix = path.rstrip("/") + "/"
    columns = {prefix + name for name in nodes[path].ours.get("table", {}).get("columns", [])}
    return [
        other for other in nodes if other.startswith(prefix) and other not in columns and not hidden(other)
    ]


def _extend(plan: TablePlan, path: str, files: list[TableFile], nodes: Mapping[str, Node]) -> None:
    """Plan to append the files that the table does not contain yet."""
    known = nodes[path].ours["table"].get("sources", [])
    held = {id(file): source for file in files for source in known if _holds(source, file)}
    grown = next((file for file in files if id(file) in held and not _is_same(held[id(file)], file)), None)
    if grown is not None:
        message = f"{path} has the rows of {grown.name} already"
        hint = "leave it out; rows that only look the same are packed in one call with the others"
        plan.failures.append(Failure(grown.name, "exists", message, hint))
        return
    new = [file for file in files if id(file) not in held]
    plan.again += [(path, file.name) for file in files if id(file) in held]
    if new:
        taken = [str(source.get("name")) for source in known]
        plan.jobs.append(TableJob(path, _named(new, taken), append=True))


def _is_same(source: dict[str, Any], file: TableFile) -> bool:
    """Whether a file that holds a source of a table is that source: of the same age, and nothing more.

    Another file may have the same name and the same text, and its rows are others.
    """
    if source.get("sha256") is None or source.get("modified", -1) != file.modified:
        return False
    try:
        with file.open() as text:
            left = int(source["bytes"]) + 1
            while left and (part := text.read(min(left, 1 << 20))):
                left -= len(part)
    except FAULTS:
        return False
    return left == 1


def _holds(source: dict[str, Any], file: TableFile) -> bool:
    """Whether a file is a source of a table, by its name and, if a hash was stored, by its content.

    A file that has grown since counts as the same file.
    """
    if not restore.may_be(file, str(source.get("name"))):
        return False
    if source.get("sha256") is None:
        return True
    digest, left = hashlib.sha256(), int(source["bytes"])
    try:
        with file.open() as text:
            while left and (part := text.read(min(left, 1 << 20))):
                digest.update(part)
                left -= len(part)
    except FAULTS:
        return False  # packing the file will report the error
    return not left and digest.hexdigest() == source["sha256"]


def _named(files: list[TableFile], taken: Sequence[str] = ()) -> list[TableFile]:
    """Return the files with names that are unique within their table."""
    names = restore.distinct(files, taken)
    return [replace(file, name=name) for file, name in zip(files, names, strict=True)]


def _once(sources: Sequence[Source]) -> list[tuple[Source, str, TableFile]]:
    """Return every table once, with its label if it has one."""
    every = [(s, path, table) for s in sources for path, table in s.arrays.tables.items()]
    places = [os.path.abspath(table.place) for _, _, table in every]
    labelled = {
        place
        for place, (_, _, table) in zip(places, every, strict=True)
        if table.spec is not None and table.spec.label
    }
    chosen: dict[Any, tuple[Source, str, TableFile]] = {}
    for place, (source, path, table) in zip(places, every, strict=True):
        if table.spec is None or (place in labelled and not table.spec.label):
            continue
        # Tables may begin at the same byte and share their rows: each skips the others' bytes.
        cells = tuple((field.name, field.start) for field in table.spec.fields)
        chosen.setdefault((place, table.spec.offset, cells), (source, path, table))
    return list(chosen.values())


def _grouped(
    tables: Sequence[tuple[Source, str, TableFile]], group: str | None, concat: str | None
) -> dict[str, list[TableFile]]:
    if not tables:
        return {}
    if concat is not None:
        root = address.absolute(group) if group is not None else tables[0][0].group
        return {root: [table for _, _, table in tables]}
    result: dict[str, list[TableFile]] = {}
    for source, inside, table in tables:
        root = address.absolute(group) if group is not None else source.group
        result.setdefault(address.join(root, inside), []).append(table)
    return result


def pack_tables(
    writer: Writer,
    plan: TablePlan,
    options: TableOptions,
    report: Report,
    keep_going: bool,
    progress: Callable[[str, int, int], None] | None = None,
    arrays: bool = False,
    packed: Callable[[TableJob], Done] | None = None,
) -> tuple[list[str], dict[str, Zones]]:
    """Write all tables of a plan and report on them; ``arrays``: whether arrays were written as well.

    ``packed`` writes a table another way, such as on a cluster.

    Returns:
        The columns with more than one zone, for which summaries are useful; and the summaries that were
        already computed.

    Raises:
        DamagedSource: a joined file (and its ``others``) is damaged; the rest can be joined.
        Error: the first failure, unless ``keep_going`` is true and something was written.
    """
    long: list[str] = []
    made: dict[str, Zones] = {}
    anything = arrays
    for job in plan.jobs:
        try:
            done = packed(job) if packed else pack_table(writer, job, options, counted(progress))
            _report(writer, done, report)
            anything = True
            if done.total >= 2 * ZONE:
                long += done.columns
                made |= done.summaries
        except errors.Error as error:
            if len(job.files) > 1 and (found := damaged(job.files, error, keep_going)) is not None:
                raise found from error
            if job.append or job.delete:
                raise  # appended or deleted rows can't be undone separately
            report.failures.append(Failure.of(job.files[0].place, error))
            if not keep_going:
                may_commit(report, arrays or len(plan.jobs) > 1, keep_going)
            if writer._native.exists(job.path):
                writer.delete(job.path)
            report.notes += [
                Failure(
                    job.path,
                    "text",
                    f"{file.name} can't be restored: a part of its text was of {job.path}, which failed",
                )
                for file in job.files
                if file.shared is not None and options.keep
            ]
    if plan.jobs:
        may_commit(report, anything, keep_going)
    return long, made


def _report(writer: Writer, done: Done, report: Report) -> None:
    written = writer._native.written()
    for path in done.columns:
        raw, stored, chunks, _ = written.get(path, (0, 0, 0, 0))
        report.rows.append(Row(path, "packed", "", chunks, stored, raw))
    report.notes += [Failure(name, "text", message) for name, message in done.notes]
    report.notes += [Failure(done.path, "rewritten", message) for message in done.rewritten]


# Pack text tables on a Dask cluster: one task for each new table.


@dataclass(frozen=True)
class PackedTable:
    """A table that a worker wrote: its groups and arrays, their chunks, and the result for the report."""

    nodes: list[tuple[str, bool, str]]
    chunks: dict[str, Chunks]
    done: Done


def pack_on_workers(
    writer: Writer, jobs: Sequence[TableJob], options: TableOptions, cluster: Cluster
) -> Callable[[TableJob], Done]:
    """Return a function that returns the result of each job, called once for each in order.

    New tables are packed by workers, all rows of a table by one; tables that are extended or replaced by this
    process.
    """
    if not jobs:
        return partial(pack_table, writer, options=options)
    fork = Fork.of(writer)
    new = [job for job in jobs if not job.append and not job.delete]
    results = cluster.in_order(partial(_packed, fork, options), new)

    def packed(job: TableJob) -> Done:
        if job.append or job.delete:
            return pack_table(writer, job, options)
        _, result = next(results)
        return _merge(writer, result())

    return packed


def _packed(fork: Fork, options: TableOptions, job: TableJob) -> PackedTable:
    """Pack a table, on a worker."""
    writer = fork.writer()
    done = pack_table(writer, job, options)
    chunks = taken(writer)
    nodes = [(node.path, node.is_array, node.zarr_json) for node in _below(writer, job.path)]
    return PackedTable(nodes, chunks, done)


def _below(writer: Writer, top: str) -> Iterator[Node]:
    for path, node in sorted(writer._view()._nodes.items()):
        if path == top or path.startswith(top.rstrip("/") + "/"):
            yield node


def _merge(writer: Writer, packed: PackedTable) -> Done:
    for path, is_array, document in packed.nodes:
        writer._parents(path)
        if is_array:
            writer._native.add_array(path, document)
        else:
            attributes = json.dumps(json.loads(document).get("attributes", {}))
            if writer._native.exists(path):
                writer._native.set_attrs(path, attributes)
            else:
                writer._native.add_group(path, attributes)
    for path, chunks in packed.chunks.items():
        chunks.merge(writer, path)
    return packed.done
