"""Write the arrays of a pack plan on a Dask cluster: workers encode, this process merges and commits once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.cluster.tasks import Cluster, Running
from icecore.display.progress import counted
from icecore.ingest.plan import storage_choice
from icecore.ingest.plan.assembly import Step
from icecore.ingest.plan.pack_plan import PackStep
from icecore.ingest.plan.storage_choice import StorageChoice
from icecore.ingest.write import copy_arrays
from icecore.ingest.write.linked_read import linked_readers
from icecore.ingest.write.write_arrays import ArrayFailures, chosen, write_new
from icecore.layout.layout import Layout
from icecore.repository import zarr_dtypes
from icecore.sources import keep_open
from icecore.sources.mapping.array_map import ArrayEntry, Links
from icecore.writing.fork import Chunks, Fork, taken
from icecore.writing.writer import Writer

if TYPE_CHECKING:
    from icecore.ingest.plan.pack_plan import PackPlan


#: bytes of raw data of a task: at most, and at least unless an array or a shard is larger or all is smaller
_MOST, _LEAST = 128 << 20, 4 << 20
#: tasks per thread of the workers, so that all of them finish at about the same time
_TASKS = 8
#: bytes of a box, which a worker reads while it encodes the one before
_BOX = 64 << 20


@dataclass(frozen=True)
class Job:
    """A task to submit, and what it is for: whole arrays, the codecs of one, or boxes of one (with their
    bytes).
    """

    kind: str
    steps: tuple[PackStep, ...]
    work: Callable[..., Any]
    given: tuple[Any, ...]
    nbytes: int = 0


class ClusterPack:
    """A pack on a cluster.

    An array of at most one task's size is packed by one task, as on one machine. For a larger one a task
    chooses the codecs, and further tasks encode boxes of whole shards.
    """

    def __init__(self, writer: Writer, plan: PackPlan, failures: ArrayFailures, cluster: Cluster) -> None:
        self._writer, self._plan, self._failures, self._cluster = writer, plan, failures, cluster
        self._fork = Fork.of(writer)
        raw = sum(each.step.entry.nbytes for each in plan.steps)
        self._size = min(max(raw // (_TASKS * cluster.threads), _LEAST), _MOST)
        self._progress = counted(plan.options.call, raw)
        self._made: set[str] = set()

    def run(self) -> None:
        """Write every array of the plan.

        Raises:
            Error: as on one machine; ``io`` if workers die again and again with the same task.
        """
        local = [each for each in self._plan.steps if is_local(each)]
        todo = deque([self._first_jobs(each for each in self._plan.steps if not is_local(each))])
        with self._cluster.running() as running:
            self._fill(running, todo)
            self._write_here(local)
            while len(running):
                job, result = running.take()
                more = self._taken(job, result)
                if more is not None:
                    todo.appendleft(more)
                self._fill(running, todo)
        self._failures.collect(wait=True)

    def _fill(self, running: Running, todo: deque[Iterator[Job]]) -> None:
        while todo and not running.is_full:
            job = next(todo[0], None)
            if job is None:
                todo.popleft()
            else:
                running.submit(job, job.work, *job.given)

    def _first_jobs(self, steps: Iterable[PackStep]) -> Iterator[Job]:

        choice, budget = self._plan.choice, self._plan.budget
        batch: list[PackStep] = []
        for each in steps:
            sent = _sent(each)
            if each.step.entry.nbytes > self._size:
                yield Job("codecs", (each,), choose, (sent, choice, budget))
                continue
            batch.append(sent)
            if sum(one.step.entry.nbytes for one in batch) >= self._size:
                yield Job("arrays", tuple(batch), pack_arrays, (self._fork, tuple(batch), choice, budget))
                batch = []
        if batch:
            yield Job("arrays", tuple(batch), pack_arrays, (self._fork, tuple(batch), choice, budget))

    def _taken(self, job: Job, result: Callable[[], Any]) -> Iterator[Job] | None:
        """Merge a result; return further jobs for the codecs of an array."""
        by_path = {each.step.path: each for each in job.steps}
        if job.kind == "arrays":
            for packed in result():
                self._merge(by_path[packed.path], packed, by_path[packed.path].step.entry.nbytes)
            return None
        [each] = job.steps
        if each.step.path in self._failures.left_out:
            return None
        with self._failures.guard(each.step):
            found = result()
            if job.kind == "codecs":
                self._make(each, found[0])
                return self._box_jobs(each, *found)
            self._merge(each, found, job.nbytes)
        return None

    def _make(self, each: PackStep, document: str) -> None:
        from icecore.ingest.plan import storage_choice

        if each.step.path not in self._made:
            self._made.add(each.step.path)
            storage_choice.make(self._writer, each.step, document)

    def _box_jobs(self, each: PackStep, document: str, where: Layout) -> Iterator[Job]:
        from icecore.ingest.write import copy_arrays

        step, held = each.step, each.step.entry.sparse()
        old = None
        if held is not None and step.replaced is not None:
            from icecore.ingest.plan.repository_source import held_of

            old = held_of(self._writer._pending().array(step.path))
        budget = min(self._plan.budget, _BOX, self._size)
        every = copy_arrays.boxes(step.entry, where, max(budget, 1), held, old)
        itemsize = zarr_dtypes.itemsize(step.entry.dtype)
        for boxes, nbytes in _batches(every, itemsize, self._size):
            if step.path in self._failures.left_out:
                return
            part = changed(step, entry=part_of(step.entry, boxes))
            yield Job("boxes", (each,), pack_boxes, (self._fork, part, document, boxes), nbytes)

    def _merge(self, each: PackStep, packed: Packed, nbytes: int) -> None:
        step = each.step
        with self._failures.guard(step):
            if packed.error is not None:
                raise packed.error
            self._make(each, packed.documents[0])
            if packed.documents[1] != packed.documents[0]:
                self._writer._native.update_array(step.path, packed.documents[1])
            packed.chunks.merge(self._writer, step.path)
        self._progress(step.path, nbytes)

    def _write_here(self, steps: list[PackStep]) -> None:
        """Write arrays whose data other processes can't read, and arrays that are extended."""
        from icecore.ingest.write import copy_arrays
        from icecore.ingest.write.linked_read import linked_readers
        from icecore.ingest.write.write_arrays import write_new

        entries = [each.step.entry for each in steps]
        for each, read in zip(steps, linked_readers(entries), strict=True):
            with self._failures.guard(each.step):
                if each.step.old is not None:
                    copy_arrays.copy_after(self._writer, each.step, read, self._progress)
                else:
                    plan = self._plan
                    write_new(self._writer, plan.choice, plan.budget, each, read, self._progress)


