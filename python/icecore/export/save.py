"""A selection written to a file: ``.npy``, ``.csv``, ``.parquet``, ``.nc`` or ``.h5``; as CSV to stdout."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing, printing
from icecore.repository.selection import axis_indexes

if TYPE_CHECKING:
    from icecore.repository.array import Array

Sel = tuple[Any, ...]

#: a row group of Parquet, as pyarrow makes them
_ROWS = 1 << 20


def save(array: Array, sel: Sel, path: str, **precision: Any) -> np.ndarray:
    """Read ``sel`` and write it to ``path`` in the format of its suffix; the file appears only when it is
    complete. ``-`` is CSV on stdout.

    ``.csv`` and ``.parquet`` get one row per element: the index along each axis, named like the dimension,
    and the value.
    ``precision`` is the ``rtol`` or ``leading_bytes`` of :meth:`Array.read`.
    ``.nc`` and ``.h5`` get the array with its attributes, those of its group, and what it has along its axes
    or names as coordinates or grid mapping (CF), beside it or in groups above, with bounds.

    Returns:
        What was read.

    Raises:
        Error: ``unsupported`` for another suffix or a missing package, ``dtype`` for what the format can't
            hold, ``io`` or ``permission`` where the file can't be written.
    """
    if path == "-":
        data = array.read(sel, **precision)
        with printing():
            _csv(array, sel, data, path)
        return data
    suffix = os.path.splitext(path)[1].lower()
    write = _FORMATS.get(suffix)
    if write is None:
        raise errors.make(
            "unsupported", f"can't write {suffix or path!r} files", f"one of {', '.join(_FORMATS)}"
        )
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise errors.make("not-found", f"no folder {folder} to write {path} to", f"mkdir -p {folder}")
    data = array.read(sel, **precision)
    with landing(path) as part:
        write(array, sel, data, part)
    return data


def columns(array: Array, sel: Sel, data: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
    """A selection as columns of one length, in blocks of ``_ROWS`` rows: the index along each axis, and the
    value. One block, of no rows, where nothing is selected.
    """
    names = [dim or f"dim_{axis}" for axis, dim in enumerate(array.dims)]
    names = [name if names.count(name) == 1 else f"{name}_{axis}" for axis, name in enumerate(names)]
    indexes = axis_indexes(array.shape, sel)
    value = array.name if array.name not in names else "value"
    values = data.reshape(-1)
    for start in range(0, max(values.size, 1), _ROWS):
        part = slice(start, start + _ROWS)
        # Indexes are broadcast views: all of them at once would take more than the data.
        yield {
            **{name: index.flat[part] for name, index in zip(names, indexes, strict=True)},
            value: values[part],
        }


def _npy(array: Array, _sel: Sel, data: np.ndarray, path: str) -> None:
    # Text of any length becomes fixed-size text: a file that unpickles objects would be a trap.
    data = np.asarray(data)
    if data.dtype.kind == "O":
        fixed = data.astype("S" if array._node.dtype_label == "variable_length_bytes" else "U")
        if not np.array_equal(fixed.astype("O"), data):
            raise errors.make(
                "dtype",
                f"{array.path}: items end with NULs, which .npy drops",
                "-o out.parquet",
            )
        data = fixed
    np.save(path, data, allow_pickle=False)


def _csv(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    blocks = columns(array, sel, _scalars(array, data))
    is_file = path != "-"
    target = path if is_file else sys.stdout.fileno()
    with open(target, "w", newline="", encoding="utf-8", closefd=is_file) as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, block in enumerate(blocks):
            if number == 0:
                writer.writerow(block)
            writer.writerows(zip(*(_text(column) for column in block.values()), strict=True))


def _text(column: np.ndarray) -> list[Any]:
    if column.dtype.kind == "S":
        return [item.decode("utf-8", "replace") for item in column.tolist()]
    # NumPy's shortest text that reads back as the same number. Python's own is made sooner, and the same of
    # float64, but would widen float32 first.
    if column.dtype.kind in "fcmM" and column.dtype != "f8":
        return [str(item) for item in column]
    return column.tolist()


def _parquet(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise errors.make("unsupported", "Parquet needs pyarrow", "pip install 'icecore[table]'") from None
    tables = map(pa.table, columns(array, sel, _scalars(array, data)))
    try:
        first = next(tables)
        with pq.ParquetWriter(path, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise errors.make(
            "dtype", f"{array.path}: Parquet can't hold {array.dtype}: {error}", "-o out.npy"
        ) from None


def _scalars(array: Array, data: np.ndarray) -> np.ndarray:
    if data.dtype.names is not None:
        raise errors.make("dtype", f"{array.path} is a structure, not one column", "-o out.npy or out.h5")
    return data


def _hdf5(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    from icecore.export.hdf5 import write

    write(array, sel, data, path, netcdf=False)


def _netcdf(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    from icecore.export.hdf5 import write

    write(array, sel, data, path, netcdf=True)


_FORMATS: dict[str, Callable[[Array, Sel, np.ndarray, str], None]] = {
    ".npy": _npy,
    ".csv": _csv,
    ".parquet": _parquet,
    ".nc": _netcdf,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
}
