"""Reads of many arrays in one plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import selection
from icecore.repository.array_request import request

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.repo import Repo


def requests(repo: Repo, items: Mapping[str, Any], out: Mapping[str, np.ndarray] | None) -> list[Any]:
    """Return a request to the engine for each array, and the function that converts its result."""
    for given in (items, {} if out is None else out):
        if not isinstance(given, Mapping):
            raise errors.make(
                "invalid",
                f"items and out must be dictionaries (got {given!r:.60})",
                "path → selection: repo.read({'/a': None, …}); one array: repo['/a'][...]",
            )
    arrays = [repo._array(path) for path in items]
    asked: list[Any] = []
    for array, (path, sel) in zip(arrays, items.items(), strict=True):
        index = selection.normalize(sel, array.dims)
        index, target, finish = request(array, index, out.get(path) if out else None)
        asked.append(((array.path, index, target), finish))
    return asked
