"""Read columns of events level by level: first the lengths of lists, then their elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables.query.event_columns import EventColumn

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


#: selected entries: a range, or increasing entry numbers
Rows = slice | np.ndarray
#: stored bytes of reads; counting them costs as much as a small read, so those of ranges wait until asked for
Log = list[int | Callable[[], int]]


@dataclass
class Values:
    """The data of a column.

    Attributes:
        column: the column.
        data: elements of an array, offsets of lists, or number of records.
        members: the content of lists, or the fields of a record.
    """

    column: EventColumn
    data: Any = None
    members: dict[str, Values] = field(default_factory=dict)


@dataclass(frozen=True)
class _Lists:
    """Selected lists of one or more columns with the same lengths.

    Attributes:
        offsets: starts of the lists among the elements that are read, and their number.
        elements: the elements of the content.
        least, most: the range of these elements; ``sound``: no list ends before it begins.
    """

    offsets: np.ndarray
    elements: Rows
    least: int
    most: int
    sound: bool

    @classmethod
    def of(cls, starts: np.ndarray, stops: np.ndarray) -> _Lists:
        """Return lists from ``starts`` to ``stops``."""
        offsets = np.zeros(len(starts) + 1, "i8")
        if not len(starts):
            return cls(offsets, slice(0, 0), 0, 0, True)
        np.cumsum(stops - starts, out=offsets[1:])
        least, most, sound = int(starts.min()), int(stops.max()), bool((stops >= starts).all())
        return cls(offsets, _elements(starts, stops) if sound else slice(0, 0), least, most, sound)


#: selected lists that columns share: by their lengths, their parts and the rows
_Shared = dict[tuple[Any, ...], _Lists]


def read_events(repo: Repo, columns: dict[str, EventColumn], rows: Rows, log: Log) -> dict[str, Values]:
    """Read the columns at ``rows``, one coalesced read for each level of lists.

    Args:
        repo: the repository.
        columns: name → column.
        rows: the entries.
        log: receives the number of stored bytes of each read, or a function that counts them.

    Raises:
        Error: ``mismatch`` if lengths and content disagree; errors of reads.
    """
    results = {name: Values(column) for name, column in columns.items()}
    tasks: list[tuple[Values, Rows]] = [(values, rows) for values in results.values()]
    shared: _Shared = {}
    while tasks:
        tasks = [each for task in tasks for each in _plain(*task)]
        asked = [(_lengths_path(values.column), _lengths_rows(values.column, at)) for values, at in tasks]
        found = _read(repo, asked, log)
        following: list[tuple[Values, Rows]] = []
        for (values, at), (_, had), data in zip(tasks, asked, found, strict=True):
            if values.column.kind == "array":
                values.data = data
                continue
            lists = _lists(values.column, at, had, data, shared)
            _check(repo, values.column, lists)
            values.data = lists.offsets
            content = Values(values.column.members[""])
            values.members[""] = content
            following.append((content, lists.elements))
        tasks = following
    return results


def _plain(values: Values, rows: Rows) -> list[tuple[Values, Rows]]:
    """Return a task, or the tasks of a record's fields."""
    if values.column.kind != "record":
        return [(values, rows)]
    tasks = []
    values.data = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    for name, member in values.column.members.items():
        values.members[name] = Values(member)
        tasks += _plain(values.members[name], rows)
    return tasks


def _lengths_path(column: EventColumn) -> str:
    return column.path if column.kind == "array" else column.lengths_path


