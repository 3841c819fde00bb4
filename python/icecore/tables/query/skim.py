"""Write skims: events that pass a cut, to Parquet or ROOT files batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.tables.query.event_read import awkward
from icecore.tables.query.scan_options import ArraysOptions, IterateOptions

if TYPE_CHECKING:
    from icecore.tables.query.events import Events

#: types of elements that a branch can't have
_NO_LEAF = ("float16", "complex64", "complex128", "datetime64", "timedelta64")


def skim(events: Events, path: str, columns: Any, cut: str | None, options: dict[str, Any]) -> int:
    """Write a skim; see :meth:`icecore.tables.query.table.Table.skim`.

    Raises:
        Error: ``invalid`` for another suffix; ``unsupported`` if pyarrow or uproot is missing; errors of
            reading and writing.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _WRITE:
        hint = "skim.parquet or skim.root; icecore.pack writes repositories"
        raise errors.make("invalid", f"{path}: no format of skims has the suffix {suffix!r}", hint)
    library = "arrow" if suffix == ".parquet" else "ak"
    first = events.arrays(ArraysOptions(columns, entry_stop=0, library=library))
    batches = events.iterate(IterateOptions(columns, cut, library=library, **options))
    try:
        with landing(path) as part:
            return _WRITE[suffix](part, first, batches)
    except ModuleNotFoundError as error:
        message = f"{path}: writing it needs the package {error.name}"
        raise errors.needs(errors.extra_of(error.name or ""), message) from error


def _parquet(path: str, first: Any, batches: Iterator[Any]) -> int:
    from pyarrow import parquet

    rows = 0
    with parquet.ParquetWriter(path, first.schema) as writer:
        for batch in batches:
            writer.write_table(batch.cast(first.schema))
            rows += batch.num_rows
    return rows


def _root(path: str, first: Any, batches: Iterator[Any]) -> int:
    """Write a tree, or an RNTuple if a column can't be a branch: strings, lists of lists or of arrays."""
    import uproot

    ak, rows = awkward(), 0
    kinds = {name: first[name].type.content for name in first.fields}
    is_tree = all(_fits_tree(ak, kind) for kind in kinds.values())
    names = _names(list(kinds), is_tree)
    with uproot.recreate(path) as file:
        if is_tree:
            out = file.mktree("Events", {names[name]: kind for name, kind in kinds.items()})
        else:
            out = file.mkrntuple("Events", _records(ak, first, names))
        for batch in batches:
            if is_tree:
                out.extend({names[name]: _plain(ak, batch[name]) for name in batch.fields})
            else:
                out.extend(_records(ak, batch, names))
            rows += len(batch)
    return rows


def _fits_tree(ak: Any, kind: Any) -> bool:
    """Whether uproot writes this type to a tree: numbers, arrays of fixed shape, lists of numbers."""
    if isinstance(kind, ak.types.ListType):
        return isinstance(kind.content, ak.types.NumpyType)
    while isinstance(kind, ak.types.RegularType):
        kind = kind.content
    return isinstance(kind, ak.types.NumpyType) and kind.primitive not in _NO_LEAF


def _names(names: list[str], is_tree: bool) -> dict[str, str]:
    """Return the names in the file: branches may have dots, fields of an RNTuple neither dots nor slashes."""
    found: dict[str, str] = {}
    for name in names:
        made = name.replace("/", ".") if is_tree else name.replace("/", "_").replace(".", "_")
        if made in found.values():
            message = f"{name} and another column are both named {made} in the file"
            raise errors.make("invalid", message, "write one of them, or a .parquet file")
        found[name] = made
    return found


def _records(ak: Any, batch: Any, names: dict[str, str]) -> Any:
    return ak.zip({names[name]: ak.to_packed(batch[name]) for name in batch.fields}, depth_limit=1)


def _plain(ak: Any, column: Any) -> Any:
    """Return flat columns as NumPy arrays, which uproot needs; others packed."""
    return np.asarray(column) if column.ndim == 1 else ak.to_packed(column)


_WRITE = {".parquet": _parquet, ".root": _root}
