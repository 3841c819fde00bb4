"""Tables as sources of columns for coffea's NanoEvents: a column is read when an analysis uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.tables.query.scan_options import ArraysOptions

if TYPE_CHECKING:
    from icecore.tables.query.table import Table


class ColumnSource(Mapping[str, "Column"]):
    """The columns of a table for ``NanoEventsFactory.from_preloaded``, with their forms known in advance."""

    def __init__(self, table: Table) -> None:
        self._table = table
        uuid = f"{table._group.repo.url}@{table._group.repo.snapshot_id}"
        self.metadata = {"uuid": uuid, "num_rows": len(table), "object_path": table.path}
        #: the name by which coffea's mapping checks the source
        self.uuid = uuid

    @cached_property
    def _forms(self) -> dict[str, Any]:
        """Name → an Awkward array without entries."""
        empty = self._table._events.arrays(ArraysOptions(entry_stop=0))
        return {name: empty[name] for name in empty.fields}

    def __getitem__(self, name: str) -> Column:
        return Column(self._table, name, self._forms[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms)

    def __len__(self) -> int:
        return len(self._forms)


class Column:
    """A column that is read by slices; its layout describes the type and has no entries."""

    def __init__(self, table: Table, name: str, empty: Any) -> None:
        self._table, self._name = table, name
        self.layout = empty.layout

    def __getitem__(self, rows: slice) -> Any:
        """Return the entries of a slice as an Awkward array."""
        options = ArraysOptions(self._name, entry_start=rows.start, entry_stop=rows.stop)
        return self._table._events.arrays(options)[self._name]


def nanoevents(
    table: Table,
    schemaclass: Any = None,
    *,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    metadata: dict[str, Any] | None = None,
    access_log: list[Any] | None = None,
) -> Any:
    """Return NanoEvents; see :meth:`icecore.Table.to_nanoevents`."""
    try:
        from coffea.nanoevents import NanoAODSchema, NanoEventsFactory
        from coffea.nanoevents.mapping.preloaded import PreloadedOpener, PreloadedSourceMapping
    except ModuleNotFoundError as error:
        message = "to_nanoevents needs the package coffea"
        raise errors.make("unsupported", message, "pip install coffea") from error
    source = ColumnSource(table)
    start, stop, _ = slice(entry_start, entry_stop).indices(len(table))
    stop = max(start, stop)
    mapping = PreloadedSourceMapping(
        PreloadedOpener({source.uuid: source}), start, stop, access_log=access_log
    )
    mapping._virtual = True  # buffers are read when they are used; from_preloaded reads all of them at once
    mapping.preload_column_source(source.uuid, table.path, source)
    made = NanoEventsFactory._from_mapping(
        mapping,
        (source.uuid, table.path, f"{start}-{stop}"),
        mapping._extract_base_form(source),
        NanoAODSchema if schemaclass is None else schemaclass,
        metadata,
        mode="virtual",
    )
    return made.events()
