"""Lazy arrays for xarray, and one coalesced read for the variables of a dataset that is loaded.

xarray loads the variables of a dataset one after the other, and a backend isn't told which will follow. The
first read of ``Dataset.load`` therefore looks at the dataset in the frame of that call, reads the selections
of all its variables in one plan, and hands them out as xarray asks for them. Reads outside of these calls are
unchanged. ``load_async`` asks for all variables in one turn of the event loop: their reads meet there.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, api
from xarray.core import indexing

from icecore import errors
from icecore.repository.array_request import precision, request

if TYPE_CHECKING:
    from icecore.repository.array import Array

_TEXT = np.dtype("O", metadata={"element_type": str})
#: bytes of variables that are read ahead of xarray's question for them: larger datasets are read in parts
MOST = 256 << 20
#: frames between a read and the call that loads the dataset
_DEPTH = 64
#: an array and the index to read of it
Item = tuple["LazyArray", tuple[Any, ...]]


class LazyArray(BackendArray):
    """An array that xarray indexes and icecore reads; unpickling reopens its snapshot."""

    def __init__(self, array: Array, rtol: float | None) -> None:
        self.source = array
        self.precision = precision(rtol)
        #: values that may be rounded to or from a missing value: they are read exactly
        self.doubtful = np.empty(0, array.dtype) if rtol is not None else None
        self.shape = array.shape
        self.dtype = _TEXT if array._node.dtype_label == "string" else array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        index = self.index(key)
        return self._picked(key, read(self, index))

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Read as ``[key]`` does, together with the other variables of the event loop."""
        return self._picked(key, await read_async(self, self.index(key)))

    def index(self, key: indexing.ExplicitIndexer) -> tuple[Any, ...]:
        """Return the box or the outer product that is read for ``key``."""
        if isinstance(key, (indexing.BasicIndexer, indexing.OuterIndexer)):
            return key.tuple  # xarray's decomposition fails on empty slices with a negative step
        raw, _ = indexing.decompose_indexer(key, self.shape, indexing.IndexingSupport.OUTER)
        return raw.tuple

    def _picked(self, key: indexing.ExplicitIndexer, found: np.ndarray) -> Any:
        """Return the elements of a pointwise index from the outer product that was read for it."""
        if isinstance(key, (indexing.BasicIndexer, indexing.OuterIndexer)):
            return found
        _, rest = indexing.decompose_indexer(key, self.shape, indexing.IndexingSupport.OUTER)
        return indexing.apply_indexer(indexing.as_indexable(found), rest) if rest.tuple else found

    def read(self, index: tuple[Any, ...]) -> np.ndarray:
        """Read one box or outer product."""
        return self.refined(index, self.source._read(index, None, True, self.precision))

    def refined(self, index: tuple[Any, ...], found: np.ndarray) -> np.ndarray:
        """Return what was read with reduced precision, with doubtful values read exactly."""
        if self.doubtful is not None and self.doubtful.size:
            doubt = np.isin(found, self.doubtful)
            if doubt.any():
                found[doubt] = self.source._read(index, None, True, None)[doubt]
        return found


class _Ahead(threading.local):
    """What this thread has read for the call in ``frame`` and was not asked for yet."""

    def __init__(self) -> None:
        self.begin(None)

    def begin(self, frame: FrameType | None) -> None:
        """Forget everything; ``frame`` is that of the next call."""
        self.frame, self.together = frame, True
        self.values: dict[Any, np.ndarray] = {}


_ahead = _Ahead()


def read(lazy: LazyArray, key: tuple[Any, ...]) -> np.ndarray:
    """Read a selection, together with those of the other variables if a dataset is being loaded."""
    frame = _loading()
    if frame is None:
        return lazy.read(key)
    if _ahead.frame is not frame:
        _ahead.begin(frame)
    mine = _identity(lazy, key)
    if mine not in _ahead.values and _ahead.together:
        _read_ahead(frame, mine)
    found = _ahead.values.pop(mine, None)
    if not _ahead.values and _ahead.together:
        _ahead.begin(None)
    if found is not None:
        return lazy.refined(key, found)
    try:
        return lazy.read(key)
    except BaseException:
        _ahead.begin(None)
        raise


def _read_ahead(frame: FrameType, first: Any) -> None:
    """Read ``first`` and what the call in ``frame`` will ask for behind it."""
    wanted: dict[Any, Item] = {}
    size, reached = 0, False
    for variable in _LOADERS[frame.f_code](frame.f_locals):
        for lazy, key in _selection(variable._data):
            mine = _identity(lazy, key)
            reached = reached or mine == first
            size += _bytes(lazy, key) if reached else 0
            if reached and mine not in _ahead.values and (size <= MOST or not wanted):
                wanted.setdefault(mine, (lazy, key))
        if size > MOST:
            break
    if len(wanted) > 1:
        try:
            _ahead.values.update(zip(wanted, read_together(list(wanted.values())), strict=True))
        except errors.Error:
            _ahead.together = False  # one by one, so that the error is that of its variable


