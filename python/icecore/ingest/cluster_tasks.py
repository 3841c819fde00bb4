"""Tasks of a ``pack`` on a cluster, as a worker runs them: choose codecs, write arrays or boxes of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from icecore import errors
from icecore.ingest import copy_arrays, replace
from icecore.ingest.linked_read import linked_readers
from icecore.ingest.pack_plan import PackStep
from icecore.ingest.part_of_entry import Box
from icecore.ingest.placement import Step
from icecore.ingest.storage_choice import StorageChoice
from icecore.ingest.write_arrays import chosen, write_new
from icecore.layout.layout import Layout
from icecore.sources import keep_open
from icecore.writing.fork import Chunks, Fork, taken
from icecore.writing.writer import Writer


@dataclass(frozen=True)
class Packed:
    """Result for one array: its first and its last metadata document and its chunks, or its error."""

    path: str
    documents: tuple[str, str] = ("", "")
    chunks: Chunks = field(default_factory=Chunks)
    error: errors.Error | None = None


def pack_arrays(fork: Fork, steps: Sequence[PackStep], choice: StorageChoice, budget: int) -> list[Packed]:
    """Pack whole arrays, exactly as one machine does."""
    writer, failed, first = fork.writer(), {}, {}
    with keep_open():
        for each, read in zip(steps, linked_readers([each.step.entry for each in steps]), strict=True):
            path = each.step.path
            try:
                first[path] = write_new(writer, choice, budget, each, read, _ignored)
            except errors.Error as error:
                failed[path] = error
    failed = dict(writer._native.failed(True)) | failed
    for path in failed:
        if writer._native.exists(path):
            writer._native.delete(path)
    last = {path: writer._native.document(path) or "" for path in first if path not in failed}
    chunks = taken(writer)
    found = [Packed(path, (first[path], last[path]), chunks.get(path, Chunks())) for path in last]
    return [*found, *(Packed(path, error=error) for path, error in failed.items())]


def choose(each: PackStep, choice: StorageChoice, budget: int) -> tuple[str, Layout]:
    """Measure codecs on samples of an array; return the document and the layout of the packed array."""
    entry = each.step.entry
    entry.check()
    with keep_open():
        [read] = linked_readers([entry])
        where, codecs = chosen(choice, budget, each, read, entry.sparse())
    return copy_arrays.new_document(entry, where, codecs), where


def pack_boxes(fork: Fork, step: Step, document: str, boxes: Sequence[Box]) -> Packed:
    """Encode boxes of an array, whose entry may have only the references of these boxes."""
    writer = fork.writer()
    replace.make(writer, step, document)
    with keep_open():
        [read] = linked_readers([step.entry])
        for start, extent in boxes:
            region = tuple(slice(s, s + n) for s, n in zip(start, extent, strict=True))
            writer._native.write(step.path, tuple(start), np.asarray(read(region), order="C"))
    _raise_first(writer)
    return Packed(step.path, (document, document), taken(writer).get(step.path, Chunks()))


def _raise_first(writer: Writer) -> None:
    for _, error in writer._native.failed(True):
        raise error


def _ignored(path: str, nbytes: int) -> None:
    """Progress of a worker; the process that commits reports finished tasks."""
