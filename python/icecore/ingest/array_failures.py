"""Failures of single arrays while they are written: with ``keep_going`` only the failed array is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from icecore import errors
from icecore.ingest.incomplete_lists import incomplete_lists
from icecore.ingest.placement import Step
from icecore.sources.failure import Failure
from icecore.writing.writer import Writer

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
