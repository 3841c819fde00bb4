"""Write the arrays of a pack plan: choose codecs by measurement, copy box by box."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display import text
from icecore.display.progress import Progress, counted
from icecore.ingest.plan.assembly import Step
from icecore.ingest.report import Row
from icecore.repository.list_columns import JAGGED
from icecore.repository.time_axis import KEY
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import Reader
from icecore.tables.summaries.zones import ZONE
from icecore.writing.writer import Writer

if TYPE_CHECKING:
    from icecore.analyzer.choose_codec import Planned
    from icecore.ingest.plan.pack_plan import PackPlan, PackStep
    from icecore.ingest.plan.storage_choice import StorageChoice
    from icecore.layout.layout import Layout
    from icecore.sources.mapping.stored_chunks import StoredChunks


def write_arrays(writer: Writer, plan: PackPlan, failures: ArrayFailures) -> None:
    """Write every array of a plan; ``failures`` decides whether failed arrays are left out or raise."""
    if not plan.steps:
        return
    from icecore.ingest.write import copy_arrays
    from icecore.ingest.write.linked_read import linked_readers

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
    from icecore.ingest.write import copy_arrays

    step = each.step
    if step.entry.nbytes <= budget:
        read = copy_arrays.at_once(step.entry, read)
    held = step.entry.sparse()
    where, codecs = chosen(choice, budget, each, read, held)
    return copy_arrays.copy_new(writer, step, read, where, codecs, budget, progress, held)


def chosen(
    choice: StorageChoice, budget: int, each: PackStep, read: Reader, held: StoredChunks | None
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
        said = [f"rounded: {step.entry.rounding}"] if step.entry.rounding is not None else []
        said += [f"{text.plural(kept, 'chunk')} as before"] if kept else []
        rows.append(Row(step.path, "packed", "; ".join(said), chunks, stored, step.entry.nbytes))
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


# Failures of single arrays while they are written: with ``keep_going`` only the failed array is left out.

#: error kinds that concern one array only; error kinds of linked files that changed since they were linked
_OF_ONE, _LOST = ("corrupt", "unsupported", "codec"), ("source-changed", "source-missing")


class ArrayFailures:
    """Writes each array whole or, with ``keep_going``, leaves it out and records why."""

    def __init__(self, writer: Writer, steps: Sequence[Step], keep_going: bool) -> None:
        self._writer = writer
        self._steps = {step.path: step for step in steps}
        self._keep_going = keep_going
        self._failures: dict[str, Failure] = {}

    @property
    def failures(self) -> list[Failure]:
        """The arrays that were left out and why, in the order of the steps (encoders fail in any order)."""
        found = [self._failures[path] for path in self._steps if path in self._failures]
        return list(dict.fromkeys(found))  # the arrays of a list fail together

    @property
    def left_out(self) -> set[str]:
        """Paths of the arrays that were left out."""
        return set(self._failures)

    @contextmanager
    def guard(self, step: Step) -> Iterator[None]:
        """Context in which an array is written.

        Raises:
            DamagedSource: a file of several joined ones is damaged; the others can be joined without it.
            Error: the array may not be left out, or leaving it out would lose the stored one.
        """
        # Writing to an existing array reads it first, which the writer rejects after another array's failure.
        self.collect(wait=step.old is not None or step.replaced is not None)
        try:
            yield
        except errors.Error as error:
            find = getattr(step.entry.read, "damaged", None)  # readers of several files find the damaged one
            if self._keep_going and error.kind == "corrupt" and find is not None:
                raise find(step.entry.shape) or error from error
            self._leave_out(step, error)

    def collect(self, wait: bool) -> None:
        """Leave out the arrays whose encoding failed: those known so far, or all if ``wait`` is true.

        Raises:
            Error: as :meth:`guard`.
        """
        for path, error in self._writer._native.failed(wait):
            self._leave_out(self._steps[path], error)

    def leave_out_lists(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        """Leave out the lists that lack an array, so that the other columns of their table can be read."""
        for path, lacking in incomplete_lists(groups, set(self._failures)).items():
            for array in [each for each in self._steps if each.startswith(f"{path}/")]:
                message = f"{path}: its lists need {lacking}, which was left out"
                self._failures.setdefault(array, Failure(path, "corrupt", message))
            if self._writer._native.exists(path):
                self._writer.delete(path)

    def nothing_left(self) -> bool:
        """Whether the plan had arrays and all of them were left out."""
        return bool(self._steps) and len(self._failures) == len(self._steps)

    def _leave_out(self, step: Step, error: errors.Error) -> None:
        is_new = step.old is None and step.replaced is None
        lost = error.kind in _LOST and not hasattr(step.entry.read, "damaged")
        if not is_new or not (lost or error.kind in _OF_ONE):
            raise error
        if not self._keep_going:
            raise errors.or_rest(error) from error
        if self._writer._native.exists(step.path):
            self._writer.delete(step.path)
        self._failures[step.path] = Failure.of(step.path, error)


# Find lists that lack an array after a failed write: lengths or elements alone can't be read.


def incomplete_lists(groups: Mapping[str, Mapping[str, Any]], left_out: Collection[str]) -> dict[str, str]:
    """Return the outermost lists that lack an array: path of the group → the missing array.

    Args:
        groups: path → attributes of the groups that are written.
        left_out: paths of the arrays that are not.
    """
    lists = {path: attrs[JAGGED] for path, attrs in groups.items() if isinstance(attrs.get(JAGGED), dict)}
    found: dict[str, str] = {}
    for path, stated in lists.items():
        lengths = {posixpath.normpath(posixpath.join(path, str(of))) for of in stated.values()}
        lacking = next((each for each in left_out if each in lengths or each.startswith(f"{path}/")), None)
        if lacking is not None:
            found[path] = lacking
    return {
        path: array
        for path, array in found.items()
        if not any(path.startswith(f"{outer}/") for outer in lists if outer != path)
    }
