"""Every dataset of every real HDF5 file, linked and packed, equals what h5py reads: bits and dtype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
import zoo
from files import HDF5, HOUSEKEEPING, datasets, params, values

VERBS = {"link": icecore.link, "pack": icecore.pack}


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest) -> Any:
    """link or pack."""
    return VERBS[request.param]


@pytest.mark.parametrize("path", params(HDF5))
def test_every_dataset(verb: Any, path: Path, repo_path: str) -> None:
    report = verb(path, repo_path, group="/f")
    assert not report.failures
    repo = icecore.open(repo_path)
    ours = repo.read({name: None for name in repo.arrays})
    left_out = {note.name.rpartition(":")[2] for note in report.notes}
    wrong = []
    with h5py.File(path) as file:
        missing = [name for name, _ in datasets(file) if f"/f{name}" not in ours and name not in left_out]
        # an object may have several names, so the repository is gone through and not the file
        for name, got in ours.items():
            dataset = file[name.removeprefix("/f")]
            expected = values(dataset) if dataset.shape is not None else np.empty(0, got.dtype)
            if got.shape != expected.shape:
                # netCDF-4 shows a variable as long as its unlimited dimension is, whatever was written of it
                assert len(got.shape) == len(expected.shape)
                assert dataset.maxshape[0] is None
                got = got[tuple(slice(n) for n in expected.shape)]
            if not zoo.same(got, expected):
                wrong.append(f"{name}: {zoo.difference(got, expected)}")
    assert not missing
    assert not wrong
    assert repo.verify(deep=True) == []


@pytest.mark.parametrize("path", params(HDF5))
def test_selections_of_a_linked_file(path: Path, repo_path: str) -> None:
    icecore.link(path, repo_path, group="/f")
    repo = icecore.open(repo_path)
    rng = np.random.default_rng(len(path.name))
    with h5py.File(path) as file:
        for name, dataset in datasets(file):
            array = repo.arrays.get(f"/f{name}")
            if array is None or not array.shape or array.shape != dataset.shape or 0 in array.shape:
                continue
            start = [int(rng.integers(0, n)) for n in array.shape]
            sel = tuple(slice(s, s + 1 + int(rng.integers(0, 50)), 1 + s % 3) for s in start)
            expected = np.asarray(dataset[sel] if dataset.dtype.kind != "O" else values(dataset)[sel])
            assert zoo.same(array[sel], expected), f"{name}{sel}"


@pytest.mark.parametrize("path", params(HDF5))
def test_attributes_survive(verb: Any, path: Path, repo_path: str) -> None:
    verb(path, repo_path, group="/f")
    repo = icecore.open(repo_path)
    compared = 0
    with h5py.File(path) as file:
        items = [("", file)]
        file.visititems(lambda name, item: items.append((f"/{name}", item)))
        for name, item in items:
            if f"/f{name}" not in repo:
                continue
            ours = repo[f"/f{name}"].attrs
            for key, value in item.attrs.items():
                if key in HOUSEKEEPING or key == "_FillValue" or isinstance(value, h5py.Empty):
                    continue
                assert key in ours, f"{name}: attribute {key} is lost"
                assert same_attribute(ours[key], value), f"{name}@{key}: {ours[key]!r}, not {value!r}"
                compared += 1
    assert compared or not any(item.attrs for _, item in items)


def same_attribute(ours: Any, theirs: Any) -> bool:
    """Equal as text or as numbers; a list of one element may stand for itself."""
    theirs = np.asarray(theirs)
    if theirs.dtype.kind in "SO":
        theirs = np.array(
            [t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t) for t in theirs.ravel()], object
        )
        return [str(item) for item in np.asarray(ours, object).ravel()] == theirs.tolist()
    numbers = np.asarray([special(item) for item in np.asarray(ours, object).ravel()])
    return np.array_equal(numbers, theirs.ravel(), equal_nan=theirs.dtype.kind in "fc")


def special(item: Any) -> Any:
    """A number of an attribute; JSON has no NaN or infinities, so Zarr spells them."""
    return float(item) if item in ("NaN", "Infinity", "-Infinity") else item
