"""Arrays of HDF5, netCDF, NumPy and Zarr sources against the format's own library."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
from outcome import Outcome, attempt, judged, said

Reader = Callable[[str], np.ndarray]
#: bytes; of larger arrays the beginning and the end are compared
LARGEST = 1 << 28


@contextmanager
def reader(path: Path, name: str) -> Iterator[Reader | None]:
    """A function from an array's path in the file to its values by the format's own library."""
    if name == "HDF5 or netCDF-4":
        with h5py.File(path) as file:
            yield lambda inside: _dataset(file, inside)
    elif name == "netCDF-3":
        import netCDF4

        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            yield lambda inside: np.asarray(file.variables[inside.strip("/")][...])
    elif name == "NumPy .npy":
        yield lambda inside: np.load(path)
    elif name == "NumPy .npz":
        yield lambda inside: np.load(path)[inside.strip("/")]
    elif name.startswith("Zarr"):
        import zarr

        store: Any = zarr.storage.ZipStore(path, mode="r") if path.is_file() else path
        root = zarr.open(store, mode="r")
        yield lambda inside: np.asarray(root[inside.strip("/")][...] if inside.strip("/") else root[...])
    else:
        yield None


def _dataset(file: h5py.File, inside: str) -> np.ndarray:
    item = file[inside]
    if h5py.check_string_dtype(item.dtype) is not None and item.dtype.kind == "O":
        return np.asarray(item.asstr(errors="surrogateescape")[()])
    return np.asarray(item[()])


def text(value: Any) -> str:
    """A string of any kind without its padding."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            value = value.decode("latin-1")
    return str(value).rstrip("\0")


def same(one: Any, two: Any) -> bool:
    """Whether two arrays hold the same values; strings are compared as text, fields one by one."""
    one, two = np.asarray(one), np.asarray(two)
    if one.dtype.names is not None and two.dtype.names is not None:
        return one.dtype.names == two.dtype.names and all(same(one[n], two[n]) for n in one.dtype.names)
    if {one.dtype.kind, two.dtype.kind} & set("OSUT"):
        return one.shape == two.shape and list(map(text, one.ravel())) == list(map(text, two.ravel()))
    return bool(one.shape == two.shape and np.array_equal(one, two, equal_nan=one.dtype.kind in "fcmM"))


def compare(path: Path, name: str, folder: Path) -> list[Outcome]:
    """Outcomes of every array of a file after ``link`` and ``pack``."""
    outcomes: list[Outcome] = []
    for verb in (icecore.link, icecore.pack):
        word, place = verb.__name__, folder / f"{verb.__name__}.icecore"
        report = attempt(word, lambda v=verb, p=place: v(path, p, group="/", keep_going=True), outcomes)
        if report is None:
            continue
        outcomes += said(word, report)
        repo = attempt(f"{word}: open", lambda p=place: icecore.open(p), outcomes)
        if repo is None:
            continue
        with warnings.catch_warnings(), reader(path, name) as values:
            warnings.simplefilter("ignore")
            for inside, array in repo.arrays.items():
                outcomes += _array(f"{word} {inside}", inside, array, values)
        faults = attempt(f"{word}: verify", lambda r=repo: r.verify(deep=True), outcomes)
        outcomes += [judged(f"{word}: verify", not faults, str(faults)[:200])]
    return outcomes


def _array(name: str, inside: str, array: Any, values: Reader | None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    if array.nbytes > LARGEST:
        return [Outcome("no judge", name, f"{array.nbytes} bytes")]
    found = attempt(name, lambda: array[...], outcomes)
    if outcomes:
        return outcomes
    if values is None:
        return [Outcome("no judge", name)]
    try:
        expected = values(inside)
    except Exception as error:  # libraries raise errors of many classes
        return [Outcome("no judge", name, type(error).__name__)]
    if expected.shape != found.shape and expected.ndim == found.ndim and expected.size < found.size:
        # netCDF-4 shows a variable as long as its unlimited dimension is, however much of it was written
        found = found[tuple(slice(n) for n in expected.shape)]
    if expected.dtype.kind == "O" and found.dtype.kind not in "OSUT":
        return [Outcome("no judge", name, "objects")]
    return [judged(name, same(found, expected), f"{found.dtype}{found.shape}")]
