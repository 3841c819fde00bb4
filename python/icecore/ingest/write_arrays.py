"""Write the arrays of a pack plan: choose codecs by measurement, copy box by box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icecore.display import text
from icecore.display.progress import Progress, counted
from icecore.ingest.array_failures import ArrayFailures
from icecore.ingest.report import Row
from icecore.repository.time_axis import KEY
from icecore.sources.mapping.array_map import Reader
from icecore.tables.summaries.zones import ZONE

if TYPE_CHECKING:
    from icecore.analyzer.choose_codec import Planned
    from icecore.ingest.pack_plan import PackPlan, PackStep
    from icecore.ingest.storage_choice import StorageChoice
    from icecore.layout.layout import Layout
    from icecore.sources.mapping.stored_chunks import Held
    from icecore.writing.writer import Writer


def write_arrays(writer: Writer, plan: PackPlan, failures: ArrayFailures) -> None:
    """Write every array of a plan; ``failures`` decides whether failed arrays are left out or raise."""
    if not plan.steps:
        return
    from icecore.ingest import copy_arrays  # text tables don't need it
    from icecore.ingest.linked_read import linked_readers

    entries = [each.step.entry for each in plan.steps]
    progress = counted(plan.options.call, sum(entry.nbytes for entry in entries))
    for each, read in zip(plan.steps, linked_readers(entries), strict=True):
        with failures.guard(each.step):
            if each.step.old is not None:
                copy_arrays.copy_after(writer, each.step, read, progress)
            else:
                write_new(writer, plan.choice, plan.budget, each, read, progress)
    failures.collect(wait=True)


def write_new(
    writer: Writer, choice: StorageChoice, budget: int, each: PackStep, read: Reader, progress: Progress
) -> str:
    """Choose layout and codecs of an array, and write it; return its first metadata document."""
    from icecore.ingest import copy_arrays

    step = each.step
    if step.entry.nbytes <= budget:
        read = copy_arrays.at_once(step.entry, read)
    held = step.entry.sparse()
    where, codecs = chosen(choice, budget, each, read, held)
    return copy_arrays.copy_new(writer, step, read, where, codecs, budget, progress, held)


def chosen(
    choice: StorageChoice, budget: int, each: PackStep, read: Reader, held: Held | None
) -> tuple[Layout, Planned]:
    """Return layout and codecs of a new array."""
    where = each.layout if each.layout is not None else choice.layout(each.step.entry, read, budget)
    codecs = choice.codecs(each.step, read, where, budget, held)
    return choice.gathered(each.step.entry, where, codecs.ratio, budget), codecs


def packed_rows(writer: Writer, plan: PackPlan, failures: ArrayFailures) -> list[Row]:
    """Return the report rows of the arrays that were written."""
    written = writer._native.written()
    missing = failures.left_out
    rows = []
    for step in (each.step for each in plan.steps if each.step.path not in missing):
        _, stored, chunks, kept = written.get(step.path, (0, 0, 0, 0))
        why = f"{text.plural(kept, 'chunk')} as before" if kept else ""
        rows.append(Row(step.path, "packed", why, chunks, stored, step.entry.nbytes))
    return rows


def summarized(plan: PackPlan, left_out: set[str]) -> list[str]:
    """Return the arrays that get summaries: all if requested, otherwise the columns of long tables."""
    steps = [each.step for each in plan.steps if each.step.path not in left_out]
    return [
        step.path
        for step in steps
        if (plan.options.summaries and KEY not in step.entry.attrs)
        or (step.entry.is_column and step.shape[0] >= 2 * ZONE)
    ]


def bytes_left_out(writer: Writer, failures: ArrayFailures) -> int:
    """Bytes stored for arrays that were left out afterwards."""
    written = writer._native.written()
    return sum(written[path][1] for path in failures.left_out & written.keys())
