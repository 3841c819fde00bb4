"""Write skims: events that pass a cut, to Parquet or ROOT files batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.tables.query.event_output import awkward

if TYPE_CHECKING:
    from icecore.tables.query.events import Events


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
    first = events.arrays(columns, entry_stop=0, library=library)
    batches = events.iterate(columns, cut, library=library, **options)
    try:
        with landing(path) as part:
            return _WRITE[suffix](part, first, batches)
    except ModuleNotFoundError as error:
        message = f"{path}: writing it needs the package {error.name}"
        raise errors.make("unsupported", message, f"pip install {error.name}") from error


def _parquet(path: str, first: Any, batches: Iterator[Any]) -> int:
    from pyarrow import parquet

    rows = 0
    with parquet.ParquetWriter(path, first.schema) as writer:
        for batch in batches:
            writer.write_table(batch.cast(first.schema))
            rows += batch.num_rows
    return rows


def _root(path: str, first: Any, batches: Iterator[Any]) -> int:
    import uproot

    ak, rows = awkward(), 0
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", {name: first[name].type.content for name in first.fields})
        for batch in batches:
            tree.extend({name: _plain(ak, batch[name]) for name in batch.fields})
            rows += len(batch)
    return rows


def _plain(ak: Any, column: Any) -> Any:
    """Return flat columns as NumPy arrays, which uproot needs; others packed."""
    return np.asarray(column) if column.ndim == 1 else ak.to_packed(column)


_WRITE = {".parquet": _parquet, ".root": _root}
