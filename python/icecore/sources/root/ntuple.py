"""Fields of an ``RNTuple`` as arrays: pages are linked in place, other columns decoded and copied."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from icecore import _icecore, errors
from icecore.repository.list_columns import PROJECTED
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Region
from icecore.sources.root import foreign, parts
from icecore.sources.root.entries import ENTRY, Baskets, copied, linked
from icecore.sources.root.readers import attribute, edges, part, root_file

_PAGE = "icecore.root_page"
_NAMES = ("", ".", "..", "zarr.json")
_CARDINALITY = "ROOT::RNTupleCardinality<"
_UNNAMED = re.compile(r"_collection\d+")


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
        part: ``values``, ``offsets``, ``counts`` or ``text``.
        stored: for each cluster the dtype of its column's elements, which are converted to ``dtype``.
        characters: the columns with the bytes of the strings.
    """

    path: str
    identity: Identity
    ntuple: str
    columns: tuple[tuple[int, int], ...]
    dtype: np.dtype
    shape: tuple[int, ...]
    part: str
    stored: tuple[str, ...]
    characters: tuple[tuple[int, int], ...] = ()

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        return np.ascontiguousarray(_column(self)[region])


@lru_cache(maxsize=4)
def _column(reader: ColumnReader) -> np.ndarray:
    of = reader.dtype if reader.part == "values" else np.dtype("i8")
    pieces = _pieces(reader, reader.columns, reader.stored, of)
    if reader.part == "values":
        joined = np.concatenate([np.empty(0, of), *pieces])
        return part("values", joined, None, reader.shape, of)
    counts = [np.diff(ends, prepend=0) for ends in pieces]
    joined = np.concatenate([np.empty(0, "i8"), *counts])
    if len(joined) and joined.min() < 0:
        raise errors.make(
            "corrupt", f"{reader.path}: ends of lists that decrease", "compare it with its original"
        )
    if reader.part == "counts":
        return part("values", joined.astype(reader.dtype), None, reader.shape, reader.dtype)
    if reader.part == "offsets":
        return part("offsets", joined, joined, reader.shape, of)
    bytes_ = np.dtype("u1")
    text = _pieces(reader, reader.characters, ("u1",) * len(reader.characters), bytes_)
    return part("text", np.concatenate([np.empty(0, "u1"), *text]), joined, reader.shape, reader.dtype)


def _pieces(
    reader: ColumnReader, columns: tuple[tuple[int, int], ...], stored: tuple[str, ...], dtype: np.dtype
) -> list[np.ndarray]:
    """Return the elements of all clusters as ``dtype``; clusters may have other representations."""
    file, pieces = root_file(reader.path, reader.identity), []
    for cluster, ((column, zeros), kind) in enumerate(zip(columns, stored, strict=True)):
        if zeros:
            pieces.append(np.zeros(zeros, dtype))
        if column >= 0:
            found = file.column(reader.ntuple, cluster, column).view(kind)
            pieces.append(found.astype(dtype, copy=False))
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

    def stored(
        self, alternatives: list[int], active: list[tuple[int, int]]
    ) -> tuple[np.dtype, tuple[str, ...]]:
        """Return the dtype that holds the elements of all active columns, and that of each cluster's column.

        Raises:
            Error: ``unsupported`` if no dtype holds them exactly.
        """
        kinds = tuple(
            self.columns[number if number >= 0 else alternatives[0]]["dtype"] for number, _ in active
        )
        used = {kind for kind, (number, _) in zip(kinds, active, strict=True) if number >= 0}
        used = used or {self.columns[alternatives[0]]["dtype"]}
        if None in used:
            kind = next(n for n in alternatives if self.columns[n]["dtype"] is None)
            raise errors.make("unsupported", f"column type {self.columns[kind]['type']}")
        dtype = np.result_type(*used)
        # NumPy's common type of uint64 and int64 is a float.
        reals = [np.dtype(kind).kind == "f" for kind in used]
        if (
            any(reals) != all(reals)
            or (dtype.kind == "f") != any(reals)
            or not all(np.can_cast(kind, dtype, "safe") for kind in used)
        ):
            raise errors.make("unsupported", f"columns of types {', '.join(sorted(used))} in one field")
        return dtype, tuple(kind or "u1" for kind in kinds)

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
    wanted: parts.Wanted | None = None,
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
            _copied(ntuple, ntuple.fields[field]["name"], root, wanted)
        if at in result.groups and _is_listed_already(ntuple, field):
            result.groups[at] = {**result.groups[at], PROJECTED: True}