def _lengths_rows(column: EventColumn, rows: Rows) -> Rows:
    """Return the rows of the lengths array that locate the lists at ``rows``."""
    if column.kind == "array":
        return rows
    if column.lengths == "offsets":
        if isinstance(rows, slice):
            return slice(rows.start, rows.stop + 1)
        return np.union1d(rows, rows + 1)
    assert column.bounds is not None
    entries = column.bounds[0]
    if isinstance(rows, slice):
        if rows.stop <= rows.start:
            return slice(0, 0)
        low, high = _part(entries, rows.start), _part(entries, rows.stop - 1)
        begin = entries[low] if column.lengths == "counts" else max(rows.start - 1, int(entries[low]))
        end = entries[high + 1] if column.lengths == "counts" else rows.stop
        return slice(int(begin), int(end))
    if column.lengths == "ends":
        return np.union1d(rows, np.maximum(rows - 1, 0))
    parts = np.unique(np.searchsorted(entries, rows, "right") - 1)
    ranges = [np.arange(entries[part], entries[part + 1]) for part in parts.tolist()]
    return np.concatenate([np.empty(0, "i8"), *ranges])


def _part(entries: np.ndarray, row: int) -> int:
    return int(np.searchsorted(entries, row, "right")) - 1


def _lists(column: EventColumn, rows: Rows, had: Rows, data: np.ndarray, shared: _Shared) -> _Lists:
    """Return the lists at ``rows``; columns with the same lengths and parts share one object."""
    bounds = () if column.bounds is None else tuple(axis.tobytes() for axis in column.bounds)
    at = (rows.start, rows.stop) if isinstance(rows, slice) else id(rows)
    key = (column.lengths_path, bounds, at)
    if key not in shared:
        shared[key] = _Lists.of(*_spans(column, rows, had, data))
    return shared[key]


