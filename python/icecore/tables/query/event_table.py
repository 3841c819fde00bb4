"""Methods of tables with variable-length lists: arrays, batches and skims of events."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.repository.cached_property import cached_property
from icecore.tables.query.event_read import awkward

if TYPE_CHECKING:
    from icecore.repository.group import Group
    from icecore.tables.query.event_columns import Filter
    from icecore.tables.query.events import Events


class EventTable:
    """The part of a :class:`icecore.tables.query.table.Table` that reads events."""

    _group: Group

    @cached_property
    def _events(self) -> Events:
        from icecore.tables.query.events import Events

        return Events(self._group)

    def arrays(
        self,
        columns: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        step: int | None = None,
        entries: Sequence[int] | np.ndarray | None = None,
        library: str = "ak",
    ) -> Any:
        """Read columns of events, including variable-length lists.

        Args:
            columns: names, globs (``"Muon_*"``) or expressions (``"Muon_pt * 2"``); all columns by default.
                ``MET.fX`` is the column ``MET/fX``, and the result has the name that was asked for.
            cut: an expression with one boolean per event: ``"nMuon >= 2 and Muon_pt[:,0] > 20"``. Parts
                joined by ``and`` are tested in order; further columns are read only for the remaining events.
                Other names than words with dots are written between backquotes or as ``get("MET/fX")``.
                The ``max`` of an empty list compares like NaN: only ``!=`` is true.
            filter_name: a name, a glob, a regular expression between slashes (``"/^Jet_/"``), a function of
                names, or a list of them. The last part of a column's path, or its whole path, has to match.
            filter_typename: the same for types, in C++ or NumPy: ``"float[]"``, ``"std::vector<float>"``,
                ``"float32"``.
            entry_start, entry_stop: the range of entries, as in a slice.
            step, entries: every ``step``-th entry of the range; or entry numbers in any order.
            library: ``ak`` (an Awkward record array), ``np`` (a dictionary of NumPy arrays), ``pd``,
                ``arrow`` or ``pl`` (a data frame of pandas, a table of pyarrow, a data frame of Polars).

        Raises:
            Error: ``not-found``, ``invalid``, ``dtype``, ``mismatch`` (counter and lists), ``selection``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/nMuon", "i4", (3,))[...] = [0, 2, 3]
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [10, 20, 40]
            >>> table = repo.at("main").table("/Events")
            >>> table.arrays(["MET_pt"], cut="nMuon >= 2", library="np")["MET_pt"].tolist()
            [20.0, 40.0]
        """
        return self._events.arrays(
            columns,
            cut,
            filter_name=filter_name,
            filter_typename=filter_typename,
            entry_start=entry_start,
            entry_stop=entry_stop,
            step=step,
            entries=entries,
            library=library,
        )

    def iterate(
        self,
        columns: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        step_size: int | str = "100 MB",
        filter_name: Filter = None,
        filter_typename: Filter = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        shuffle: int | None = None,
        library: str = "ak",
    ) -> Iterator[Any]:
        """Read like :meth:`arrays`, batch by batch; batches without passing events are skipped.

        Args:
            step_size: entries per batch, or bytes (``"100 MB"``), before the cut.
            shuffle: random seed; batches are read in random order, which the seed determines.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/nMuon", "i4", (3,))[...] = [0, 2, 3]
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [10, 20, 40]
            >>> table = repo.at("main").table("/Events")
            >>> [batch["MET_pt"].tolist() for batch in table.iterate("MET_pt", step_size=2, library="np")]
            [[10.0, 20.0], [40.0]]
        """
        return self._events.iterate(
            columns,
            cut,
            step_size=step_size,
            filter_name=filter_name,
            filter_typename=filter_typename,
            entry_start=entry_start,
            entry_stop=entry_stop,
            shuffle=shuffle,
            library=library,
        )

    def skim(self, path: str, columns: Any = None, cut: str | None = None, **options: Any) -> int:
        """Write columns of events that pass a cut to a ``.parquet`` or ``.root`` file; return their number.

        ``options`` are those of :meth:`iterate`: the file is written batch by batch. A ``.root`` file has a
        tree ``Events``, or an RNTuple if a column can't be a branch: strings, lists of lists or of arrays,
        records. Slashes in names become dots in a tree; slashes and dots become underscores in an RNTuple.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/nMuon", "i4", (3,))[...] = [0, 2, 3]
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [10, 20, 40]
            >>> table = repo.at("main").table("/Events")
            >>> table.skim("muons.parquet", cut="nMuon >= 2")
            2
        """

        return skim(self._events, path, columns, cut, options)

    @property
    def bytes_read(self) -> int:
        """Number of stored bytes that the last :meth:`arrays` or :meth:`iterate` read."""
        return self._events.bytes_read


# Write skims: events that pass a cut, to Parquet or ROOT files batch by batch.

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
    first = events.arrays(columns, entry_stop=0, library=library)
    batches = events.iterate(columns, cut, library=library, **options)
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
