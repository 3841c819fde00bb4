"""Write the arrays of a pack plan on a Dask cluster: workers encode, this process merges and commits once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

from icecore.cluster.tasks import Cluster, Running
from icecore.display.progress import counted
from icecore.ingest.array_failures import ArrayFailures
from icecore.ingest.part_of_entry import part_of
from icecore.layout.layout import Layout
from icecore.repository import zarr_dtypes
from icecore.writing.fork import Fork

if TYPE_CHECKING:
    from icecore.ingest.cluster_tasks import Packed
    from icecore.ingest.pack_plan import PackPlan, PackStep
    from icecore.ingest.part_of_entry import Box
    from icecore.writing.writer import Writer

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
        from icecore.ingest.cluster_tasks import choose, pack_arrays

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
        from icecore.ingest import replace

        if each.step.path not in self._made:
            self._made.add(each.step.path)
            replace.make(self._writer, each.step, document)

    def _box_jobs(self, each: PackStep, document: str, where: Layout) -> Iterator[Job]:
        from icecore.ingest import copy_arrays
        from icecore.ingest.cluster_tasks import pack_boxes

        step, held = each.step, each.step.entry.sparse()
        old = None
        if held is not None and step.replaced is not None:
            from icecore.ingest.repository_source import held_of

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
        from icecore.ingest import copy_arrays
        from icecore.ingest.linked_read import linked_readers
        from icecore.ingest.write_arrays import write_new

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
