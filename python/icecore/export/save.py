"""A selection written to a file: ``.npy``, ``.csv``, ``.parquet``, ``.nc``, ``.h5`` or ``.gwf``; as CSV to
stdout.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing, printing
from icecore.repository.selection import axis_indexes
from icecore.repository.time_axis import UTC, TimeAxis, seconds_text

if TYPE_CHECKING:
    from icecore.repository.array import Array

Sel = tuple[Any, ...]

#: rows of a Parquet row group, as in pyarrow
_ROWS = 1 << 20


def save(
    array: Array,
    sel: Sel,
    path: str,
    read: Callable[[], np.ndarray] | None = None,
    is_decoded: bool = False,
    **precision: Any,
) -> np.ndarray:
    """Read a selection and write it to a file in the format of its suffix.

    The file appears when it is complete. ``.csv`` and ``.parquet`` have one row per element: the index along
    each axis, named like the dimension, and the value. Of a channel they have the time instead of the index:
    ``gps`` in seconds with nine decimals in CSV, ``gps_ns`` in Parquet; ``utc`` of series that count UTC.
    ``.nc`` and ``.h5`` have the array, its attributes, those of its group, and its CF coordinates, their
    bounds and the grid mapping. ``.gwf`` has one frame with the channel.

    Args:
        array: the array.
        sel: the selection.
        path: a ``.npy``, ``.csv``, ``.parquet``, ``.nc``, ``.h5`` or ``.gwf`` file; ``-`` for CSV on stdout.
        read: returns the data of the selection; :meth:`Array.read` if omitted.
        is_decoded: whether ``read`` returns physical values, which attributes of stored ones don't describe.
        **precision: ``rtol`` or ``leading_bytes`` of :meth:`Array.read`.

    Returns:
        The selected data.

    Raises:
        Error: ``unsupported`` for another suffix or a missing package; ``dtype`` if the format can't hold the
            dtype; ``io`` or ``permission`` if the file can't be written.
    """
    read = read or partial(array.read, sel, **precision)
    if path == "-":
        data = read()
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
        raise errors.make("not-found", f"{path}: the directory {folder} does not exist", f"mkdir -p {folder}")
    data = read()
    with landing(path) as part:
        if is_decoded and write in (_hdf5, _netcdf):
            from icecore.export.hdf5 import write as write_hdf5

            write_hdf5(array, sel, data, part, netcdf=write is _netcdf, is_decoded=True)
        else:
            write(array, sel, data, part)
    return data


def columns(
    array: Array, sel: Sel, data: np.ndarray, is_text: bool = False
) -> Iterator[dict[str, np.ndarray]]:
    """Yield a selection as columns in blocks of ``_ROWS`` rows: time or index along each axis, and the value.

    An empty selection gives one block with zero rows. With ``is_text``, GPS times are seconds as text.
    """
    names = [dim or f"dim_{axis}" for axis, dim in enumerate(array.dims)]
    names = [name if names.count(name) == 1 else f"{name}_{axis}" for axis, name in enumerate(names)]
    indexes = axis_indexes(array.shape, sel)
    axis = TimeAxis.of(array.attrs) if array.ndim else None
    if axis is not None:
        names[0] = "utc" if axis.epoch == UTC else "gps" if is_text else "gps_ns"
    value = array.name if array.name not in names else "value"
    values = data.reshape(-1)
    for start in range(0, max(values.size, 1), _ROWS):
        part = slice(start, start + _ROWS)
        # Indexes are broadcast views; materializing all of them would take more memory than the data.
        found = {name: index.flat[part] for name, index in zip(names, indexes, strict=True)}
        if axis is not None:
            found[names[0]] = _times(axis, found[names[0]], is_text)
        yield {**found, value: values[part]}


def _times(axis: TimeAxis, index: np.ndarray, is_text: bool) -> np.ndarray:
    times = axis.times(index.astype("i8"))
    if axis.epoch == UTC:
        return times.view("M8[ns]")
    return np.array([seconds_text(time) for time in times.tolist()], object) if is_text else times


def _npy(array: Array, _sel: Sel, data: np.ndarray, path: str) -> None:
    # Variable-length strings become fixed-size strings: loading pickled objects would be unsafe.
    data = np.asarray(data)
    if data.dtype.kind == "O":
        fixed = data.astype("S" if array._node.dtype_label == "variable_length_bytes" else "U")
        if not np.array_equal(fixed.astype("O"), data):
            raise errors.make(
                "dtype",
                f"{array.path}: strings end with NUL characters, which .npy would drop",
                "-o out.parquet",
            )
        data = fixed
    np.save(path, data, allow_pickle=False)


def _csv(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    blocks = columns(array, sel, _scalars(array, data), is_text=True)
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
    # Use NumPy's shortest representation. Python's is faster and equal for float64, but widens float32.
    if column.dtype.kind in "fcmM" and column.dtype != "f8":
        return [str(item) for item in column]
    return column.tolist()


def _parquet(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise errors.needs("table", "Parquet needs pyarrow") from None
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
        message = f"{array.path} has a structured dtype, which can't be one column"
        raise errors.make("dtype", message, "-o out.npy or out.h5")
    return data


def _hdf5(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    from icecore.export.hdf5 import write

    write(array, sel, data, path, netcdf=False)


def _netcdf(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    from icecore.export.hdf5 import write

    write(array, sel, data, path, netcdf=True)


def _gwf(array: Array, sel: Sel, data: np.ndarray, path: str) -> None:
    from icecore.export.gwf import save

    save(array, sel, data, path)


_FORMATS: dict[str, Callable[[Array, Sel, np.ndarray, str], None]] = {
    ".npy": _npy,
    ".csv": _csv,
    ".parquet": _parquet,
    ".nc": _netcdf,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".gwf": _gwf,
}
