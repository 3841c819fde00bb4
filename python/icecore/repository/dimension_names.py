"""Names for all dimensions of a group, also of arrays that name none."""

from __future__ import annotations

from itertools import count
from typing import cast

from icecore.repository.group import Group

#: path of a group → array → dimension names
Known = dict[str, dict[str, tuple[str, ...]]]


def dimension_names(group: Group, known: Known | None = None) -> dict[str, tuple[str, ...]]:
    """Return array → dimension names; unnamed axes get ``phony_dim_N`` by length, as in netCDF-4.

    Numbers continue after those of the parent groups, because the groups of a tree must agree. ``known``
    caches the names of groups.
    """
    known = {} if known is None else known
    if group.path not in known:
        known[group.path] = _named(group, known)
    return known[group.path]


def _named(group: Group, known: Known) -> dict[str, tuple[str, ...]]:
    arrays = group.arrays
    if all(dim is not None for array in arrays.values() for dim in array.dims):
        return {name: tuple(map(str, array.dims)) for name, array in arrays.items()}
    taken = {dim for array in arrays.values() for dim in array.dims} | _above(group, known)
    free = (name for name in map("phony_dim_{}".format, count()) if name not in taken)
    phony: dict[tuple[int, int], str] = {}
    names = {}
    for name, array in arrays.items():
        dims: list[str] = []
        for dim, length in zip(array.dims, array.shape, strict=True):
            if dim is None:
                # The same length twice in one array gives two dimensions.
                again = sum(known in dims for (n, _), known in phony.items() if n == length)
                if (length, again) not in phony:
                    phony[length, again] = next(free)
                dim = phony[length, again]
            dims.append(dim)
        names[name] = tuple(dims)
    return names


def _above(group: Group, known: Known) -> set[str]:
    """Return the dimensions of all parent groups."""
    if group.path == "/":
        return set()
    parent = cast("Group", group.repo[group._node.parent])
    return _above(parent, known) | {dim for dims in dimension_names(parent, known).values() for dim in dims}
