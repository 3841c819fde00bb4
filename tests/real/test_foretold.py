"""What an assay foretells of real fields, and what a pack then reaches."""

from __future__ import annotations

from pathlib import Path

import icecore
import pytest
from files import DATA

FIELDS = [
    ("climate/ocean_atlas_subset.nc", "/TEMP"),
    ("climate/TREFHT.B06.66.atm.1890-1999ANN.nc", "/TREFHT"),
    ("frames/H-H1_LOSC_4_V2-1126259446-32.hdf5", "/strain/Strain"),
]


@pytest.mark.parametrize(("file", "path"), FIELDS)
def test_the_ratio_is_foretold(file: str, path: str, tmp_path: Path) -> None:
    source = DATA / file
    if not source.exists():
        pytest.skip("no real files at ../shared/data")
    (array,) = icecore.assay(source, path, portable=True, seconds=2).arrays
    choice = array.choices["balanced"]
    icecore.link(source, tmp_path / "linked.icecore", "/")
    values = icecore.open(tmp_path / "linked.icecore")[path]
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", values.dtype, values.shape, chunks=array.chunk, codec=choice.codecs)[...] = values[...]
    stored = icecore.open(tmp_path / "r.icecore")["/x"]
    assert isinstance(stored, icecore.Array)
    assert stored.nbytes / stored.nbytes_stored == pytest.approx(choice.ratio, rel=0.03)