def _spans(column: EventColumn, rows: Rows, had: Rows, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return start and stop of the lists at ``rows`` in the content; ``data`` are the lengths at ``had``."""
    index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    if column.lengths == "offsets":
        offsets = data.astype("i8", copy=False)
        if isinstance(rows, slice):
            starts, stops = offsets[:-1], offsets[1:]
        else:
            assert not isinstance(had, slice)
            starts, stops = (offsets[np.searchsorted(had, each)] for each in (index, index + 1))
        return starts, stops
    assert column.bounds is not None
    entries, elements = column.bounds
    known = np.arange(had.start, had.stop) if isinstance(had, slice) else had
    if not len(index):
        return np.empty(0, "i8"), np.empty(0, "i8")
    values = data.astype("i8", copy=False)
    part = np.searchsorted(entries, known, "right") - 1
    if column.lengths == "ends":
        ends = values + elements[part]
        place = np.searchsorted(known, index)
        first = elements[part[place]]
        inside = index > entries[part[place]]
        starts = np.where(inside, ends[np.maximum(place - 1, 0)], first)
        return starts, ends[place]
    stops = np.cumsum(values)
    begins = np.flatnonzero(np.diff(part, prepend=-1))  # start of each part in the lengths read
    before = np.concatenate([[0], stops])[begins]
    sizes = np.concatenate([before[1:], stops[-1:]]) - before
    parts = part[begins]
    wrong = np.flatnonzero(sizes != elements[parts + 1] - elements[parts])
    if len(wrong):
        bad = int(parts[wrong[0]])
        raise errors.make(
            "mismatch",
            f"{column.path}, basket {bad}: {column.lengths_path} counts {int(sizes[wrong[0]]):,} elements, "
            f"the basket has {int(elements[bad + 1] - elements[bad]):,}",
            "counter and branch disagree: compare the file with its original",
        )
    stops = stops + np.repeat(elements[parts] - before, np.diff(np.append(begins, len(part))))
    place = np.searchsorted(known, index)
    return stops[place] - values[place], stops[place]


def _check(repo: Repo, column: EventColumn, lists: _Lists) -> None:
    """Reject lists that end before they begin, or that extend past the content."""
    most = _length(repo, column.members[""])
    if not lists.sound or lists.least < 0 or (most is not None and lists.most > most):
        message = f"{column.path}: lists from {lists.least:,} to {lists.most:,} of {most} elements"
        raise errors.make("corrupt", message, "compare the file with its original")


def _length(repo: Repo, content: EventColumn) -> int | None:
    """Return the number of rows of a column; None if it is not an array."""
    return repo._array(content.path).shape[0] if content.kind == "array" else None


def _elements(starts: np.ndarray, stops: np.ndarray) -> Rows:
    """Return the elements of lists; a range if the lists are contiguous."""
    if (starts[1:] == stops[:-1]).all():
        return slice(int(starts[0]), int(stops[-1]))
    counts = stops - starts
    first = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - first, counts)


def _read(repo: Repo, asked: list[tuple[str, Rows]], log: Log) -> list[np.ndarray]:
    """Read each path once, even if it is requested several times."""
    union: dict[str, Rows] = {}
    for path, rows in asked:
        union[path] = _both(union[path], rows) if path in union else rows
    ranges = all(isinstance(rows, slice) for rows in union.values())
    count = partial(_bytes_fetched, repo, union)
    log.append(count if ranges else count())
    found = repo.read(union)
    return [_take(found[path], union[path], rows) for path, rows in asked]


def _bytes_fetched(repo: Repo, items: dict[str, Rows]) -> int:
    return int(repo.plan(items).bytes_fetched)


def _both(one: Rows, other: Rows) -> Rows:
    if isinstance(one, slice) and isinstance(other, slice):
        if one == other or other.start >= other.stop:
            return one
        return (
            slice(min(one.start, other.start), max(one.stop, other.stop)) if one.start < one.stop else other
        )
    if one is other:
        return one
    return np.union1d(*(np.arange(r.start, r.stop) if isinstance(r, slice) else r for r in (one, other)))


def _take(data: np.ndarray, had: Rows, rows: Rows) -> np.ndarray:
    if had is rows or (isinstance(had, slice) and isinstance(rows, slice) and had == rows):
        return data
    if isinstance(had, slice):
        part = (
            slice(rows.start - had.start, rows.stop - had.start)
            if isinstance(rows, slice)
            else rows - had.start
        )
        return data[part] if not isinstance(rows, slice) or rows.stop > rows.start else data[:0]
    index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    return data[np.searchsorted(had, index)]


# Convert columns of events to Awkward, NumPy, pandas, Arrow and Polars values.

LIBRARIES = ("ak", "np", "pd", "arrow", "pl")


def awkward() -> Any:
    """Return the module awkward.

    Raises:
        Error: ``unsupported`` if it is not installed.
    """
    try:
        import awkward
    except ModuleNotFoundError as error:
        message = "jagged columns need the package awkward"
        raise errors.needs("root", message) from error
    return awkward


def event_array(values: Values) -> Any:
    """Return a column as a NumPy array if it has no lists, otherwise as an Awkward array."""
    if values.column.kind == "array" and values.data.dtype.kind != "O":
        return values.data
    return awkward().Array(_layout(values))


def _layout(values: Values) -> Any:
    ak = awkward()
    if values.column.kind == "array":
        data = values.data
        if data.dtype.kind == "O":
            return ak.from_iter(data.tolist(), highlevel=False) if len(data) else _no_strings(ak)
        return ak.contents.NumpyArray(np.ascontiguousarray(data))
    if values.column.kind == "record":
        names = list(values.members)
        fields = None if values.column.is_tuple else names
        members = [_layout(values.members[name]) for name in names]
        return ak.contents.RecordArray(members, fields, length=values.data)
    lists = ak.contents.ListOffsetArray(ak.index.Index64(values.data), _layout(values.members[""]))
    return ak.firsts(lists, highlevel=False) if values.column.is_optional else lists


def _no_strings(ak: Any) -> Any:
    characters = ak.contents.NumpyArray(np.empty(0, "u1"), parameters={"__array__": "char"})
    offsets = ak.index.Index64(np.zeros(1, "i8"))
    return ak.contents.ListOffsetArray(offsets, characters, parameters={"__array__": "string"})


def output(columns: dict[str, Any], library: str, rows: int, how: Any = None) -> Any:
    """Convert columns for ``library``: Awkward records, a dictionary of NumPy arrays, or a data frame.

    Raises:
        Error: ``invalid`` for another ``library``, or for a ``how`` that it lacks.
    """
    if how is not None:
        return _arranged(columns, library, how)
    if library == "np":
        return {name: _numpy(value) for name, value in columns.items()}
    if library == "ak":
        ak = awkward()
        layouts = [ak.to_layout(value) for value in columns.values()]
        return ak.Array(ak.contents.RecordArray(layouts, list(columns), length=rows))
    if library not in LIBRARIES:
        raise errors.make("invalid", f"library is {library!r}", f"one of {', '.join(LIBRARIES)}")
    table = arrow_table(columns)
    if library == "arrow":
        return table
    if library == "pd":
        try:
            return table.to_pandas()
        except ModuleNotFoundError as error:
            raise errors.needs("table", "library 'pd' needs pandas") from error
    try:
        import polars
    except ModuleNotFoundError as error:
        raise errors.needs("table", "library 'pl' needs polars") from error
    return polars.from_arrow(table)


def _arranged(columns: dict[str, Any], library: str, how: Any) -> Any:
    if library != "ak" or not (how == "zip" or how in (tuple, list, dict)):
        hint = 'library "ak" and how="zip", tuple, list or dict'
        raise errors.make("invalid", f"how={how!r} with library {library!r}", hint)
    if how == "zip":
        return _zipped(columns)
    arrays = {name: awkward().Array(value) for name, value in columns.items()}
    return arrays if how is dict else how(arrays.values())


def _zipped(columns: dict[str, Any]) -> Any:
    """Join lists of equal lengths to lists of records, with the names that uproot gives them."""
    ak = awkward()
    result = {name: value for name, value in columns.items() if ak.Array(value).ndim == 1}
    groups: list[tuple[Any, list[str]]] = []
    for name, value in columns.items():
        if name in result or not isinstance(value, ak.Array):
            result[name] = value
            continue
        counts = ak.num(value, axis=1)
        members = next((names for each, names in groups if ak.array_equal(each, counts)), None)
        if members is None:
            groups.append((counts, [name]))
        else:
            members.append(name)
    for number, (_, names) in enumerate(groups):
        start = _beginning(names)
        fields = {name[start:].strip("_./"): columns[name] for name in names}
        result[names[0][:start].strip("_./") or f"jagged{number}"] = ak.zip(fields, depth_limit=2)
    return ak.zip(result, depth_limit=1)


def _beginning(names: list[str]) -> int:
    """Return the length of the longest common beginning of names that ends with ``_``, ``.`` or ``/``."""
    cut = min(map(len, names))
    while cut and (names[0][cut - 1] not in "_./" or any(name[:cut] != names[0][:cut] for name in names)):
        cut -= 1
    return cut


def arrow_table(columns: dict[str, Any]) -> Any:
    """Return a pyarrow Table; lists become Arrow's large lists."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        message = "Arrow tables need the package pyarrow"
        raise errors.needs("table", message) from error
    return pa.table({name: _arrow(pa, value) for name, value in columns.items()})


def _arrow(pa: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind != "O":
        return pa.array(value)
    ak = awkward()
    return ak.to_arrow(
        ak.from_regular(value, axis=None) if isinstance(value, np.ndarray) else value, extensionarray=False
    )


def _numpy(value: Any) -> np.ndarray:
    """Return a NumPy array; lists become an object array of arrays, as in uproot."""
    if isinstance(value, np.ndarray):
        return value
    ak = awkward()
    if not ak.fields(value) and value.ndim == 1:
        return np.array(value.to_list(), object)
    result = np.empty(len(value), object)
    for i, item in enumerate(value):
        result[i] = np.asarray(item) if not ak.fields(value) and value.ndim == 2 else item.to_list()
    return result
