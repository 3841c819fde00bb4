"""Hypothesis strategies: array layouts, and everything that NumPy takes between brackets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import zoo
from hypothesis import settings
from hypothesis import strategies as st

_SCALE = float(os.environ.get("ICECORE_EXAMPLES", "0"))


def examples(default: int) -> settings:
    """How many examples a test tries: its own default, or ICECORE_EXAMPLES."""
    return settings(max_examples=int(_SCALE) or default)


@dataclass(frozen=True)
class Layout:
    """Shape, chunk and shard (None: not sharded), and the dtype's name in the zoo."""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    shard: tuple[int, ...] | None
    dtype: str
    codec: str
    seed: int

    def data(self) -> np.ndarray:
        """The array's values."""
        return zoo.values(self.dtype, self.shape, self.seed)


CODECS = ["auto", "none", "zstd", "gzip:1", "shuffle+zlib:1", "shuffle+lz4", "blosc"]


@st.composite
def layouts(
    draw: Any, dtypes: list[str] | None = None, max_dims: int = 4, codecs: list[str] | None = None
) -> Layout:
    """Up to four axes of up to a few dozen elements, empty ones among them; chunks may exceed the array."""
    ndim = draw(st.integers(0, max_dims))
    longest = [40, 40, 16, 8, 6][ndim]
    shape = tuple(draw(st.integers(0, longest)) for _ in range(ndim))
    chunk = tuple(draw(st.integers(1, n + 3)) for n in shape)
    shard = None
    if ndim and draw(st.booleans()):
        shard = tuple(c * draw(st.integers(1, 3)) for c in chunk)
    return Layout(
        shape,
        chunk,
        shard,
        draw(st.sampled_from(dtypes or zoo.ALL)),
        draw(st.sampled_from(codecs or CODECS)),
        draw(st.integers(0, 1000)),
    )


def slices(length: int) -> st.SearchStrategy[slice]:
    """Slices of any step and with bounds far outside."""
    bound = st.none() | st.integers(-length - 3, length + 3)
    step = st.none() | st.integers(-length - 2, length + 2).filter(bool)
    return st.builds(slice, bound, bound, step)


def indexes(length: int) -> st.SearchStrategy[int]:
    """One index into an axis that isn't empty."""
    return st.integers(-length, length - 1)


def lists(length: int, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """An integer array of a shape, unsorted and with repetitions."""
    size = prod(shape) if length else 0
    values = st.lists(indexes(length) if length else st.nothing(), min_size=size, max_size=size)
    return values.map(lambda v: np.array(v, "i8").reshape(shape if length else (0,)))


def masks(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """A boolean array, at times all or nothing."""
    size = prod(shape)
    some = st.lists(st.booleans(), min_size=size, max_size=size).map(
        lambda v: np.array(v, "?").reshape(shape)
    )
    return some | st.just(np.zeros(shape, "?")) | st.just(np.ones(shape, "?"))


def basic(length: int) -> st.SearchStrategy[Any]:
    """A slice, or an int where there is something to take."""
    return slices(length) | indexes(length) if length else slices(length)


@st.composite
def numpy_selections(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A tuple that NumPy accepts for ``shape``: ints, slices, lists, masks over axes, an ellipsis."""
    kind = (
        draw(st.sampled_from(["basic", "basic", "one list", "lists", "mask", "mask"])) if shape else "basic"
    )
    items: list[Any] = [draw(basic(n)) for n in shape]
    if kind in ("one list", "lists"):
        axes = draw(_axes(len(shape), 1 if kind == "one list" else 2))
        if kind == "lists" and all(shape[axis] for axis in axes):
            full = tuple(draw(st.lists(st.sampled_from([2, 3, 1, 4, 0]), min_size=1, max_size=2)))
            for axis in axes:
                items[axis] = draw(lists(shape[axis], draw(_broadcastable(full))))
        else:
            items[axes[0]] = draw(
                lists(shape[axes[0]], draw(st.sampled_from([(3,), (0,), (5,), (2, 3), (1,)])))
            )
        if draw(st.booleans()):
            items = [item.tolist() if isinstance(item, np.ndarray) and item.size else item for item in items]
    elif kind == "mask":
        first = draw(st.integers(0, len(shape) - 1))
        last = draw(st.integers(first + 1, len(shape)))
        items[first:last] = [draw(masks(shape[first:last]))]
        # NumPy would broadcast ints with the mask; that is covered by the lists
    return tuple(draw(_with_ellipsis(items)))


@st.composite
def orthogonal_selections(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Per axis an int, a slice, a list or a mask, all independent of each other."""
    items = []
    for n in shape:
        count = draw(st.integers(0, 5)) if n else 0
        items.append(draw(basic(n) | lists(n, (count,)) | masks((n,))))
    return tuple(items)


@st.composite
def _axes(draw: Any, ndim: int, at_least: int) -> list[int]:
    count = draw(st.integers(min(at_least, ndim), ndim))
    return sorted(draw(st.permutations(range(ndim)))[:count])


@st.composite
def _broadcastable(draw: Any, full: tuple[int, ...]) -> tuple[int, ...]:
    shape = tuple(n if draw(st.integers(0, 3)) else 1 for n in full)
    return shape[draw(st.integers(0, len(full) - 1)) :]


@st.composite
def _with_ellipsis(draw: Any, items: list[Any]) -> list[Any]:
    """Leave out trailing full axes, or a run of them behind an ellipsis, in one of the ways NumPy allows."""
    how = draw(st.integers(0, 3))
    if how == 0:
        return [*items[: draw(st.integers(0, len(items)))], Ellipsis]
    if how == 1:
        at = draw(st.integers(0, len(items)))
        return [*items[:at], Ellipsis, *items[at:]]
    if how == 2:
        return items[: draw(st.integers(0, len(items)))] or [Ellipsis]
    return items or [Ellipsis]