def read_together(items: Sequence[Item]) -> list[np.ndarray]:
    """Read selections, those of one repository and one precision in one plan."""
    found: list[Any] = [None] * len(items)
    plans: dict[Any, list[int]] = {}
    for at, (lazy, _) in enumerate(items):
        options = lazy.precision
        plan = id(lazy.source.repo._native), tuple(sorted(options.items())) if options else None
        plans.setdefault(plan, []).append(at)
    for places in plans.values():
        first = items[places[0]][0]
        asked, finishers = [], []
        for lazy, key in (items[at] for at in places):
            index, target, finish = request(lazy.source, key, None)
            asked.append((lazy.source.path, index, target))
            finishers.append(finish)
        values = first.source.repo._native.read_many(asked, True, first.precision)
        for at, finish, data in zip(places, finishers, values, strict=True):
            found[at] = finish(data)
    return found


def _loading() -> FrameType | None:
    """Return the frame of the call that loads a dataset for this read; None for a read of one variable."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_DEPTH):
        if frame is None or frame.f_code in _LOADERS:
            return frame
        frame = frame.f_back
    return None


def _tree(tree: xr.DataTree) -> Iterator[xr.Variable]:
    for node in tree.subtree:
        yield from node.variables.values()


def _indexes(dataset: xr.Dataset) -> Iterator[xr.Variable]:
    """Yield the coordinates that xarray turns into indexes when it opens a dataset."""
    for name, coordinate in dataset.coords.items():
        if coordinate.dims == (name,) and name not in dataset.xindexes:
            yield coordinate.variable


#: code of a call that loads variables one after the other → these variables, given its local names
_LOADERS: dict[Any, Callable[[Any], Iterable[xr.Variable]]] = {
    xr.Dataset.load.__code__: lambda names: list(names["self"].variables.values()),
    xr.DataTree.load.__code__: lambda names: list(_tree(names["self"])),
}
if hasattr(api, "_maybe_create_default_indexes"):
    _LOADERS[api._maybe_create_default_indexes.__code__] = lambda names: list(_indexes(names["ds"]))


def _selection(data: Any) -> Iterator[Item]:
    """Yield the array and the index that a lazy variable reads; nothing for one that is in memory."""
    while data is not None:
        inner = getattr(data, "array", None)
        if isinstance(inner, LazyArray) and hasattr(data, "key"):
            yield inner, inner.index(data.key)
            return
        if hasattr(data, "key") and isinstance(inner, indexing.ExplicitlyIndexed):
            inner = indexing.apply_indexer(inner, data.key)  # as reading it does
        data = inner


def _identity(lazy: LazyArray, key: tuple[Any, ...]) -> Any:
    return id(lazy), tuple(_hashable(item) for item in key)


def _hashable(item: Any) -> Any:
    if isinstance(item, slice):
        return item.start, item.stop, item.step
    return (item.shape, item.tobytes()) if isinstance(item, np.ndarray) else int(item)


def _bytes(lazy: LazyArray, key: tuple[Any, ...]) -> int:
    count = 1
    for item, n in zip(key, lazy.shape, strict=True):
        if isinstance(item, slice):
            count *= len(range(*item.indices(n)))
        elif isinstance(item, np.ndarray):
            count *= item.size
    return count * lazy.dtype.itemsize


#: event loop → reads that wait for the end of its turn, with the futures of their values
_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, list[tuple[Item, asyncio.Future[np.ndarray]]]]
_waiting = WeakKeyDictionary()


async def read_async(lazy: LazyArray, key: tuple[Any, ...]) -> np.ndarray:
    """Read a selection in a thread, together with all others that are asked for in this turn of the loop."""
    loop = asyncio.get_running_loop()
    waiting = _waiting.setdefault(loop, [])
    future: asyncio.Future[np.ndarray] = loop.create_future()
    waiting.append(((lazy, key), future))
    if len(waiting) == 1:
        task = loop.create_task(_answer(loop))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
    return await future


#: tasks under way: an event loop holds them weakly
_tasks: set[asyncio.Task[None]] = set()


async def _answer(loop: asyncio.AbstractEventLoop) -> None:
    waiting = _waiting.pop(loop)
    items = [item for item, _ in waiting]
    try:
        found: Sequence[Any] = await asyncio.to_thread(_refined, items)
    except errors.Error:
        found = await asyncio.gather(
            *(asyncio.to_thread(lazy.read, key) for lazy, key in items), return_exceptions=True
        )
    except BaseException as error:
        found = [error] * len(items)
    for (_, future), value in zip(waiting, found, strict=True):
        if future.done():
            continue
        if isinstance(value, BaseException):
            future.set_exception(value)
        else:
            future.set_result(value)


def _refined(items: Sequence[Item]) -> list[np.ndarray]:
    values = read_together(items)
    return [lazy.refined(key, value) for (lazy, key), value in zip(items, values, strict=True)]