def _copied(ntuple: _Ntuple, name: str, root: str, wanted: parts.Wanted | None) -> None:
    """Add a field that only uproot can read."""
    branch, at = parts.Branch(ntuple.path, ntuple.identity, ntuple.name, name), f"{root}/{name}"
    if wanted is not None and not wanted(at) and not wanted(f"{at}/content"):
        ntuple.result.dropped.pop()
        for entry in parts.left_out(branch, [""], at):
            ntuple.result.add(entry)
        return
    found = foreign.decoded(branch)
    if found.why:
        return
    ntuple.result.dropped.pop()
    for entry in parts.entries(branch, found.arrays, at, foreign.WHY):
        ntuple.result.add(entry)
    ntuple.result.groups.update({f"{at}{path}": attrs for path, attrs in found.groups.items()})


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
    elif about["type"].startswith(_CARDINALITY) and len(slots) == 1 and _is_index(ntuple, slots):
        ntuple.result.add(_cardinality(ntuple, path, slots[0], rows, about["type"], dim))
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
    active = ntuple.active(alternatives, rows * int(np.prod(row, dtype="i8")))
    dtype, stored = ntuple.stored(alternatives, active)
    shape = (int(rows.sum()), *row)
    reader = ColumnReader(
        ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, shape, "values", stored
    )
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


def _cardinality(
    ntuple: _Ntuple, path: str, alternatives: list[int], rows: np.ndarray, kind: str, dim: str | None
) -> ArrayEntry:
    """Return the entry of the lengths of a collection: ``nMuon``, a projection of its index column."""
    active = ntuple.active(alternatives, rows)
    _, stored = ntuple.stored(alternatives, active)
    dtype, shape = np.dtype("u4" if "32" in kind else "u8"), (int(rows.sum()),)
    reader = ColumnReader(
        ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, shape, "counts", stored
    )
    return copied(path, shape, dtype, reader, "lengths of a collection, computed from its index column", dim)


def _is_listed_already(ntuple: _Ntuple, field: int) -> bool:
    """Whether a collection that the importer of trees named (``_collection0``) has no field of its own.

    All its columns are projected to fields such as ``Muon_pt``, which are the columns of the table.
    """
    if not _UNNAMED.fullmatch(ntuple.fields[field]["name"]):
        return False
    projected = {each["source"] for each in ntuple.fields}
    records = [record for record in ntuple.children[field] if ntuple.children[record]]
    return bool(records) and all(leaf in projected for each in records for leaf in ntuple.children[each])


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
    active = ntuple.active(alternatives, rows)
    dtype, stored = ntuple.stored(alternatives, active)
    inner = _inner_rows(ntuple, active)
    plain = (int(rows.sum()),)
    read = ColumnReader(
        ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, plain, "values", stored
    )
    ends = _linked(ntuple, f"{path}/ends", active, (), dtype, ENTRY, read)
    if ends is not None:
        ntuple.result.add(ends)
        stated = attribute("ends", "ends", "content", (edges(rows), edges(inner)), optional)
    else:
        shape = (int(rows.sum()) + 1,)
        reader = ColumnReader(
            ntuple.path, ntuple.identity, ntuple.name, tuple(active), dtype, shape, "offsets", stored
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
    active = ntuple.active(slots[0], rows)
    _, stored = ntuple.stored(slots[0], active)
    inner = _inner_rows(ntuple, active)
    characters = tuple(ntuple.active(slots[1], inner))
    shape, text = (int(rows.sum()),), np.dtype(object)
    columns = tuple(active)
    reader = ColumnReader(
        ntuple.path, ntuple.identity, ntuple.name, columns, text, shape, "text", stored, characters
    )
    ntuple.result.add(copied(path, shape, text, reader, "strings of any length", dim))
