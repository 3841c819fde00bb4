"""Compare linked and packed arrays of files with h5py, scipy, NumPy and zarr-python; restore tables.

Usage: python tools/compare_sources.py FILE_OR_FOLDER...
Needs icecore, h5py, scipy, zarr and icechunk. Prints a line for each file and the counts: equal, refused with
their kinds, wrong. Exits with 1 where a value or a restored byte differs.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import zarr
from icecore.sources import format_of
from icecore.tables.text.restore import restore

Reader = Callable[[str], np.ndarray]


def reader(path: Path, name: str) -> Iterator[Reader]:
    """A function from an array's path in the file to its values by the format's own library."""
    if name == "HDF5 or netCDF-4":
        with h5py.File(path) as file:
            yield lambda inside: np.asarray(file[inside][()])
    elif name == "netCDF-3":
        from scipy.io import netcdf_file

        with netcdf_file(path, mmap=False, maskandscale=False) as file:
            yield lambda inside: np.asarray(file.variables[inside.strip("/")][...])
    elif name == "NumPy .npy":
        yield lambda inside: np.load(path)
    else:
        yield from ()


def same(one: Any, two: Any) -> bool:
    """Whether two arrays hold the same values; texts are compared as text, fields one by one."""
    one, two = np.asarray(one), np.asarray(two)
    if one.dtype.names is not None and two.dtype.names is not None:
        return one.dtype.names == two.dtype.names and all(same(one[n], two[n]) for n in one.dtype.names)
    if {one.dtype.kind, two.dtype.kind} & set("OSU"):
        return one.shape == two.shape and list(map(text, one.ravel())) == list(map(text, two.ravel()))
    return bool(one.shape == two.shape and np.array_equal(one, two, equal_nan=one.dtype.kind in "fcmM"))


def text(value: Any) -> str:
    """A text of any kind; padding is none of it."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            value = value.decode("latin-1")
    return str(value).rstrip("\0")


def compare_arrays(path: Path, name: str, folder: Path, counts: Counter[str]) -> list[str]:
    """Compare every array of a file after ``link`` and ``pack``; return what is wrong."""
    wrong: list[str] = []
    for verb in (icecore.link, icecore.pack):
        place = folder / f"{path.name}.{verb.__name__}.icecore"
        try:
            report = verb(path, place, group="/", keep_going=True)
        except icecore.Error as error:
            counts[f"{verb.__name__}: refused ({error.kind})"] += 1
            continue
        counts.update(f"{verb.__name__}: array refused ({failure.kind})" for failure in report.failures)
        counts.update(f"{verb.__name__}: note ({note.kind})" for note in report.notes)
        repo = icecore.open(place)
        plain = zarr.open_group(repo.store(via="icechunk"), mode="r")
        for values in reader(path, name):
            for inside, array in repo.arrays.items():
                try:
                    expected = values(inside)
                except (KeyError, OSError, TypeError) as error:
                    counts[f"{verb.__name__}: not read by its library ({type(error).__name__})"] += 1
                    continue
                found = {"icecore": array[...]}
                try:
                    found["zarr-python"] = plain[inside.strip("/")][...]
                except Exception as error:  # unknown codecs and types, by its name
                    counts[f"{verb.__name__}: not read by zarr-python ({type(error).__name__})"] += 1
                for who, data in found.items():
                    is_same = same(data, expected)
                    counts[f"{verb.__name__}: {'equal' if is_same else 'WRONG'} by {who}"] += 1
                    wrong += [] if is_same else [f"{verb.__name__} {path}:{inside} by {who}"]
    return wrong


def compare_table(path: Path, folder: Path, counts: Counter[str]) -> list[str]:
    """Pack a text table and restore it; return what differs."""
    place = folder / f"{path.name}.icecore"
    try:
        report = icecore.pack(path, place, group="/t", keep_going=True)
    except icecore.Error as error:
        counts[f"table: refused ({error.kind})"] += 1
        return []
    counts.update(f"table: note ({note.kind})" for note in report.notes)
    repo, wrong = icecore.open(place), []
    tables = [group for group, node in repo.groups.items() if "text" in node._node.ours.get("table", {})]
    for number, group in enumerate(tables):
        out = folder / f"{path.name}.{number}"
        restore(repo, group, out)
        files = [out] if out.is_file() else sorted(out.iterdir())
        for file in files:
            originals = [each for each in path.parent.iterdir() if each.is_file()]
            is_same = any(each.read_bytes() == file.read_bytes() for each in originals)
            counts[f"table: {'restored' if is_same else 'WRONG'}"] += 1
            wrong += [] if is_same else [f"table {path}:{group}"]
    if not tables:
        counts["table: without text to restore"] += 1
    return wrong


def main(places: list[str]) -> int:
    """Compare all files at or below ``places``; the number of faults."""
    warnings.simplefilter("ignore")
    files = [
        file for place in map(Path, places) for file in ([place] if place.is_file() else place.rglob("*"))
    ]
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for path in sorted(file for file in files if file.is_file()):
        try:
            row = format_of(str(path))
        except icecore.Error as error:
            counts[f"file: refused ({error.kind})"] += 1
            continue
        counts[f"file: {row.name if row is not None else 'no known format'}"] += 1
        with tempfile.TemporaryDirectory() as folder:
            if row is not None and row.module == "icecore.sources.tables":
                wrong += compare_table(path, Path(folder), counts)
            elif row is not None and row.name in ("HDF5 or netCDF-4", "netCDF-3", "NumPy .npy"):
                wrong += compare_arrays(path, row.name, Path(folder), counts)
    print("\n".join(wrong))
    print("\n".join(f"{count:8,} {what}" for what, count in sorted(counts.items())))
    return len(wrong)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
