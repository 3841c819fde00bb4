"""Summaries: per column and zone of 4,096 rows min, max, mean, rms, count, and the intervals that cover it.

They are ordinary arrays in a hidden group, ``/__summary__/<path of the array>/r4096``, and are committed with
the data. One that no longer fits its array (rows were added, a chunk was written or linked anew) is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors, reference
from icecore.attributes import dump
from icecore.group import Group
from icecore.nodes import SUMMARY
from icecore.tables.column import column
from icecore.writer import Writer

if TYPE_CHECKING:
    from icecore.array import Array
    from icecore.repo import Repo

#: the hidden group
ROOT = f"/{SUMMARY}"
#: rows of a zone
ZONE = 4096
#: the arrays of a summary
PARTS = ("min", "max", "mean", "rms", "count", "intervals")
_MEMORY = 64 << 20
_CHUNK = 1 << 14


def write(target: Writer | Repo, path: str, columns: Sequence[str] | None = None) -> list[str]:
    """Summarise the one-dimensional arrays of numbers and times at or below ``path``.

    Args:
        target: a writer, whose commit will hold the summaries beside its data; or a repository, which gets
            a commit of its own (reopen it to see them).
        path: an array, or a group.
        columns: only these members of the group.

    Returns:
        The paths of the arrays that now have a summary.

    Raises:
        Error: ``not-found``, and those of a read.
    """
    if isinstance(target, Writer):
        return _write(target, lambda repo: _below(repo, path, columns))
    with target.writer(message=f"summaries of {reference.absolute(path)}") as writer:
        return write(writer, path, columns)


def write_for(writer: Writer, paths: Iterable[str]) -> list[str]:
    """The same for arrays that were just packed or linked; those that can have no summary are left out."""
    wanted = list(paths)
    return _write(writer, lambda repo: [repo._array(path) for path in wanted])


def state(array: Array) -> str:
    """``"fresh"``, ``"stale"`` or ``"none"``.

    Raises:
        Error: ``source-changed``, ``source-missing`` for a linked file that is not what it was.
    """
    group = array.repo._nodes.get(f"{ROOT}{array.path}/r{ZONE}")
    if group is None:
        return "none"
    kept = group.ours.get("summary", {})
    return "fresh" if kept.get("digest") == _native([array]).digest(0) else "stale"


def _write(writer: Writer, chosen: Callable[[Repo], list[Array]]) -> list[str]:
    for unfinished in writer._arrays.values():
        unfinished.finish()
    done = []
    for arrays in _together(chosen(writer._view())):
        table = _native(arrays)
        summaries = table.summarise(list(range(len(arrays))), _MEMORY)
        for array, summary in zip(arrays, summaries, strict=True):
            _store(writer, array, summary)
            done.append(array.path)
    return done


def _native(arrays: Sequence[Array]) -> Any:
    from icecore import _icecore

    return _icecore.Table([column(array.name, array) for array in arrays])


def _below(repo: Repo, path: str, columns: Sequence[str] | None) -> list[Array]:
    found = repo[path]
    if isinstance(found, Group):
        prefix = found.path.rstrip("/") + "/"
        arrays = [array for p, array in repo.arrays.items() if p.startswith(prefix)]
        if columns is not None:
            arrays = [found.arrays[name] for name in columns]
    else:
        arrays = [found]
    if not any(_fits(array) for array in arrays):
        raise errors.make(
            "not-found",
            f"{found.path} has no one-dimensional array of numbers or times to summarise",
            f"see `icecore ls {repo.url} {found.path}`",
        )
    return arrays


def _fits(array: Array) -> bool:
    return array.ndim == 1 and array.dtype.kind in "biufmM"


def _together(arrays: Iterable[Array]) -> list[list[Array]]:
    """Arrays of one group and one length, which are read side by side."""
    groups: dict[tuple[str, int], list[Array]] = {}
    for array in filter(_fits, arrays):
        groups.setdefault((array._node.parent, array.shape[0]), []).append(array)
    return list(groups.values())


def _store(writer: Writer, array: Array, summary: dict[str, Any]) -> None:
    top = f"{ROOT}{array.path}/r{summary['zone']}"
    if writer._native.exists(top):
        writer.delete(top)
    writer._parents(top)
    kept = {name: summary[name] for name in ("zone", "rows", "digest")}
    writer._native.add_group(top, dump({}, {"summary": kept}))
    zones = len(summary["count"]) // 4
    kinds = {
        "min": array.dtype,
        "max": array.dtype,
        "mean": np.dtype("f8"),
        "rms": np.dtype("f8"),
        "count": np.dtype("u4"),
        "intervals": array.dtype,
    }
    for name, dtype in kinds.items():
        shape = (zones, 4, 2) if name == "intervals" else (zones,)
        unit = (min(max(zones, 1), _CHUNK), *shape[1:])
        dims = ("zone", "interval", "end")[: len(shape)]
        stored = writer.array(f"{top}/{name}", dtype, shape, dims, chunks=unit, shards=unit, codec="default")
        if zones:
            stored[...] = summary[name].view(dtype).reshape(shape)


def read(array: Array) -> dict[str, np.ndarray]:
    """An array's summary: min, max, mean, rms, count of shape (zones,), intervals of shape (zones, 4, 2).

    Raises:
        Error: ``not-found`` where there is none.
    """
    top = f"{ROOT}{array.path}/r{ZONE}"
    if top not in array.repo:
        raise errors.make(
            "not-found", f"{array.path} has no summary", "icecore.tables.summaries.write(repo, path)"
        )
    found = array.repo.read({f"{top}/{name}": None for name in PARTS})
    return dict(zip(PARTS, found.values(), strict=True))


def finite(array: Array) -> bool:
    """Whether an array's summary says that it has no infinities: all that its intervals cover is finite."""
    zones = read(array)["intervals"].astype("f8")
    return not bool(np.isinf(zones).any())
