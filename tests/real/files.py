"""The real files that tests go through, found at ../shared/data; nothing where it is absent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_NOT_A_VARIABLE = "This is a netCDF dimension but not a netCDF variable"
#: HDF5's and netCDF's bookkeeping, which no reader shows as attributes
HOUSEKEEPING = {
    "REFERENCE_LIST",
    "DIMENSION_LIST",
    "CLASS",
    "NAME",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_NCProperties",
    "_nc3_strict",
}


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _files(*signatures: bytes) -> list[Path]:
    found = sorted(path for path in DATA.glob("*/*") if path.is_file())
    return [path for path in found if _start(path).startswith(signatures)]


HDF5 = _files(b"\x89HDF")
NETCDF3 = _files(b"CDF\x01", b"CDF\x02", b"CDF\x05")
NETCDF = [*NETCDF3, *(path for path in HDF5 if path.suffix in (".nc", ".nc4"))]


def params(paths: list[Path]) -> list[Any]:
    """For ``parametrize``: one case a file; a single skipped one where there are none."""
    if not paths:
        return [pytest.param(None, marks=pytest.mark.skip("no real files at ../shared/data"))]
    return [pytest.param(path, id=path.name[:40]) for path in paths]


def datasets(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """Every dataset that holds data, under each object's first path."""
    found: list[tuple[str, h5py.Dataset]] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            label = item.attrs.get("NAME", b"")
            text = label.decode() if isinstance(label, bytes) else str(label)
            if not text.startswith(_NOT_A_VARIABLE):
                found.append((f"/{name}", item))

    file.visititems(visit)
    yield from found


def values(dataset: h5py.Dataset) -> np.ndarray:
    """What h5py reads, text of any length as ``str``, numbers in native byte order."""
    info = h5py.check_string_dtype(dataset.dtype)
    if info is not None and info.length is None:
        return np.array(dataset.asstr()[...], object)
    data = np.asarray(dataset[...])
    return data.astype(data.dtype.newbyteorder("="))