def is_local(each: PackStep) -> bool:
    """Whether an array is written by this process: it is in memory, or extends a stored array."""
    return each.step.old is not None or each.step.source.startswith(("<", "memory://"))


def _sent(each: PackStep) -> PackStep:
    """Return a step as it is sent to a worker."""
    return changed(each, step=changed(each.step, entry=changed(each.step.entry, renulled=None)))


def _batches(every: Sequence[Box], itemsize: int, size: int) -> Iterator[tuple[list[Box], int]]:
    """Group boxes until each group has ``size`` bytes; yield it with its bytes."""
    batch: list[Box] = []
    nbytes = 0
    for start, extent in every:
        batch.append((start, extent))
        elements = 1
        for n in extent:
            elements *= n
        nbytes += elements * itemsize
        if nbytes >= size:
            yield batch, nbytes
            batch, nbytes = [], 0
    if batch:
        yield batch, nbytes


# Tasks of a ``pack`` on a cluster, as a worker runs them: choose codecs, write arrays or boxes of one.


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
    storage_choice.make(writer, step, document)
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


# Part of a source's array: only the references that some boxes of it need, for a task on another machine.

#: start and shape of a box
Box = tuple[Sequence[int], Sequence[int]]


def part_of(entry: ArrayEntry, boxes: Sequence[Box]) -> ArrayEntry:
    """Return the entry with only the chunks that overlap the boxes; other entries keep their reader."""
    if entry.links is None or not entry.shape:
        return replace(entry, held=None, renulled=None, check=_nothing)
    wanted = _chunks(entry, boxes)
    native = {flat: chunk for flat, chunk in entry.native.items() if _has(wanted, flat)}
    links = _links(entry.links, wanted)
    read = entry.read if native or not len(links) else None
    return replace(entry, links=links, native=native, read=read, held=None, renulled=None, check=_nothing)


def _nothing() -> None:
    return None


def _has(chunks: np.ndarray, flat: int) -> bool:
    at = int(np.searchsorted(chunks, flat))
    return at < len(chunks) and int(chunks[at]) == flat


def _chunks(entry: ArrayEntry, boxes: Sequence[Box]) -> np.ndarray:
    """Return the sorted flat numbers of the chunks that overlap the boxes."""
    found = []
    for start, extent in boxes:
        flat = np.zeros(1, "u8")
        for axis, (first, length, count) in enumerate(zip(start, extent, entry.grid, strict=True)):
            low, high = _span(entry.chunks[axis], first, first + length)
            along = np.arange(low, high, dtype="u8")
            flat = (flat[:, None] * np.uint64(count) + along).reshape(-1)
        found.append(flat)
    return np.unique(np.concatenate(found)) if found else np.empty(0, "u8")


def _span(lengths: int | Sequence[int], start: int, stop: int) -> tuple[int, int]:
    """Return the first chunk of an axis that overlaps [start, stop), and the one after the last."""
    if isinstance(lengths, int):
        return start // lengths, -(-stop // lengths)
    ends = np.cumsum(lengths)
    return int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop, "left")) + 1


def _links(links: Links, wanted: np.ndarray) -> Links:
    here = np.flatnonzero(np.isin(links.chunks, wanted))
    used, url_ids = np.unique(links.url_ids[here], return_inverse=True)
    return Links(
        [links.urls[i] for i in used],
        links.sizes[used],
        links.mtimes_ns[used],
        [links.etags[i] for i in used],
        url_ids.astype("u4"),
        links.chunks[here],
        links.offsets[here],
        links.lengths[here],
    )
