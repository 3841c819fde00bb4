"""Write the arrays of a link plan: references, and copies of chunks that can't be linked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from icecore import errors
from icecore.analyzer.choose_codec import Planned
from icecore.display.progress import Progress, ProgressCall, counted
from icecore.ingest import copy_arrays, write_references
from icecore.ingest.array_failures import ArrayFailures
from icecore.ingest.entry_attributes import attributes
from icecore.ingest.link_choice import LinkStep

if TYPE_CHECKING:
    from icecore.ingest.link_plan import LinkPlan
    from icecore.writing.writer import Writer

#: size (bytes) of a box of copied data
_BUDGET = 128 << 20


def write_links(
    writer: Writer, plan: LinkPlan, progress: ProgressCall | None, failures: ArrayFailures
) -> None:
    """Write every array of a plan; ``failures`` decides whether failed arrays are left out or raise."""
    count = counted(progress, sum(each.step.entry.nbytes for each in plan.steps if each.how == "copied"))
    for each in plan.steps:
        if each.step.replaced is not None and each.how != "copied":
            writer.delete(each.step.path)
        writer._parents(each.step.path)
        with failures.guard(each.step):
            if plan.options.deep and each.how != "copied":
                each.step.entry.check()
            if each.how == "copied":
                _copy(writer, each, count)
            elif each.step.old is not None:
                _extend(writer, each)
            else:
                _link(writer, each)
    failures.collect(wait=True)


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
    step, entry = each.step, each.step.entry
    node = copy_arrays.grown(step)
    writer._native.update_array(step.path, node.zarr_json)
    assert isinstance(entry.chunks, tuple)
    if entry.links is not None and len(entry.links):
        first = step.start // entry.chunks[step.axis]
        chunks = write_references.shifted(entry.links, entry, step.axis, first, node.shape)
        write_references.set_links(writer, step.path, entry.links, chunks)
    for flat, chunk in entry.native.items():
        start = [part.start for part in entry.chunk_region(flat)]
        start[step.axis] += step.start
        writer._native.write(step.path, tuple(start), chunk())
