"""ICESat-2 granules as tables, linked and packed: every clause gives the rows that h5py and NumPy give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from files import DATA, params
from icecore.tables.summaries import write

pytest.importorskip("pyarrow")
ATL06 = sorted(DATA.glob("hdf5/*ATL06*.h5"))
ATL03 = sorted(DATA.glob("hdf5/atl03_clip.h5"))
VERBS = {"link": icecore.link, "pack": partial(icecore.pack, codec="default")}


def check(table: Any, group: Any, clause: str, mask: Callable[[dict[str, np.ndarray]], np.ndarray]) -> None:
    """Every column of the rows that match is h5py's, pruned or not."""
    data = {name: group[name][...] for name in table}
    rows = mask(data)
    assert 0 < rows.sum() < rows.size, clause
    for prune in (True, False):
        for name, got in table.to_numpy(where=clause, prune=prune).items():
            np.testing.assert_array_equal(got, data[name][rows], err_msg=f"{name}: {clause}")
    arrow = table.scan(where=clause).read_all()
    assert arrow.num_rows == rows.sum()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", params(ATL06))
def test_land_ice_segments(path: Path, verb: str, tmp_path: Path) -> None:
    VERBS[verb](path, tmp_path / "g.icecore", group="/g")
    beams = ("gt1l", "gt3r")
    with icecore.open(tmp_path / "g.icecore").writer() as w:
        for beam in beams:
            write.write(w, f"/g/{beam}/land_ice_segments")
    repo = icecore.open(tmp_path / "g.icecore")
    with h5py.File(path) as file:
        for beam in beams:
            group = file[f"{beam}/land_ice_segments"]
            table = repo.table(f"/g/{beam}/land_ice_segments")
            fill = group["h_li"].attrs["_FillValue"]
            lat = np.sort(group["latitude"][...])
            low, high = float(lat[lat.size // 3]), float(lat[lat.size // 2])
            check(
                table,
                group,
                f"latitude between {low!r} and {high!r}",
                lambda d, low=low, high=high: (d["latitude"] >= low) & (d["latitude"] <= high),
            )
            good = group["h_li"][...] != fill
            median = float(np.median(group["h_li"][...][good]))
            check(
                table,
                group,
                f"h_li > {median!r} and atl06_quality_summary = 0",
                lambda d, fill=fill, median=median: (
                    (d["h_li"] > np.float32(median)) & (d["h_li"] != fill) & (d["atl06_quality_summary"] == 0)
                ),
            )
            if not good.all():
                check(table, group, "h_li is null", lambda d, fill=fill: d["h_li"] == fill)
                nulls = table.scan(["h_li"]).read_all()["h_li"].null_count
                assert nulls == (~good).sum()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", params(ATL03))
def test_photons(path: Path, verb: str, tmp_path: Path) -> None:
    VERBS[verb](path, tmp_path / "g.icecore", group="/g", summaries=True)
    with h5py.File(path) as file:
        group = file["gt1r/heights"]
        table = icecore.open(tmp_path / "g.icecore").table("/g/gt1r/heights")
        confidence = group["signal_conf_ph"][...]  # of five surfaces
        surface = next(i for i in range(5) if np.ptp(confidence[:, i]) > 0)
        best = int(confidence[:, surface].max())
        check(table, group, f"signal_conf_ph[{surface}] = {best}", lambda d: confidence[:, surface] == best)
        h = group["h_ph"][...]
        low, high = (float(x) for x in np.quantile(h, [0.2, 0.3]))
        check(
            table,
            group,
            f"{low!r} <= h_ph <= {high!r} or lat_ph > {float(np.max(group['lat_ph'][...])) - 1e-4!r}",
            lambda d: (
                ((d["h_ph"] >= np.float32(low)) & (d["h_ph"] <= np.float32(high)))
                | (d["lat_ph"] > float(np.max(d["lat_ph"])) - 1e-4)
            ),
        )
        background = icecore.open(tmp_path / "g.icecore").table("/g/gt1r/bckgrd_atlas")
        scan = background.scan(
            ["bckgrd_rate"], f"delta_time < {float(file['gt1r/bckgrd_atlas/delta_time'][10])!r}"
        )
        assert scan.count() == 10
        assert scan.report()["zones_pruned"] == scan.report()["zones"] - 1
