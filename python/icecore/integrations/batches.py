"""Batches of samples for training: every chunk is fetched and decoded once an epoch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import lcm, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.repository.array_request import request
from icecore.repository.group import Group
from icecore.repository.selection import is_int
from icecore.repository.zarr_dtypes import itemsize

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo

_MEMORY = 512 << 20
_KINDS = ("numpy", "torch")


class Batches:
    """Samples of arrays in batches; see :meth:`icecore.Repo.batches`.

    A sample is a box of each array. Samples lie in *blocks* whose edges are edges of chunks. A pool of blocks
    is read in one plan, its samples are mixed, and the next pool is read meanwhile.

    Attributes:
        epoch: number of the epoch that the next iteration yields; it sets the order, and counts up.
        samples: number of samples of an epoch, of all workers.
    """

    def __init__(
        self,
        repo: Repo,
        paths: str | Sequence[str],
        sample: Mapping[str, int] | None = None,
        batch: int = 32,
        shuffle: int | None = None,
        worker: tuple[int, int] | None = None,
        memory: int | str | None = None,
        drop_last: bool = False,
        kind: str = "numpy",
    ) -> None:
        self._arrays = _arrays(repo, paths)
        self._grid = _SampleGrid(self._arrays, sample)
        if not is_int(batch) or batch < 1:
            raise errors.make("invalid", f"a batch needs samples (got batch={batch!r})", "batch=32")
        if kind not in _KINDS:
            raise errors.make("invalid", f"kind is {kind!r}", f"one of {', '.join(_KINDS)}")
        if worker is not None and not (0 <= worker[0] < worker[1]):
            raise errors.make("invalid", f"worker is {worker!r}", "worker=(number from 0, number of workers)")
        self._batch, self._seed, self._worker, self._kind = batch, shuffle, worker, kind
        self._drop_last = drop_last
        limit = text.parse_size(memory) if memory is not None else _MEMORY
        self._grid.fit(limit)
        size = self._grid.block_bytes
        if size > limit:
            message = f"a block of whole chunks takes {text.size(size)}, the limit is {text.size(limit)}"
            hint = f"memory='{text.size(size)}' or more, or smaller samples"
            raise errors.make("memory", message, hint)
        self._per_pool = max(limit // (2 * size), 1) if size else 1
        self.epoch = 0

    @property
    def samples(self) -> int:
        """Number of samples of an epoch, of all workers."""
        return prod(self._grid.counts)

    def __len__(self) -> int:
        """Number of batches that this worker yields in the next epoch."""
        count = sum(self._grid.size(number) for number in self._mine(self._order(self.epoch)))
        return count // self._batch if self._drop_last else -(-count // self._batch)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        random = None if self._seed is None else np.random.default_rng((self._seed, epoch, 1))
        rest: dict[str, np.ndarray] | None = None
        for pool in self._pools(self._mine(self._order(epoch))):
            count = len(next(iter(pool.values())))
            order = np.arange(count) if random is None else random.permutation(count)
            first = 0
            if rest is not None:
                first = min(self._batch - len(next(iter(rest.values()))), count)
                rest = {name: np.concatenate([rest[name], pool[name][order[:first]]]) for name in pool}
                if len(next(iter(rest.values()))) < self._batch:
                    continue
                yield self._as_kind(rest)
                rest = None
            for start in range(first, count, self._batch):
                part = order[start : start + self._batch]
                found = {name: values[part] for name, values in pool.items()}
                if len(part) == self._batch:
                    yield self._as_kind(found)
                else:
                    rest = found
        if rest is not None and not self._drop_last:
            yield self._as_kind(rest)

    def _order(self, epoch: int) -> np.ndarray:
        """Return the numbers of the blocks in the order of an epoch, the same for all workers."""
        if self._seed is None:
            return np.arange(self._grid.blocks)
        return np.random.default_rng((self._seed, epoch)).permutation(self._grid.blocks)

    def _mine(self, order: np.ndarray) -> list[int]:
        """Return the blocks of this worker: of ``worker``, and of a worker of torch's data loader."""
        number, count = self._worker or (0, 1)
        data = getattr(sys.modules.get("torch"), "utils", None)
        info = data.data.get_worker_info() if data is not None else None
        if info is not None:
            number, count = number * info.num_workers + info.id, count * info.num_workers
        return [int(block) for block in order[number::count]]

    def _pools(self, blocks: list[int]) -> Iterator[dict[str, np.ndarray]]:
        """Yield the samples of one pool after the other; the next one is read meanwhile."""
        pools = [blocks[i : i + self._per_pool] for i in range(0, len(blocks), self._per_pool)]
        with ThreadPoolExecutor(1, "icecore-batches") as thread:
            ahead = [thread.submit(self._read, pool) for pool in pools[:1]]
            for following in [*pools[1:], None]:
                if not ahead:
                    return
                found = ahead.pop().result()
                if following is not None:
                    ahead.append(thread.submit(self._read, following))
                yield found

    def _read(self, blocks: list[int]) -> dict[str, np.ndarray]:
        """Read blocks of all arrays in one plan, and return their samples: (samples, …) of each array."""
        asked = []
        for name, array in self._arrays.items():
            for block in blocks:
                index, target, finish = request(array, self._grid.box(array, block), None)
                asked.append((name, (array.path, index, target), finish))
        native = next(iter(self._arrays.values())).repo._native
        read = native.read_many([item for _, item, _ in asked], True, None)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in self._arrays}
        for (name, _, finish), data in zip(asked, read, strict=True):
            parts[name].append(self._grid.cut(self._arrays[name], finish(data)))
        return {name: part[0] if len(part) == 1 else np.concatenate(part) for name, part in parts.items()}

    def _as_kind(self, found: dict[str, np.ndarray]) -> dict[str, Any]:
        if self._kind == "numpy":
            return found
        try:
            import torch
        except ModuleNotFoundError:
            raise errors.make("unsupported", "tensors need torch", "kind='numpy'") from None
        return {name: torch.from_numpy(values) for name, values in found.items()}  # shares the memory


