"""Fields of an ``RNTuple`` as arrays: pages are linked in place, other columns decoded and copied."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from icecore import _icecore, errors
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Region
from icecore.sources.root.entries import ENTRY, Baskets, copied, linked
from icecore.sources.root.foreign import foreign
from icecore.sources.root.lists import attribute, edges
from icecore.sources.root.readers import part, root_file

_PAGE = "icecore.root_page"
_NAMES = ("", ".", "..", "zarr.json")


@dataclass(frozen=True)
class ColumnReader:
    """Reader for one array of a column; can be pickled.

    Attributes:
        path: the file.
        identity: identity of the file when it was indexed.
        ntuple: its path in the file.
        columns: for each cluster the column to read, and the number of zeros before its first element.
        dtype: dtype of an element.
        shape: shape of the array.
        part: ``values``, ``offsets`` or ``text``.
        characters: the columns with the bytes of the strings.
    """

    path: str
    identity: Identity
    ntuple: str
    columns: tuple[tuple[int, int], ...]
    dtype: np.dtype
    shape: tuple[int, ...]
    part: str
    characters: tuple[tuple[int, int], ...] = ()

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        return np.ascontiguousarray(_column(self)[region])


@lru_cache(maxsize=4)
def _column(reader: ColumnReader) -> np.ndarray:
    pieces = _pieces(reader, reader.columns)
    if reader.part == "values":
        joined = np.concatenate([np.empty(0, "u1"), *pieces])
        return part("values", joined, None, reader.shape, reader.dtype)
    ends = [piece.view(reader.dtype) for piece in pieces]
    counts = [np.diff(each.astype("i8"), prepend=0) for each in ends]
    joined = np.concatenate([np.empty(0, "i8"), *counts])
    if len(joined) and joined.min() < 0:
        raise errors.make(
            "corrupt", f"{reader.path}: ends of lists that decrease", "compare it with its original"
        )
    if reader.part == "offsets":
        return part("offsets", joined, joined, reader.shape, np.dtype("i8"))
    text = np.concatenate([np.empty(0, "u1"), *_pieces(reader, reader.characters)])
    return part("text", text, joined, reader.shape, reader.dtype)


def _pieces(reader: ColumnReader, columns: tuple[tuple[int, int], ...]) -> list[np.ndarray]:
    file, pieces = root_file(reader.path, reader.identity), []
    for cluster, (column, zeros) in enumerate(columns):
        size = 1 if reader.part == "text" and columns is reader.characters else reader.dtype.itemsize
        if zeros:
            pieces.append(np.zeros(zeros * size, "u1"))
        if column >= 0:
            pieces.append(file.column(reader.ntuple, cluster, column))
    return pieces


class _Ntuple:
    """State of the conversion of an ntuple to arrays."""

    def __init__(
        self, file: _icecore.RootFile, path: str, identity: Identity, name: str, result: ArrayMap
    ) -> None:
        self.path, self.identity, self.name, self.result = path, identity, name, result
        found = file.ntuple(name)
        about = json.loads(found["json"])
        self.elements, self.checksums = found["elements"].astype("i8"), found["checksums"]
        self.offsets, self.lengths = found["offsets"], found["lengths"]
        self.fields: list[dict[str, Any]] = about["fields"]
        self.columns: list[dict[str, Any]] = about["columns"]
        self.clusters: list[tuple[int, int]] = about["clusters"]
        self.entries, self.description = about["entries"], about["description"]
        self._last: dict[tuple[int, int], int] = {}
        self.children: dict[int | None, list[int]] = defaultdict(list)
        for number, field in enumerate(self.fields):
            self.children[field["parent"]].append(number)
        self.of_field: dict[int, list[int]] = defaultdict(list)
        for number, column in enumerate(self.columns):
            self.of_field[column["field"]].append(number)

    def note(self, path: str, message: str) -> None:
        """Add a note on a field that is left out."""
        self.result.dropped.append(Note(path, "unsupported", message))

    def slots(self, field: int) -> list[list[int]]:
        """Return the columns of a field: for each of its slots the alternatives."""
        slots: dict[int, list[int]] = defaultdict(list)
        seen: dict[int, int] = defaultdict(int)
        for number in self.of_field[field]:
            representation = self.columns[number]["representation"]
            slots[seen[representation]].append(number)
            seen[representation] += 1
        return [slots[key] for key in sorted(slots)]

    def active(self, alternatives: list[int], rows: np.ndarray) -> list[tuple[int, int]]:
        """Return for each cluster the active column (-1: none), and the zeros before its first element.

        ``rows`` are the numbers of elements that the clusters should have.
        """
        result = []
        for cluster, expected in enumerate(rows.tolist()):
            found, zeros = -1, expected
            for number in alternatives:
                listed = self.columns[number]["clusters"][cluster]
                if listed is not None and listed[0] is not None:
                    found, zeros = number, expected - listed[1]
                    break
            if zeros < 0 or (zeros and found >= 0 and self.columns[found]["first"] is None):
                message = f"{expected - zeros:,} elements in cluster {cluster}, expected {expected:,}"
                raise errors.make("corrupt", message, "compare the file with its original")
            result.append((found, zeros))
        return result

    def last(self, cluster: int, number: int) -> int:
        """Return the last element of an index column in a cluster; 0 if it is empty."""
        if (cluster, number) not in self._last:
            raw = root_file(self.path, self.identity).column(self.name, cluster, number)
            ends = raw.view(self.columns[number]["dtype"])
            self._last[cluster, number] = int(ends[-1]) if len(ends) else 0
        return self._last[cluster, number]

    def pages(self, number: int) -> np.ndarray:
        """Return the pages of a column in all clusters."""
        ranges = [np.arange(c[2], c[3]) for c in self.columns[number]["clusters"] if c is not None]
        return np.concatenate([np.empty(0, "i8"), *ranges]).astype("i8")


def add_ntuple(
    file: _icecore.RootFile,
    path: str,
    identity: Identity,
    name: str,
    root: str,
    result: ArrayMap,
    copies: bool = True,
) -> None:
    """Add the fields of the ntuple ``name`` to ``result``, below ``root``."""
    ntuple = _Ntuple(file, path, identity, name, result)
    attrs = {"description": ntuple.description} if ntuple.description else {}
    result.groups[root or "/"] = {**result.groups.get(root or "/", {}), **attrs, "entries": ntuple.entries}
    rows = np.array([count for _, count in ntuple.clusters], "i8")
    for field in ntuple.children[None]:
        before = len(result.dropped)
        at = f"{root}/{ntuple.fields[field]['name']}"
        if not _guarded(ntuple, field, at, rows, ENTRY) and copies and len(result.dropped) > before:
            _copied(ntuple, ntuple.fields[field]["name"], root, result)


def _copied(ntuple: _Ntuple, name: str, root: str, result: ArrayMap) -> None:
    """Add a field that only uproot can read."""
    entries, groups, why = foreign(ntuple.path, ntuple.identity, ntuple.name, name, root)
    if why:
        return
    result.dropped.pop()
    for entry in entries:
        result.add(entry)
    result.groups.update(groups)


def _guarded(ntuple: _Ntuple, field: int, path: str, rows: np.ndarray, dim: str | None) -> bool:
    before = set(ntuple.result.arrays), set(ntuple.result.groups)
    if path.rsplit("/", 1)[-1] in _NAMES:
        ntuple.note(path, "Zarr can't hold a node of this name")
        return False
    try:
        _field(ntuple, field, path, rows, dim)
    except errors.Error as error:
        for made in set(ntuple.result.arrays) - before[0]:
            del ntuple.result.arrays[made]
        for made in set(ntuple.result.groups) - before[1]:
            del ntuple.result.groups[made]
        if error.kind == "unsupported":
            ntuple.note(path, error.message)
            return False
        message = f"{ntuple.path}: ntuple {ntuple.name}, field {path}: {error.message}"
        ntuple.result.failed.append(errors.make(error.kind, message, error.hint))
        return False
    return True


def _field(ntuple: _Ntuple, field: int, path: str, rows: np.ndarray, dim: str | None) -> None:
    """Add a field and its subfields; ``rows`` are its numbers of values per cluster."""
    about = ntuple.fields[field]
    shown = about["source"] if about["source"] is not None else field
    role, below = about["role"], ntuple.children[field]
    slots = ntuple.slots(shown)
    if about["repetition"] is not None and below:
        _repeated(ntuple, field, path, rows, dim)
    elif role == "Collection" or (role == "Plain" and _is_index(ntuple, slots) and len(slots) == 1):
        optional = about["type"].startswith(("std::optional<", "std::unique_ptr<"))
        _collection(ntuple, path, slots[0], below, rows, optional)
    elif about["type"] == "std::string" and len(slots) == 2:
        _string(ntuple, path, slots, rows, dim)
    elif role in ("Record", "Plain") and not slots and below:
        if role == "Plain" and len(below) == 1:  # an atomic, an enumeration: the value is the one below
            _field(ntuple, below[0], path, rows, dim)
            return
        is_tuple = about["type"].startswith(("std::tuple<", "std::pair<"))
        ntuple.result.groups.setdefault(path, {"tuple": True} if is_tuple else {})
        for name, child in _members(ntuple, below).items():
            if dim is None:  # a record in a list is complete or missing
                _field(ntuple, child, f"{path}/{name}", rows, dim)
            else:
                _guarded(ntuple, child, f"{path}/{name}", rows, dim)
    elif role == "Record" and not slots:
        ntuple.note(path, f"{about['type']} without members")
    elif role == "Plain" and len(slots) == 1:
        row = (about["repetition"],) if about["repetition"] is not None else ()
        ntuple.result.add(_values(ntuple, path, slots[0], rows, row, dim))
    else:
        raise errors.make("unsupported", f"{role.lower()} field of type {about['type'] or 'unknown'}")


def _members(ntuple: _Ntuple, below: list[int]) -> dict[str, int]:
    """Return name → field of a record: its own members, then those of base classes (``:_0``, ``:_1``, …).

    Members that another class of the record also has are prefixed with their base class, as in uproot.
    """
    found = {ntuple.fields[n]["name"]: n for n in below if not ntuple.fields[n]["name"].startswith(":_")}
    bases = [n for n in below if ntuple.fields[n]["name"].startswith(":_")]
    inherited = [
        (base, *member) for base in bases for member in _members(ntuple, ntuple.children[base]).items()
    ]
    names = Counter([*found, *(name for _, name, _ in inherited)])
    for base, name, child in inherited:
        found[name if names[name] == 1 else f"{ntuple.fields[base]['type']}::{name}"] = child
    return found


def _repeated(ntuple: _Ntuple, field: int, path: str, rows: np.ndarray, dim: str | None) -> None:
    """Add an array of fixed length with plain values."""
    about = ntuple.fields[field]
    child = ntuple.children[field][0]
    row: tuple[int, ...] = (about["repetition"],)
    while ntuple.fields[child]["repetition"] is not None and ntuple.children[child]:
        row = (*row, ntuple.fields[child]["repetition"])
        child = ntuple.children[child][0]
    slots = ntuple.slots(child)
    if len(slots) != 1 or ntuple.children[child] or _is_index(ntuple, slots):
        raise errors.make("unsupported", f"{about['type']}: an array of lists or records")
    ntuple.result.add(_values(ntuple, path, slots[0], rows, row, dim))


def _is_index(ntuple: _Ntuple, slots: list[list[int]]) -> bool:
    return bool(slots) and all(ntuple.columns[n]["index"] for n in slots[0])


def _values(
    ntuple: _Ntuple,
    path: str,
    alternatives: list[int],
    rows: np.ndarray,
    row: tuple[int, ...],
    dim: str | None,
) -> ArrayEntry:
    """Return the entry of a plain column."""
    kind = ntuple.columns[alternatives[0]]["dtype"]
    if kind is None:
        raise errors.make("unsupported", f"column type {ntuple.columns[alternatives[0]]['type']}")
    dtype, per = np.dtype(kind), int(np.prod(row, dtype="i8"))
    active = ntuple.active(alternatives, rows * per)
    shape = (int(rows.sum()), *row)
    reader = ColumnReader(ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, shape, "values")
    found = _linked(ntuple, path, active, row, dtype, dim, reader)
    return found if found is not None else copied(path, shape, dtype, reader, _WHY, dim)


_WHY = "its pages don't form one column: several representations, a late column, or no elements"


def _linked(
    ntuple: _Ntuple,
    path: str,
    active: list[tuple[int, int]],
    row: tuple[int, ...],
    dtype: np.dtype,
    dim: str | None,
    reader: ColumnReader,
) -> ArrayEntry | None:
    """Return the entry that links the column's pages; None if that is impossible."""
    numbers = {number for number, _ in active if number >= 0}
    if len(numbers) != 1 or any(zeros for _, zeros in active):
        return None
    number = numbers.pop()
    column, pages, per = ntuple.columns[number], ntuple.pages(number), int(np.prod(row, dtype="i8"))
    elements, checksums = ntuple.elements[pages], ntuple.checksums[pages]
    if (
        not len(pages)
        or not elements.sum()
        or not per
        or (elements % per).any()
        or len(set(checksums.tolist())) != 1
    ):
        return None
    configuration = {"type": column["type"], "bits": column["bits"], "checksum": bool(checksums[0])}
    if column["range"] is not None:
        configuration["range"] = column["range"]
    codec = {"name": _PAGE, "configuration": configuration}
    where = ntuple.offsets[pages], ntuple.lengths[pages]
    return linked(path, elements // per, row, dtype, codec, Baskets(ntuple.identity, *where), reader, dim)


def _collection(
    ntuple: _Ntuple,
    path: str,
    alternatives: list[int],
    below: list[int],
    rows: np.ndarray,
    optional: bool = False,
) -> None:
    if len(below) != 1:
        raise errors.make("unsupported", f"a collection of {len(below)} fields")
    dtype = np.dtype(ntuple.columns[alternatives[0]]["dtype"])
    active = ntuple.active(alternatives, rows)
    inner = _inner_rows(ntuple, active)
    plain = (int(rows.sum()),)
    read = ColumnReader(ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, plain, "values")
    ends = _linked(ntuple, f"{path}/ends", active, (), dtype, ENTRY, read)
    if ends is not None:
        ntuple.result.add(ends)
        stated = attribute("ends", "ends", "content", (edges(rows), edges(inner)), optional)
    else:
        shape = (int(rows.sum()) + 1,)
        reader = ColumnReader(
            ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, shape, "offsets"
        )
        ntuple.result.add(copied(f"{path}/offsets", shape, np.dtype("i8"), reader, _WHY, None))
        stated = attribute("offsets", "offsets", "content", None, optional)
    ntuple.result.groups[path] = stated
    _field(ntuple, below[0], f"{path}/content", inner, None)


def _inner_rows(ntuple: _Ntuple, active: list[tuple[int, int]]) -> np.ndarray:
    """Return the number of elements of a collection per cluster: the last end in the last page."""
    result = [
        ntuple.last(cluster, number) if number >= 0 else 0 for cluster, (number, _) in enumerate(active)
    ]
    return np.array(result, "i8")


def _string(ntuple: _Ntuple, path: str, slots: list[list[int]], rows: np.ndarray, dim: str | None) -> None:
    dtype = np.dtype(ntuple.columns[slots[0][0]]["dtype"])
    active = ntuple.active(slots[0], rows)
    inner = _inner_rows(ntuple, active)
    characters = ntuple.active(slots[1], inner)
    shape = (int(rows.sum()),)
    reader = ColumnReader(
        ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, shape, "text", tuple(characters)
    )
    ntuple.result.add(copied(path, shape, np.dtype(object), reader, "strings of any length", dim))
