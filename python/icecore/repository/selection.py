"""Convert selections to the engine's form. The engine checks the single indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display import text

if TYPE_CHECKING:
    import numpy as np


def normalize(sel: Any, dims: Sequence[str | None]) -> tuple[Any, ...]:
    """Return a selection as a tuple of indexes.

    Args:
        sel: an index as in ``array[...]``, a mapping from dimension names to indexes, or None for everything.
        dims: the array's dimension names, for mappings.

    Raises:
        Error: ``selection`` for unknown dimension names, and if ``sel`` is a string.
    """
    if isinstance(sel, tuple):
        return sel
    if sel is None or sel is Ellipsis:
        return (Ellipsis,)
    if isinstance(sel, str):
        named = next((dim for dim in dims if dim is not None), None)
        hint = f"; by dimension name: {{{named!r}: 0}}" if named is not None else ""
        message = f"an index can't be a string (got {text.shorten(repr(sel), 60)})"
        raise errors.make("selection", message, f"write the index without quotes{hint}")
    return by_name(sel, dims) if isinstance(sel, Mapping) else (sel,)


def by_name(sel: Mapping[str, Any], dims: Sequence[str | None]) -> tuple[Any, ...]:
    """Convert a mapping from dimension names to indexes into one index per axis."""
    index: list[Any] = [slice(None)] * len(dims)
    for name, item in sel.items():
        axes = [axis for axis, dim in enumerate(dims) if dim == name]
        if len(axes) != 1:
            have = ", ".join(repr(dim) for dim in dims) or "none"
            reason = "no dimension" if not axes else "more than one dimension"
            raise errors.make(
                "selection", f"{reason} {name!r}: the array's dimensions are {have}", "see `icecore info`"
            )
        index[axes[0]] = item
    return tuple(index)


def scalar(sel: tuple[Any, ...], ndim: int) -> bool:
    """Whether NumPy would return a scalar: one integer for each axis."""
    return len(sel) == ndim and all(is_int(item) for item in sel)


def is_int(item: Any) -> bool:
    """Whether an index is an integer, which selects one element and drops the axis."""
    return isinstance(item, Integral) and not isinstance(
        item, bool
    )  # NumPy's integers are Integral, its bool is not


def truth(sel: tuple[Any, ...]) -> bool | None:
    """Return the value of a boolean mask for a scalar array; None if ``sel`` is not such a mask."""
    import numpy as np

    given = [item for item in sel if item is not Ellipsis]
    mask = given[0] if len(given) == 1 else None
    is_mask = isinstance(mask, (bool, np.bool_)) or (
        isinstance(mask, np.ndarray) and (mask.dtype, mask.ndim) == (np.dtype(bool), 0)
    )
    return bool(mask) if is_mask else None


def per_axis(sel: tuple[Any, ...], ndim: int) -> list[Any]:
    """Return one index for each axis; the ellipsis, or missing indexes at the end, become full slices."""
    where = next((i for i, item in enumerate(sel) if item is Ellipsis), len(sel))
    given = [item for item in sel if item is not Ellipsis]
    return [*given[:where], *[slice(None)] * (ndim - len(given)), *given[where:]]


def kept_axes(sel: tuple[Any, ...], ndim: int, result_ndim: int) -> list[int | None]:
    """Return the array axis of each result axis; all None if several lists are broadcast together."""
    full = per_axis(sel, ndim)
    kept: list[int | None] = [axis for axis, item in enumerate(full) if isinstance(item, slice)]
    lists = [axis for axis, item in enumerate(full) if not isinstance(item, slice) and not is_int(item)]
    if len(lists) == 1:
        # NumPy treats integers next to a list as lists. If a slice separates them, their axis comes first.
        picked = [axis for axis, item in enumerate(full) if not isinstance(item, slice)]
        together = picked[-1] - picked[0] + 1 == len(picked)
        kept.insert(picked[0] if together else 0, lists[0])
    return kept if len(kept) == result_ndim and len(lists) <= 1 else [None] * result_ndim


def parse(text: str | None, dims: Sequence[str | None]) -> tuple[Any, ...]:
    """Parse a selection of the command line: ``"0:10, :, ::4"``, ``"time=0:10, lat=3"``, ``"[1,5,9], 3"``.

    Raises:
        Error: ``selection``; the message names the part that is not valid.
    """
    from icecore import _icecore

    if text is None or not text.strip():
        return (Ellipsis,)
    return tuple(_icecore.parse_text_selection(text, list(dims)))


def axis_indexes(shape: Sequence[int], sel: tuple[Any, ...]) -> list[np.ndarray]:
    """Return, for each axis of an array of ``shape``, the indexes of the selected elements along it.

    Each index array has the shape of the result. A range along the first axis may lie outside the array.
    """
    import numpy as np

    offset = 0
    if sel and isinstance(sel[0], range):
        offset, shape, sel = sel[0].start, (len(sel[0]), *shape[1:]), (slice(None), *sel[1:])
    indexes = []
    for axis, length in enumerate(shape):
        column = (np.arange(length) + (0 if axis else offset)).reshape(
            [-1 if i == axis else 1 for i in range(len(shape))]
        )
        # A broadcast view needs no memory, and indexing it gives exactly NumPy's order of elements.
        indexes.append(np.broadcast_to(column, shape)[sel])
    return indexes


def box(sel: Any, shape: tuple[int, ...], path: str) -> tuple[tuple[range, ...], list[int]]:
    """Return the box that integers and slices with positive steps select.

    Returns:
        The selected indexes of each axis, and the axes of the result.

    Raises:
        Error: ``selection`` for any other index, and for an integer outside the array.
    """
    given = sel if isinstance(sel, tuple) else (sel,)
    dots = sum(item is Ellipsis for item in given)
    if dots > 1 or len(given) - dots > len(shape):
        raise errors.make("selection", f"{path}: too many indexes for shape {shape} (got {sel!r})")
    places, kept = [], []
    for axis, (item, n) in enumerate(zip(per_axis(given, len(shape)), shape, strict=True)):
        if is_int(item) and -n <= item < n:
            places.append(range(int(item) % n, int(item) % n + 1))
        elif isinstance(item, slice) and (item.step is None or (is_int(item.step) and item.step > 0)):
            places.append(range(*item.indices(n)))
            kept.append(axis)
        else:
            raise errors.make(
                "selection",
                f"can't write to {item!r} along axis {axis} (length {n}) of {path}",
                "use integers inside the array, or slices with a positive step",
            )
    return tuple(places), kept