class _SampleGrid:
    """Where samples lie: along each sampled dimension their length and number, and the number in a block."""

    def __init__(self, arrays: Mapping[str, Array], sample: Mapping[str, int] | None) -> None:
        self.lengths = _lengths(arrays, sample)
        self._drops = sample is None
        self.counts, self._per_block = [], []
        self._arrays = arrays
        for dim, length in self.lengths.items():
            sizes = {array.shape[_axis(array, dim)] for array in arrays.values()}
            if len(sizes) > 1:
                message = f"the arrays differ in length along {dim or 'their first axis'}: {sorted(sizes)}"
                raise errors.make("mismatch", message, "name arrays of one grid")
            count = sizes.pop() // length
            whole = lcm(length, *(_chunk(array, _axis(array, dim)) for array in arrays.values()))
            self.counts.append(count)
            self._per_block.append(max(min(whole // length, count), 1))
        self._set()

    def fit(self, limit: int) -> None:
        """Make blocks smaller if one of whole chunks of all arrays is larger than ``limit`` bytes.

        Chunks whose lengths have no small common multiple are then cut: those at the edges are decoded twice.
        """
        if self.block_bytes <= limit:
            return
        for i, (dim, length) in enumerate(self.lengths.items()):
            longest = max(_chunk(array, _axis(array, dim)) for array in self._arrays.values())
            self._per_block[i] = min(-(-longest // length), self._per_block[i])
        self._per_block[0] = min(
            self._per_block[0] * max(limit // (2 * self.block_bytes), 1), max(self.counts[0], 1)
        )
        self._set()

    def _set(self) -> None:
        self._grid = [-(-n // b) for n, b in zip(self.counts, self._per_block, strict=True)]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return prod(self._grid)

    @property
    def block_bytes(self) -> int:
        """Bytes of a block of all arrays in memory."""
        total = 0
        for array in self._arrays.values():
            shape = list(array.shape)
            for (dim, length), number in zip(self.lengths.items(), self._per_block, strict=True):
                shape[_axis(array, dim)] = length * number
            total += prod(shape) * itemsize(array.dtype)
        return total

    def _ranges(self, block: int) -> list[tuple[int, int]]:
        """Return the samples [first, last) of a block along each sampled dimension."""
        places = np.unravel_index(block, self._grid)
        steps = zip(places, self._per_block, self.counts, strict=True)
        return [(int(at) * b, min((int(at) + 1) * b, n)) for at, b, n in steps]

    def size(self, block: int) -> int:
        """Return the number of samples of a block."""
        return prod(last - first for first, last in self._ranges(block))

    def box(self, array: Array, block: int) -> tuple[slice, ...]:
        """Return the part of an array that a block covers."""
        index = [slice(0, n) for n in array.shape]
        for (dim, length), (first, last) in zip(self.lengths.items(), self._ranges(block), strict=True):
            index[_axis(array, dim)] = slice(first * length, last * length)
        return tuple(index)

    def cut(self, array: Array, data: np.ndarray) -> np.ndarray:
        """Return the samples of a block, along a new first axis."""
        shape: list[int] = []
        first: list[int] = []  # axes that count samples
        inner: list[int] = []  # axes inside of a sample
        axes = {_axis(array, dim): length for dim, length in self.lengths.items()}
        for axis, n in enumerate(data.shape):
            length = axes.get(axis)
            if length is None:
                inner.append(len(shape))
                shape.append(n)
                continue
            first.append(len(shape))
            inner += [] if self._drops else [len(shape) + 1]
            shape += [n // length] if self._drops else [n // length, length]
        order = [first[list(axes).index(axis)] for axis in axes]
        moved = data.reshape(shape).transpose([*order, *inner])
        return moved.reshape(-1, *(shape[i] for i in inner))


def _arrays(repo: Repo, paths: str | Sequence[str]) -> dict[str, Array]:
    """Return name → array: of one path its name in the repository, of a group the names of its arrays."""
    if isinstance(paths, str) and isinstance(found := repo[paths], Group):
        arrays = found.arrays
    else:
        arrays = {path: repo._array(path) for path in ([paths] if isinstance(paths, str) else paths)}
    if not arrays:
        raise errors.make("invalid", f"no arrays in {paths!r}", "name arrays, or a group that has some")
    for array in arrays.values():
        if not array.ndim:
            raise errors.make("mismatch", f"{array.path} is a scalar: it has no samples", "name the others")
    return arrays


def _lengths(arrays: Mapping[str, Array], sample: Mapping[str, int] | None) -> dict[str, int]:
    """Return dimension → length of a sample; the empty name is the first axis of each array."""
    if sample is None:
        return {"": 1}
    if not sample or any(not is_int(length) or length < 1 for length in sample.values()):
        message = f"sample maps dimensions to lengths (got {sample!r})"
        raise errors.make("invalid", message, "sample={'time': 24, 'lat': 64}")
    for array in arrays.values():
        for dim, length in sample.items():
            if array.dims.count(dim) != 1:
                have = ", ".join(repr(each) for each in array.dims)
                raise errors.make("selection", f"{array.path} has no dimension {dim!r}", f"it has {have}")
            if length > array.shape[array.dims.index(dim)]:
                message = f"{array.path}: a sample of {length} along {dim!r} is longer than the array"
                raise errors.make("selection", message, f"{array.shape[array.dims.index(dim)]} at most")
    return dict(sample)


def _axis(array: Array, dim: str) -> int:
    return array.dims.index(dim) if dim else 0


def _chunk(array: Array, axis: int) -> int:
    """Return the length of a chunk along an axis; 1 where chunks differ, so that blocks cut some of them."""
    return array.chunks[axis] if array.chunks is not None else 1
