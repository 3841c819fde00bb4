"""CF coordinates of an array: its coordinate variables, their bounds and its grid mapping, with a selection.

Source: CF conventions 1.12, chapters 5 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icecore.repository.array import Array
from icecore.repository.selection import per_axis

BOUNDS = ("bounds", "climatology")


def along(array: Array, axis: int) -> Array | None:
    """Return the coordinate of an axis: the 1-D array with the name of its dimension, or None.

    It is looked up in the group of ``array``, then in the groups above.
    """
    dim = array.dims[axis]
    found = None if dim is None else near(array, dim)
    fits = found is not None and (found.dims, found.shape) == ((dim,), (array.shape[axis],))
    return found if fits else None


def companions(array: Array, sel: tuple[Any, ...]) -> Iterator[tuple[Array, tuple[Any, ...]]]:
    """Yield the coordinates of ``array``, their bounds and its grid mapping, each with its part of ``sel``.

    Dimensions that ``array`` does not have are selected completely.
    """
    cuts = dict(zip(array.dims, per_axis(sel, array.ndim), strict=True))
    lengths = dict(zip(array.dims, array.shape, strict=True))
    found = [along(array, axis) for axis in range(array.ndim)]
    found += [near(array, name) for name in names(array.attrs, "coordinates")]
    found += [near(each, name) for each in found if each is not None for name in names(each.attrs, *BOUNDS)]
    found += [near(array, name) for name in names(array.attrs, "grid_mapping")]
    for each in {each.path: each for each in found if each is not None}.values():
        shape = zip(each.dims, each.shape, strict=True)
        fits = all(array.dims.count(dim) < 2 and lengths.get(dim, n) == n for dim, n in shape)
        if each.path != array.path and None not in each.dims and fits:
            yield each, tuple(cuts.get(dim, slice(None)) for dim in each.dims)


def near(array: Array, name: str) -> Array | None:
    """Return the array of this name in the group of ``array``, or in the nearest group above."""
    group = array._node.parent.rstrip("/")
    while f"{group}/{name}" not in array.repo and group:
        group = group.rpartition("/")[0]
    found = array.repo.get(f"{group}/{name}")
    return found if isinstance(found, Array) else None


def names(attrs: Mapping[str, Any], *keys: str) -> Iterator[str]:
    """Yield the variable names in attributes; ``crs: x y`` gives all three."""
    for value in map(attrs.get, keys):
        words = value.replace(":", " ").split() if isinstance(value, str) else []
        yield from (word for word in words if "/" not in word)
