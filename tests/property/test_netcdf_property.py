"""netCDF files of any make, linked and packed: xarray sees what it sees in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
import zoo

netCDF4 = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")

NUMBERS = {"NETCDF4": ["i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8"]}
CLASSIC = ["i1", "i2", "i4", "f4", "f8"]
FORMATS = ["NETCDF4", "NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"]
NAMES = ["a", "T_2m", "x y", "é", "日本", "p.q", "v@w", "lat", "UPPER"]


class Maker:
    """Random groups of variables; lengths along an unlimited dimension differ between variables."""

    def __init__(self, seed: int, path: Path) -> None:
        self.rng = np.random.default_rng(seed)
        form = str(self.rng.choice(FORMATS))
        self.classic, self.numbers = form != "NETCDF4", NUMBERS.get(form, CLASSIC)
        with netCDF4.Dataset(path, "w", format=form) as file:
            file.createDimension("time", None)
            file.createDimension("text", 5)
            self.group(file, {"time": None}, 0)

    def group(self, group: Any, dims: dict[str, int | None], depth: int) -> None:
        for name in self.rng.choice(NAMES, 2, replace=False):
            group.createDimension(str(name), int(self.rng.integers(1, 7)))
            dims = {**dims, str(name): len(group.dimensions[str(name)])}
        for name in ["time", *self.rng.choice(NAMES, 3, replace=False)]:
            axes = [str(dim) for dim in self.rng.permutation(list(dims))[: self.rng.integers(0, 4)]]
            # a coordinate has its own dimension, and netCDF-3 the unlimited one in front
            axes = [str(name)] if name in dims else sorted(axes, key="time".__ne__)
            if name == "time" and self.rng.random() < 0.5:
                continue
            shape = tuple(dims[dim] or int(self.rng.integers(0, 5)) for dim in axes)
            self.variable(group, str(name), axes, shape)
        group.about = "é"
        for name in ("inner", "other") if not self.classic and depth < 2 else ():
            if self.rng.random() < 0.4:
                self.group(group.createGroup(name), dims, depth + 1)

    def variable(self, group: Any, name: str, axes: list[str], shape: tuple[int, ...]) -> None:
        options: dict[str, Any] = {}
        if not self.classic:
            options = {"zlib": bool(self.rng.random() < 0.3), "fletcher32": bool(self.rng.random() < 0.2)}
        kind, seed = self.rng.choice(["number", "packed", "time", "text", "characters"]), int(shape != ())
        if kind == "text" and not self.classic:
            variable = group.createVariable(name, str, axes)
            data = zoo.values(zoo.TEXT, shape, seed)
        elif kind == "characters":
            variable = group.createVariable(name, "S1", [*axes, "text"], **options)
            variable.set_auto_chartostring(False)
            data = self.rng.choice([b"a", b" ", b"Z"], (*shape, 5)).astype("S1")
        else:
            dtype = str(self.rng.choice(self.numbers)) if kind == "number" else "i2"
            if not self.classic and self.rng.random() < 0.3:
                options["endian"] = "big"
            fill = 99 if self.rng.random() < 0.4 else None
            variable = group.createVariable(name, dtype, axes, fill_value=fill, **options)
            data = zoo.values(dtype, shape, seed)
            if kind == "packed":
                variable.scale_factor, variable.add_offset = np.float32(0.01), 273.15
                variable.missing_value = np.int16(-9)
            elif kind == "time":
                variable.units, data = "hours since 2000-01-01", np.abs(data % 1000)
            elif dtype in ("u8", "f4"):
                variable.limits = np.array([2**63 + 2049, 2**53 + 1], dtype)
        variable.set_auto_maskandscale(False)
        if data.size and self.rng.random() < 0.85:
            variable[...] = data if shape or kind == "characters" else data[()]


def groups(group: Any, path: str = "") -> list[str]:
    """Paths of all groups, the root as an empty text."""
    return [path, *(p for name, below in group.groups.items() for p in groups(below, f"{path}/{name}"))]


@pytest.mark.filterwarnings("ignore:variable", "ignore:endian-ness")
@pytest.mark.parametrize("seed", range(24))
def test_xarray_sees_the_same(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "f.nc"
    Maker(seed, path)
    with netCDF4.Dataset(path) as file:
        inside = groups(file)
    for verb in (icecore.link, icecore.pack):
        repo = tmp_path / f"{verb.__name__}.icecore"
        verb(path, repo, group="/")
        assert icecore.open(repo).verify(deep=True) == []
        for group in inside:
            for decode in (True, False):
                wanted = xr.load_dataset(path, engine="netcdf4", group=group or None, decode_cf=decode)
                found = xr.load_dataset(repo, engine="icecore", group=group or None, decode_cf=decode)
                xr.testing.assert_identical(found, wanted)
