"""Groups and tables in ``icecore read -o``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.cli.console import Progress, lengths, print_stderr, reject_linked
from icecore.display import text

if TYPE_CHECKING:
    from icecore.export.group_plan import Select, Storage
    from icecore.repository.array import Array
    from icecore.repository.group import Group

#: formats of tables: rows of all columns
_TABLES = (".parquet", ".csv", ".arrow", ".json")


def read_group(
    group: Group, sel: str | None, output: str | None, storage: Storage, version: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write a group to a file.

    Returns:
        What was written, and path → reason of the arrays that the format can't hold.
    """
    if output is None:
        example = next(iter(group.repo._below(group.path)), None)
        hint = "-o out.nc, out.h5 or out.zarr writes all of it"
        hint += f"; or name one of its arrays: {example.path}" if example is not None else ""
        raise errors.make("not-found", f"{group.path} is a group, not an array", hint)
    reject_linked(group.repo, output)
    if output == "-" or os.path.splitext(output)[1].lower() in _TABLES:
        return _table(group, sel, output), {}
    from icecore.export.save_group import save_group

    with Progress("read") as progress:
        left_out = save_group(group, selector(group, sel), output, storage, version, progress)
    arrays = sum(node.is_array for node in group.repo._below(group.path)) - len(left_out)
    return {"path": group.path, "arrays": arrays, "left_out": len(left_out)}, left_out


def _table(group: Group, sel: str | None, output: str) -> dict[str, Any]:
    """Write the rows of a table; ``sel`` is one slice of its rows."""
    from icecore.repository.selection import parse
    from icecore.tables.query.export import export

    table = group.repo.table(group.path)
    rows = parse(sel, ("row",))[0] if sel else slice(None)
    if not isinstance(rows, slice) or rows.step not in (None, 1):
        if rows is not Ellipsis:
            raise errors.make("selection", f"{group.path}: rows are one range (got {sel})", "0:1000")
        rows = slice(None)
    first, last, _ = rows.indices(len(table))
    with Progress("read"):
        count = export(table._scan(None, None, rows=(first, max(first, last))), output)
    return {"path": group.path, "rows": count, "columns": len(table)}


def selector(group: Group, sel: str | None) -> Select:
    """Return a function from an array to its part of a selection by dimension names.

    Raises:
        Error: ``selection`` if a part has no name, or no array below the group has the dimension.
    """
    from icecore.cli.read.selection import selected
    from icecore.repository.array import Array
    from icecore.repository.selection import per_axis

    parts = dict(_parts(sel))
    arrays = [Array(group.repo, node) for node in group.repo._below(group.path) if node.is_array]
    for dim in parts:
        if not any(_has(array, dim) for array in arrays):
            known = ", ".join(sorted({name for array in arrays for name in array.dims if name}))
            message = f"no array in {group.path} has the dimension {dim!r}"
            raise errors.make("selection", message, f"its dimensions are {known or 'unnamed'}")
    known_parts: dict[Any, Any] = {}

    def select(array: Array) -> tuple[Any, ...]:
        mine = ", ".join(f"{dim}={value}" for dim, value in parts.items() if _has(array, dim))
        index, _ = selected(array, mine or None, known=known_parts, together=sel)
        return tuple(per_axis(index, array.ndim))

    return select


def _parts(sel: str | None) -> list[tuple[str, str]]:
    found = []
    for part in re.split(r",(?![^\[]*\])", sel or ""):
        dim, equals, value = part.partition("=")
        if part.strip() and not equals:
            message = f"a selection of a group needs names of dimensions (got {part.strip()})"
            raise errors.make("selection", message, "time=0:10, lat=45.0")
        if equals:
            found.append((dim.strip(), value.strip()))
    return found


def _has(array: Array, dim: str) -> bool:
    from icecore.repository.time_axis import TimeAxis

    return dim in array.dims or (dim == "time" and array.ndim > 0 and TimeAxis.of(array.attrs) is not None)


def storage_of(chunk: str | None, compress: str | None, is_decoded: bool) -> Storage:
    """Return how a file stores its variables, from the options of the command line.

    Raises:
        Error: ``invalid`` for chunks without names of dimensions.
    """
    from icecore.export.group_plan import Storage

    chunks = lengths(chunk)
    if chunks is not None and not isinstance(chunks, Mapping):
        raise errors.make(
            "invalid", f"--chunk needs names of dimensions (got {chunk})", "--chunk time=10,lat=90"
        )
    if chunks and min(chunks.values()) < 1:
        raise errors.make("invalid", f"--chunk needs lengths of at least 1 (got {chunk})", "--chunk time=10")
    return Storage(chunks or {}, compress or "gzip:1", is_decoded)


def report(output: str, facts: Mapping[str, Any], left_out: Mapping[str, str]) -> None:
    """Print what was written to stderr."""
    counts = [text.plural(facts[key], key[:-1]) for key in ("arrays", "rows", "columns") if key in facts]
    print_stderr(f"{output}: {', '.join(counts)}")
    for path, reason in left_out.items():
        print_stderr(f"left out: {path}: {reason}")
