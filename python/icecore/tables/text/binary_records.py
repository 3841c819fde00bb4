"""Binary records as columns, and the reverse, byte for byte.

A column may not represent all of its bytes (gaps, the lowest bits of a VAX double). The *residue* stores the
rest: the records XOR the bytes that the columns produce, for all byte positions that are not always zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import _icecore, errors
from icecore.sources.mapping.table_file import TableSpec
from icecore.sources.tables.binary import Binary, binary
from icecore.tables.text.column_types import missing

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

Format = dict[str, Any]


def infer(spec: TableSpec) -> Format:
    """Return the format of the records that a label describes.

    Raises:
        Error: ``mismatch`` if a field lies outside the record.
    """
    end = max(field.start + field.length for field in spec.fields)
    if end > spec.row_bytes:
        message = f"{spec.label}: fields reach up to byte {end} of records of {spec.row_bytes} bytes in "
        raise errors.make("mismatch", message + spec.file, "correct the label")
    columns = []
    for field in spec.fields:
        how = {"type": field.binary, "start": field.start, "length": field.length}
        columns.append({"name": field.name, "style": {"binary": how}, "scale": 0, "size": 0})
    return {"layout": {"binary": {"row": spec.row_bytes}}, "columns": columns}


def check_length(spec: TableSpec, place: str, size: int) -> None:
    """Check the record length in the label against a file of ``size`` bytes.

    If the records don't fill the file, but the same number of shorter records does and has room for all
    fields, then the label is wrong rather than the file truncated.

    Raises:
        Error: ``mismatch`` if the label's record length is wrong.
    """
    own = size - spec.offset
    if (
        spec.layout != "binary"
        or spec.until is not None
        or not spec.rows
        or not spec.row_bytes
        or own < spec.rows
    ):
        return
    length, over = divmod(own, spec.rows)
    fits = max(field.start + field.length for field in spec.fields) <= length < spec.row_bytes
    if fits and not over and own % spec.row_bytes:
        message = (
            f"{spec.label} says {spec.rows:,} records of {spec.row_bytes} bytes, in the {own:,} bytes of "
            f"{place} they are {length} bytes long"
        )
        raise errors.make("mismatch", message, "correct the label")


class BinaryFormat:
    """Parses and prints blocks with the interface of :class:`icecore._icecore.TextFormat`."""

    def __init__(self, fmt: Format) -> None:
        self._row = int(fmt["layout"]["binary"]["row"])
        self._cells: list[tuple[slice, Binary]] = []
        for column in fmt["columns"]:
            how = column["style"]["binary"]
            place = slice(how["start"], how["start"] + how["length"])
            self._cells.append((place, binary(how["type"], how["length"])))

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """Return the columns of all whole records. The remainder at the end of the file is stored unchanged.

        The residue covers all bytes that the columns don't reproduce, so ``checked`` has no effect.
        """
        from icecore import _icecore

        rows = len(text) // self._row
        records = text[: rows * self._row].reshape(rows, self._row)
        columns = [item.decode(records[:, place]) for place, item in self._cells]
        rest = text[rows * self._row :].tobytes() if last else b""
        escapes = _put(rows, self._residue(records, columns)) if rows else b""
        return {
            "rows": rows,
            "columns": columns,
            "used": rows * self._row + len(rest),
            "escapes": escapes + (_icecore.raw_escapes(rest) if rest else b""),
            "escaped": 0,
            "lines": bool(rest),
            "line": (rows, rest) if rest else None,
            "lost": [],
            "junk": [],
            "blank": [
                i for i, (_, item) in enumerate(self._cells) if item.blank and missing(columns[i]).any()
            ],
        }

    def print(self, columns: list[np.ndarray], escapes: bytes) -> list[bytes]:
        """Return the records of a block.

        Raises:
            Error: ``corrupt`` if columns and residue don't match.
        """
        rows, residue = _get(escapes)
        if residue is None:
            return [escapes[_raw_start(escapes) :]]
        records = self._records(columns, rows)
        count = int.from_bytes(residue[:4], "little")
        places = np.frombuffer(residue, "<u4", min(count, len(residue) // 4 - 1), 4)
        body = residue[4 + 4 * count :]
        if len(body) != rows * count or len(columns[0]) != rows or (places >= self._row).any():
            raise errors.make("corrupt", "the residue of a binary table is damaged", "icecore verify --deep")
        records[:, places] ^= np.frombuffer(body, "u1").reshape(count, rows).T
        return [records.tobytes()]

    def _records(self, columns: list[np.ndarray], rows: int) -> np.ndarray:
        records = np.zeros((rows, self._row), "u1")
        for (place, item), values in zip(self._cells, columns, strict=True):
            if not item.inside:
                records[:, place] = item.encode(values)
        return records

    def _residue(self, records: np.ndarray, columns: list[np.ndarray]) -> bytes:
        left = records ^ self._records(columns, len(records))
        places = np.flatnonzero(left.any(axis=0)).astype("<u4")
        return (
            len(places).to_bytes(4, "little")
            + places.tobytes()
            + np.ascontiguousarray(left[:, places].T).tobytes()
        )


def _put(rows: int, residue: bytes) -> bytes:
    """Encode escapes of ``rows`` rows without escaped cells; the residue is their only line."""
    return _number(rows) + b"\0\0\0\1\0" + _number(len(residue)) + residue


def _get(escapes: bytes) -> tuple[int, bytes | None]:
    """Return rows and residue; 0 and None if the escapes hold raw bytes instead of rows."""
    rows, at = _take(escapes, 0)
    if not rows:
        return 0, None
    length, at = _take(escapes, at + 5)
    return rows, escapes[at : at + length]


def _raw_start(escapes: bytes) -> int:
    return _take(escapes, 6)[1]


def _number(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _take(stored: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i, byte in enumerate(stored[at : at + 10]):
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value, at + i + 1
    raise errors.make("corrupt", "the residue of a binary table is cut off", "icecore verify --deep")


# Restore packed tables of binary records.


#: number of rows that are read at once
_WINDOW = 1 << 16


def printed(
    repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any], fmt: dict[str, Any], stored: bytes
) -> Iterator[list[bytes]]:
    """Yield a source's records block by block; ``stored`` are its escapes, which contain the residues.

    Raises:
        Error: ``corrupt`` if columns and residue don't match.
    """
    window = _Window(repo, path, table, source)
    records = BinaryFormat(fmt)
    row, at = source["rows"][0], 0
    while at < len(stored):
        rows, used = _icecore.read_escapes(stored, at)
        if row + rows > source["rows"][1]:
            raise errors.make("corrupt", f"the escapes of {source['name']} count more rows than it has")
        yield records.print(window.columns(row, row + rows), stored[at : at + used])
        row, at = row + rows, at + used


class _Window:
    """Rows of all columns of a source, read several chunks at a time."""

    def __init__(self, repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any]) -> None:
        self._repo, self._end = repo, source["rows"][1]
        self._paths = [f"{path}/{name}" for name in table["columns"]]
        self._start = self._stop = 0
        self._data: list[np.ndarray] = []
        #: buffers for reuse: allocating new memory costs as much as decoding into it
        self._room: list[np.ndarray] = []

    def columns(self, start: int, stop: int) -> list[np.ndarray]:
        """Return rows of every column."""
        if not self._data or start < self._start or stop > self._stop:
            self._load(start, stop)
        part = slice(start - self._start, stop - self._start)
        return [data[part] for data in self._data]

    def _load(self, start: int, stop: int) -> None:
        # Read up to the end of a chunk, so that only chunks with a block boundary inside are decoded twice.
        until = min(-(-max(stop, start + 1) // _WINDOW) * _WINDOW, self._end)
        count = until - start
        if not self._room or len(self._room[0]) < count:
            arrays = [self._repo._array(path) for path in self._paths]
            self._room = [np.empty((count, *a.shape[1:]), a.dtype) for a in arrays]
        self._data = [room[:count] for room in self._room]
        places = dict(zip(self._paths, self._data, strict=True))
        self._repo.read({path: slice(start, until) for path in self._paths}, places)
        self._start, self._stop = start, until
