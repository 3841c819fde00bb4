"""Write the arrays of a link plan: references, and copies of chunks that can't be linked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.analyzer.choose_codec import Planned
from icecore.display.progress import Progress, ProgressCall, counted
from icecore.ingest.plan.link_plan import AppendGrid, LinkStep, append_grid
from icecore.ingest.write import copy_arrays, write_references
from icecore.ingest.write.copy_arrays import attributes
from icecore.ingest.write.write_arrays import ArrayFailures
from icecore.repository.nodes import OURS

if TYPE_CHECKING:
    from icecore.ingest.plan.assembly import Step
    from icecore.ingest.plan.link_plan import LinkPlan
    from icecore.writing.writer import Writer

#: size (bytes) of a box of copied data
_BUDGET = 128 << 20


def write_links(
    writer: Writer, plan: LinkPlan, progress: ProgressCall | None, failures: ArrayFailures
) -> None:
    """Write every array of a plan; ``failures`` decides whether failed arrays are left out or raise."""
    count = counted(progress, sum(each.step.entry.nbytes for each in plan.steps if each.how == "copied"))
    for path in plan.assembly.gone:
        writer.delete(path)
    for each in plan.steps:
        if each.step.replaced is not None and each.how != "copied":
            writer.delete(each.step.path)
        writer._parents(each.step.path)
        with failures.guard(each.step):
            if plan.options.deep and each.how != "copied":
                each.step.entry.check()
            if each.how == "copied":
                _copy(writer, each, count)
            elif each.step.whole:
                _weave(writer, each.step)
            elif each.step.old is not None:
                _extend(writer, each)
            else:
                _link(writer, each)
    failures.collect(wait=True)
    rename_axes(writer, plan.assembly.renamed)


def _copy(writer: Writer, each: LinkStep, progress: Progress) -> None:
    step = each.step
    if step.entry.read is None:
        raise errors.make("unsupported", f"{step.path} can be neither linked nor read: {each.why}")
    if step.old is not None:
        copy_arrays.copy_after(writer, step, step.entry.read, progress)
        return
    where = copy_arrays.own_layout(step)
    codecs = copy_arrays.own_codecs(step, where)
    read, held = step.entry.read, step.entry.sparse()
    copy_arrays.copy_new(writer, step, read, where, Planned(codecs), _BUDGET, progress, held)


def _link(writer: Writer, each: LinkStep) -> None:
    entry, path = each.step.entry, each.step.path
    document = {**entry.zarr_metadata(), "attributes": attributes(entry)}
    writer._native.add_array(path, json.dumps(document, allow_nan=False))
    if entry.links is not None:
        write_references.set_links(writer, path, entry.links)
    for flat, chunk in entry.native.items():
        start = tuple(part.start for part in entry.chunk_region(flat))
        writer._native.write(path, start, chunk())


def _extend(writer: Writer, each: LinkStep) -> None:
    step, entry, axis = each.step, each.step.entry, each.step.axis
    grid = append_grid(step)
    assert isinstance(grid, AppendGrid)
    node = copy_arrays.grown(step)
    cut = _read_rows(writer, step, grid.border) if grid.border is not None else None
    document = {**node.document, "chunk_grid": grid.document}
    writer._native.update_array(step.path, json.dumps(document, allow_nan=False))
    if cut is not None and grid.border is not None:
        start = tuple(grid.border[0] if i == axis else 0 for i in range(len(entry.shape)))
        writer._native.write(step.path, start, cut)
    if entry.links is not None and len(entry.links):
        chunks = grid.numbers(entry.links.chunks, entry.grid, axis)
        write_references.set_links(writer, step.path, entry.links, chunks)
    for flat, chunk in entry.native.items():
        first = [part.start for part in entry.chunk_region(flat)]
        first[axis] += step.start
        writer._native.write(step.path, tuple(first), chunk())


def _read_rows(writer: Writer, step: Step, rows: tuple[int, int]) -> np.ndarray:
    """Read stored rows along the joined axis."""
    assert step.old is not None
    region = tuple(slice(*rows) if i == step.axis else slice(0, n) for i, n in enumerate(step.old.shape))
    return writer._pending().array(step.path).read(region)


def _weave(writer: Writer, step: Step) -> None:
    """Replace the references of a stored array; its attributes and trends stay with it."""
    entry, old = step.entry, step.old
    assert old is not None
    assert entry.links is not None
    before = writer._pending().array(step.path).links()[2]
    kept = old.document.get("attributes", {}).get(OURS)
    attrs = {**attributes(entry), **({OURS: kept} if kept else {})}
    document = {**entry.zarr_metadata(), "attributes": attrs}
    writer._native.update_array(step.path, json.dumps(document, allow_nan=False))
    count = entry.grid[0]
    writer._native.unset(step.path, np.setdiff1d(before[before < count], entry.links.chunks).tolist())
    write_references.set_links(writer, step.path, entry.links)


def rename_axes(writer: Writer, renamed: Mapping[str, tuple[str, ...]]) -> None:
    """Give dimensions of stored arrays other names."""
    for path, dims in renamed.items():
        text = writer._native.document(path)
        if text is not None:
            document = {**json.loads(text), "dimension_names": list(dims)}
            writer._native.update_array(path, json.dumps(document, allow_nan=False))
